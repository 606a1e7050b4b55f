//! Damaged copies of the same bytes, from which the right ones may be made.
//!
//! Of two copies each place at which they agree is most likely right. The rest is cut into a few
//! pieces, each taken from one copy or the other, until the check holds. From the third copy on
//! the majority decides, bit by bit. The check has the last word on all that is tried.

use std::collections::{BTreeMap, VecDeque};

use windfall_base::seq::Seq32;
use windfall_base::{Check, Frame};
use windfall_wire_link::check::frame_check;

use crate::event::LinkEvent;
use crate::framing::Mismatch;
use crate::output::Output;

/// Copies kept at most; the oldest gives way. Nine have a majority for every bit of 1500 bytes
/// nearly always at a bit error rate of 3e-2.
const MOST_COPIES: usize = 9;
/// Earlier copies with which a new one is mixed.
const PARTNERS: usize = 2;
/// The most pieces into which the difference of two copies is cut.
pub(crate) const MOST_PIECES: usize = 8;

/// Damaged copies of the same bytes, all of one length, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct Copies(VecDeque<Vec<u8>>);

impl Copies {
    /// Returns the number of copies kept.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the bytes of the copies kept.
    pub(crate) fn bytes(&self) -> usize {
        self.0.iter().map(Vec::len).sum()
    }

    /// Keeps a copy; copies of another length than the earlier ones are ignored.
    pub(crate) fn keep(&mut self, copy: Vec<u8>) {
        if self.0.front().is_some_and(|first| first.len() != copy.len()) {
            return;
        }
        if self.0.len() == MOST_COPIES {
            self.0.pop_front();
        }
        self.0.push_back(copy);
    }

    /// Makes the right bytes from `new` and the copies kept, if `wrong` is zero for them.
    ///
    /// `wrong` is what a check of the bytes differs by from what it should be. It is a sum over
    /// the bits (in the sense of exclusive or) beside a constant, as every CRC is. A mixture of
    /// wrong bytes passes by chance for up to `2^pieces` in all values of the check.
    pub(crate) fn combine(
        &self,
        new: &[u8],
        pieces: usize,
        wrong: impl Fn(&[u8]) -> u32,
    ) -> Option<Vec<u8>> {
        if self.0.front().is_none_or(|first| first.len() != new.len()) {
            return None;
        }
        let partners = self.0.iter().rev().take(PARTNERS);
        let mixed = partners.into_iter().find_map(|old| mix(new, old, pieces, &wrong));
        mixed.or_else(|| self.majority(new).filter(|bytes| wrong(bytes) == 0))
    }

    /// Returns what most of an odd number of copies say of each bit, `new` among them; `None` of
    /// fewer than three copies.
    pub(crate) fn majority(&self, new: &[u8]) -> Option<Vec<u8>> {
        let odd = self.0.len() / 2 * 2;
        if odd == 0 || self.0.front().is_none_or(|first| first.len() != new.len()) {
            return None;
        }
        let voters: Vec<&[u8]> =
            self.0.iter().rev().take(odd).map(Vec::as_slice).chain([new]).collect();
        let vote = |at: usize| most(voters.iter().map(|copy| copy[at]), odd / 2);
        Some((0..new.len()).map(vote).collect())
    }

    /// Makes the packet of a damaged frame whole if its copies allow it, and reports that; else
    /// keeps it as one more copy, up to `room` bytes of them.
    pub(crate) fn mend(
        &mut self,
        frame: &mut Frame,
        mismatch: Mismatch,
        room: usize,
        out: &mut Output<'_>,
    ) {
        let Some(mismatch) = mismatch else { return };
        let new = frame.payload.to_bytes();
        let check = |bytes: &[u8]| u32::from_le_bytes(frame_check(&[bytes]));
        let base = check(&new) ^ mismatch;
        let Some(made) = self.combine(&new, MOST_PIECES, |bytes| check(bytes) ^ base) else {
            if self.bytes() + new.len() <= room {
                self.keep(new.into());
            }
            return;
        };
        frame.damage.corrected =
            new.iter().zip(&made).filter(|(new, made)| new != made).count() as u32;
        frame.damage.frame = Check::Good;
        frame.payload = made.into();
        let copies = self.0.len() as u32 + 1;
        out.events.push_back(LinkEvent::Combined { tag: frame.tag, copies });
    }

    /// Returns the copies, the newest first.
    pub(crate) fn newest_first(&self) -> impl Iterator<Item = &[u8]> {
        self.0.iter().rev().map(Vec::as_slice)
    }
}

/// Damaged copies of the packets of a window, by their number.
#[derive(Debug)]
pub(crate) struct CopyStore {
    copies: BTreeMap<u32, Copies>,
    bytes: usize,
    /// Bytes of all copies at most.
    room: usize,
}

