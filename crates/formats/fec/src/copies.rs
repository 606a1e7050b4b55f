//! Damaged copies of the same bytes, from which the right ones may be made.
//!
//! Of two copies each place at which they agree is most likely right. The rest is cut into a few
//! pieces, each taken from one copy or the other, until the check holds. From the third copy on
//! the majority decides, bit by bit. The check has the last word on all that is tried.

use std::collections::VecDeque;

use crate::votes::{self, Ballot, Votes};

/// Copies kept at most; the oldest gives way. Nine have a majority for every bit of 1500 bytes
/// nearly always at a bit error rate of 3e-2.
const MOST_COPIES: usize = 9;
/// Earlier copies with which a new one is mixed.
const PARTNERS: usize = 2;
/// The most pieces into which the difference of two copies is cut.
pub const MOST_PIECES: usize = 8;

/// Damaged copies of the same bytes, all of one length, the oldest first.
#[derive(Clone, Debug, Default)]
pub struct Copies(VecDeque<Kept>);

/// A copy, and how sure each of its bytes is, where that is known.
#[derive(Clone, Debug)]
struct Kept {
    bytes: Vec<u8>,
    reliability: Option<Vec<u8>>,
}

impl Copies {
    /// Returns the number of copies kept.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns `true` if no copy is kept.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the bytes of the copies kept.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.0.iter().map(|copy| copy.bytes.len()).sum()
    }

    /// Keeps a copy; copies of another length than the earlier ones are ignored.
    pub fn keep(&mut self, copy: Vec<u8>) {
        self.keep_as_sure(copy, None);
    }

    /// As [`keep`](Self::keep), with how sure each byte of it is.
    pub fn keep_as_sure(&mut self, copy: Vec<u8>, reliability: Option<Vec<u8>>) {
        if !self.is_empty() && !self.fits(&copy) {
            return;
        }
        if self.0.len() == MOST_COPIES {
            self.0.pop_front();
        }
        self.0.push_back(Kept { bytes: copy, reliability });
    }

    /// Returns `true` if there are copies of this length.
    fn fits(&self, new: &[u8]) -> bool {
        self.0.front().is_some_and(|first| first.bytes.len() == new.len())
    }

    /// Makes the right bytes from `new` and the copies kept, if `wrong` is zero for them.
    ///
    /// `wrong` is what a check of the bytes differs by from what it should be. It is a sum over
    /// the bits (in the sense of exclusive or) beside a constant, as every CRC is. A mixture of
    /// wrong bytes passes by chance for up to `2^pieces` in all values of the check.
    pub fn combine(
        &self,
        new: &[u8],
        pieces: usize,
        wrong: impl Fn(&[u8]) -> u32,
    ) -> Option<Vec<u8>> {
        if !self.fits(new) {
            return None;
        }
        if let Some(made) = self.majority(new).filter(|bytes| wrong(bytes) == 0) {
            return Some(made);
        }
        self.newest_first().take(PARTNERS).find_map(|old| {
            let ranges = pieces_of(new, old, pieces.min(MOST_PIECES));
            choose(new, old, &ranges, &wrong)
        })
    }

    /// Returns what most of an odd number of copies say of each bit, `new` among them; `None` of
    /// fewer than three copies.
    #[must_use]
    pub fn majority(&self, new: &[u8]) -> Option<Vec<u8>> {
        let odd = self.0.len() / 2 * 2;
        if odd == 0 || !self.fits(new) {
            return None;
        }
        let voters: Vec<&[u8]> = self.newest_first().take(odd).chain([new]).collect();
        let mut made = Vec::with_capacity(new.len());
        let whole = new.len() / STRIP * STRIP;
        for at in (0..whole).step_by(STRIP) {
            let words: [u64; STRIP / WORD] = most(voters.iter().map(|it| strip(it, at)), odd / 2);
            made.extend(words.iter().flat_map(|word| word.to_ne_bytes()));
        }
        for at in whole..new.len() {
            let [byte] = most(voters.iter().map(|it| [u64::from(it[at])]), odd / 2);
            made.push(byte as u8);
        }
        Some(made)
    }

    /// Takes the newest copy out, with how sure each of its bytes is.
    pub fn take_newest(&mut self) -> Option<(Vec<u8>, Option<Vec<u8>>)> {
        self.0.pop_back().map(|copy| (copy.bytes, copy.reliability))
    }

    /// Returns the copies, the newest first.
    pub fn newest_first(&self) -> impl Iterator<Item = &[u8]> {
        self.0.iter().rev().map(|copy| copy.bytes.as_slice())
    }

    /// Counts the votes of `new`, with how sure its bytes are, and of the copies kept.
    #[must_use]
    pub fn vote(&self, new: &[u8], reliability: Option<&[u8]>) -> Votes {
        let kept = self.0.iter().rev();
        let kept =
            kept.map(|it| Ballot { bytes: &it.bytes, reliability: it.reliability.as_deref() });
        let all: Vec<_> = [Ballot { bytes: new, reliability }].into_iter().chain(kept).collect();
        votes::count(&all)
    }
}