impl CopyStore {
    /// An empty store for up to `room` bytes.
    pub(crate) fn new(room: usize) -> Self {
        Self { copies: BTreeMap::new(), bytes: 0, room }
    }

    /// Makes a damaged packet whole if its copies allow it, else keeps it as one of them.
    pub(crate) fn take(
        &mut self,
        seq: Seq32,
        frame: &mut Frame,
        mismatch: Mismatch,
        out: &mut Output<'_>,
    ) {
        let mut own = self.copies.remove(&seq.0).unwrap_or_default();
        self.bytes -= own.bytes();
        if frame.damage.frame == Check::Good {
            return;
        }
        own.mend(frame, mismatch, self.room - self.bytes, out);
        if frame.damage.frame != Check::Good {
            self.bytes += own.bytes();
            self.copies.insert(seq.0, own);
        }
    }

    /// Forgets the copies of packets before `next`.
    pub(crate) fn forget_before(&mut self, next: Seq32) {
        while let Some(first) = self.copies.first_entry()
            && Seq32(*first.key()).is_before(next)
        {
            self.bytes -= first.remove().bytes();
        }
    }
}

/// The byte whose bits are set in more than `half` of the bytes.
fn most(bytes: impl Iterator<Item = u8>, half: usize) -> u8 {
    // Counts of all eight bits side by side: one binary digit of each count in a byte.
    let mut digits = [0_u8; 4];
    for byte in bytes {
        let mut carry = byte;
        for digit in &mut digits {
            (*digit, carry) = (*digit ^ carry, *digit & carry);
        }
    }
    // The count exceeds `half` where the highest digit that differs is set.
    let (mut more, mut equal) = (0_u8, 0xff_u8);
    for (place, digit) in digits.iter().enumerate().rev() {
        let wanted = if half >> place & 1 == 1 { 0xff } else { 0 };
        more |= equal & digit & !wanted;
        equal &= !(digit ^ wanted);
    }
    more
}

/// Yields the mixtures of two copies: of each of at most `pieces` pieces of their difference the
/// one or the other.
pub(crate) fn mixtures<'a>(
    new: &'a [u8],
    old: &'a [u8],
    pieces: usize,
) -> impl Iterator<Item = Vec<u8>> + 'a {
    let ranges = pieces_of(new, old, pieces);
    (1..(1_u32 << ranges.len()) - 1).map(move |choice| mixture(new, old, &ranges, choice))
}

/// Takes the pieces of `choice` from the old copy, the rest from the new one.
fn mixture(new: &[u8], old: &[u8], pieces: &[(usize, usize)], choice: u32) -> Vec<u8> {
    let mut mixture = new.to_vec();
    for (at, (first, last)) in pieces.iter().enumerate() {
        if choice >> at & 1 == 1 {
            mixture[*first..=*last].copy_from_slice(&old[*first..=*last]);
        }
    }
    mixture
}

/// Finds a mixture of two copies for which `wrong` is zero: of each of at most `pieces` pieces of
/// their difference it has the one or the other.
fn mix(new: &[u8], old: &[u8], pieces: usize, wrong: &impl Fn(&[u8]) -> u32) -> Option<Vec<u8>> {
    let ranges = pieces_of(new, old, pieces.min(MOST_PIECES));
    let begin = wrong(new);
    // What the check changes by if a piece is taken from the other copy.
    let change = |at: usize| wrong(&mixture(new, old, &ranges, 1 << at)) ^ begin;
    let changes: Vec<u32> = (0..ranges.len()).map(change).collect();
    let sum = |choice: &u32| {
        let chosen = changes.iter().enumerate().filter(|(at, _)| choice >> at & 1 == 1);
        chosen.fold(begin, |sum, (_, change)| sum ^ change)
    };
    let choice = (1..1_u32 << ranges.len()).find(|choice| sum(choice) == 0)?;
    Some(mixture(new, old, &ranges, choice))
}

/// Cuts the places at which two copies differ into at most `most` pieces, where the gaps between
/// them are widest; of each the first and the last place.
fn pieces_of(a: &[u8], b: &[u8], most: usize) -> Vec<(usize, usize)> {
    let places: Vec<usize> = (0..a.len()).filter(|at| a[*at] != b[*at]).collect();
    let mut cuts: Vec<usize> = (1..places.len()).collect();
    cuts.sort_by_key(|at| core::cmp::Reverse(places[*at] - places[at - 1]));
    cuts.truncate(most.saturating_sub(1));
    cuts.sort_unstable();
    let ends = cuts.iter().copied().chain([places.len()]);
    let mut begin = 0;
    let piece = |end: usize| {
        let piece = places.get(begin..end).filter(|piece| !piece.is_empty())?;
        begin = end;
        Some((piece[0], piece[piece.len() - 1]))
    };
    ends.filter_map(piece).collect()
}

#[cfg(test)]
mod tests;