/// Bytes that are compared and counted side by side.
const WORD: usize = size_of::<u64>();

/// Bytes whose majority is found at once.
const STRIP: usize = 64;

fn strip(bytes: &[u8], at: usize) -> [u64; STRIP / WORD] {
    let bytes = &bytes[at..at + STRIP];
    core::array::from_fn(|word| word_at(bytes, word * WORD))
}

fn word_at(bytes: &[u8], at: usize) -> u64 {
    bytes[at..].first_chunk().map_or(0, |word| u64::from_ne_bytes(*word))
}

/// The places at which two copies differ.
fn differing(a: &[u8], b: &[u8]) -> Vec<usize> {
    let len = a.len().min(b.len());
    let whole = len / WORD * WORD;
    let mut places = Vec::new();
    for at in (0..whole).step_by(WORD) {
        if word_at(a, at) != word_at(b, at) {
            places.extend((at..at + WORD).filter(|at| a[*at] != b[*at]));
        }
    }
    places.extend((whole..len).filter(|at| a[*at] != b[*at]));
    places
}

/// The words whose bits are set in more than `half` of the words at their place.
fn most<const N: usize>(votes: impl Iterator<Item = [u64; N]>, half: usize) -> [u64; N] {
    // Counts of all bits side by side: one binary digit of each count in a word.
    let mut digits = [[0_u64; N]; 4];
    for mut carry in votes {
        for digit in &mut digits {
            for (digit, carry) in digit.iter_mut().zip(&mut carry) {
                (*digit, *carry) = (*digit ^ *carry, *digit & *carry);
            }
        }
    }
    // The count exceeds `half` where the highest digit that differs is set.
    let mut more = [0; N];
    let mut equal = [u64::MAX; N];
    for (place, digit) in digits.iter().enumerate().rev() {
        let wanted = if half >> place & 1 == 1 { u64::MAX } else { 0 };
        for ((more, equal), digit) in more.iter_mut().zip(&mut equal).zip(digit) {
            *more |= *equal & digit & !wanted;
            *equal &= !(digit ^ wanted);
        }
    }
    more
}

/// Yields the mixtures of two copies: of each of at most `pieces` pieces of their difference the
/// one or the other.
pub fn mixtures<'a>(
    new: &'a [u8],
    old: &'a [u8],
    pieces: usize,
) -> impl Iterator<Item = Vec<u8>> + 'a {
    let ranges = pieces_of(new, old, pieces.min(MOST_PIECES));
    (1..(1_u32 << ranges.len()).saturating_sub(1))
        .map(move |choice| mixture(new, old, &ranges, choice))
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

/// Finds a mixture for which `wrong` is zero: of each piece it has the one or the other.
fn choose(
    new: &[u8],
    old: &[u8],
    ranges: &[(usize, usize)],
    wrong: &impl Fn(&[u8]) -> u32,
) -> Option<Vec<u8>> {
    let begin = wrong(new);
    // What the check changes by if a piece is taken from the other copy.
    let mut work = new.to_vec();
    let mut change = |(first, last): &(usize, usize)| {
        work[*first..=*last].copy_from_slice(&old[*first..=*last]);
        let change = wrong(&work) ^ begin;
        work[*first..=*last].copy_from_slice(&new[*first..=*last]);
        change
    };
    let changes: Vec<u32> = ranges.iter().map(&mut change).collect();
    let sum = |choice: &u32| {
        let chosen = changes.iter().enumerate().filter(|(at, _)| choice >> at & 1 == 1);
        chosen.fold(begin, |sum, (_, change)| sum ^ change)
    };
    let choice = (1..1_u32 << ranges.len()).find(|choice| sum(choice) == 0)?;
    Some(mixture(new, old, ranges, choice))
}

/// Cuts the places at which two copies differ into at most `most` pieces, where the gaps between
/// them are widest; of each the first and the last place.
fn pieces_of(a: &[u8], b: &[u8], most: usize) -> Vec<(usize, usize)> {
    let places = differing(a, b);
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
