//! Hybrid ARQ for coded data frames: restores a frame from several damaged copies.
//!
//! The attempts of a frame differ in two header fields: the Retry flag and Duration. CRC and parity
//! are linear, so the effect of these fields can be removed from each copy. All copies are then
//! equal except for damage. The CRC finally decides whether the result is right.

mod increments;

use std::collections::VecDeque;

use bytes::Bytes;
use windfall_base::Frame;
use windfall_fec::ReedSolomon;
use windfall_fec::copies::{Copies, MOST_PIECES, mixtures};
use windfall_fec::votes::{self, Votes};
use windfall_wire_link::check::frame_check;
use windfall_wire_link::ieee80211::coding::MARK_LEN;
use windfall_wire_link::ieee80211::header::{DATA_HEADER, FCS_LEN};
use windfall_wire_link::ieee80211::{Code, Flags, Header, Increment, MacAddress};

use super::coding::{blocks_code, parity_of, places, put_right};
use increments::Parity;

pub(super) use increments::len_of;

/// The number of frames whose copies are stored. A sender has one frame at a time in transmission.
const MOST_FRAMES: usize = 8;
/// The number of pieces into which the differences of two copies of a block are divided. Each
/// mixture of pieces is decoded, so the cost grows exponentially.
const PIECES_OF_BLOCK: usize = 3;
/// The offset of the flags in a MAC header, and the offsets of its Duration.
const FLAGS: usize = 1;
const DURATION: core::ops::Range<usize> = 2..4;
/// Bytes of the CRC-32 under the code.
const CHECK_LEN: usize = 4;

/// The identity of a frame: transmitter, sequence number, fragment number and code.
type Name = (MacAddress, u16, u8, Code);

/// The stored copies and parity of a frame that is not intact yet.
#[derive(Clone, Debug, Default)]
struct Held {
    /// The newest copy, as received.
    frame: Frame,
    copies: Copies,
    parity: Parity,
    /// The number of copies and increments received.
    count: u32,
}

/// The result of taking a damaged copy or an increment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taken {
    /// The frame is restored, from this number of copies and increments.
    Made(u32),
    /// The frame is stored. It needs parity up to this level, or another copy if `None`.
    Kept(Option<u8>),
}

/// The stored damaged frames of all senders.
#[derive(Clone, Debug, Default)]
pub(super) struct CopyStore(VecDeque<(Name, Held)>);

impl CopyStore {
    /// Restores a data frame from the copies received so far, or else stores it as another copy.
    /// `sure` is the reliability of each byte, if the radio provides it. `usual` is the code to
    /// assume if the marks of the frame are damaged. Returns `None` for a frame that cannot be
    /// combined.
    pub(super) fn take(
        &mut self,
        (frame, sure): (&mut Frame, Option<&Bytes>),
        header: &Header,
        usual: Option<Code>,
    ) -> Option<Taken> {
        let [head, first, second, _] = frame.slices();
        let bytes = [head, first, second].concat();
        let code = Code::marked(&bytes).or(usual)?;
        let word = Word::read(bytes, &frame.trailer, sure, code)?;
        let name = (header.transmitter, header.sequence, header.fragment, code);
        let mut held = self.remove(&name).unwrap_or_default();
        // An increment whose marks are damaged looks like a short copy of the same frame.
        let len = held.copies.newest_first().next().map(<[u8]>::len);
        if len.is_some_and(|len| len > word.bytes.len()) {
            self.keep(name, held);
            return Some(Taken::Kept(None));
        }
        if len.is_some_and(|len| len < word.bytes.len()) {
            held = Held::default();
        }
        held.count += 1;
        let votes = word.votes(&held);
        if let Some(made) = word.combine(&held, &votes) {
            put_right(frame, made);
            return Some(Taken::Made(held.count));
        }
        let wanted = word.wanted(&held, votes);
        held.copies.keep_as_sure(word.bytes, word.sure);
        held.frame = frame.clone();
        self.keep(name, held);
        Some(Taken::Kept(wanted))
    }

    /// Restores a frame by an increment of parity, and puts the frame in place of the increment.
    /// `is_good` tells whether the increment's FCS is right. Returns `None` if no copy of matching
    /// length is stored.
    pub(super) fn take_increment(
        &mut self,
        (frame, sure): (&mut Frame, Option<&Bytes>),
        header: &Header,
        increment: Increment,
        is_good: bool,
    ) -> Option<Taken> {
        let name = (header.transmitter, header.sequence, header.fragment, increment.code);
        let [head, first, second, _] = frame.slices();
        let all = [head, first, second].concat();
        let symbols = DATA_HEADER..all.len().checked_sub(MARK_LEN)?;
        let sure = sure.and_then(|sure| sure.get(symbols.clone()));
        let symbols = all.get(symbols)?;
        let held = self.0.iter().find(|(known, _)| *known == name);
        let len = held.and_then(|(_, held)| held.copies.newest_first().next()).map(<[u8]>::len)?;
        if symbols.len() != len_of(increment, len) {
            return None;
        }
        let mut held = self.remove(&name)?;
        let (bytes, of_bytes) = held.copies.take_newest()?;
        let word = Word::of(bytes, of_bytes, increment.code)?;
        held.count += 1;
        held.parity.take(increment, (symbols, sure), is_good, len);
        let votes = word.votes(&held);
        if let Some(made) = word.combine(&held, &votes) {
            let tag = frame.tag;
            let kept = frame.kept;
            *frame = Frame { tag, kept, ..held.frame };
            put_right(frame, made);
            return Some(Taken::Made(held.count));
        }
        let wanted = word.wanted(&held, votes);
        held.copies.keep_as_sure(word.bytes, word.sure);
        self.keep(name, held);
        Some(Taken::Kept(wanted))
    }

    fn remove(&mut self, name: &Name) -> Option<Held> {
        let place = self.0.iter().position(|(known, _)| known == name)?;
        self.0.remove(place).map(|(_, held)| held)
    }

    fn keep(&mut self, name: Name, held: Held) {
        if self.0.len() == MOST_FRAMES {
            self.0.pop_front();
        }
        self.0.push_back((name, held));
    }

    /// Drops the stored copies from a sender: an intact frame of that sender has arrived.
    pub(super) fn forget(&mut self, sender: MacAddress) {
        if !self.0.is_empty() {
            self.0.retain(|((from, ..), _)| *from != sender);
        }
    }
}

/// Returns the symbols of an increment for a frame with this code, at its sender.
pub(super) fn symbols_of(increment: Increment, frame: &Frame) -> Vec<u8> {
    let [head, first, second, _] = frame.slices();
    let bytes = [head, first, second].concat();
    let word = Word::read(bytes, &frame.trailer, None, increment.code);
    word.map(|word| increments::symbols_of(increment, &word.bytes)).unwrap_or_default()
}

/// The bytes that all copies of a frame share: header, body, CRC and parity. The CRC of a frame
/// without parity is its FCS.
struct Word {
    bytes: Vec<u8>,
    /// The reliability of each byte, if the radio provides it.
    sure: Option<Vec<u8>>,
    code: Code,
    /// The number of bytes before the parity, including the CRC.
    data: usize,
    blocks: usize,
}

impl Word {
    /// Reads a frame with this code; `None` if no such frame has this length.
    fn read(mut bytes: Vec<u8>, trailer: &[u8], sure: Option<&Bytes>, code: Code) -> Option<Self> {
        let all = bytes.len().checked_sub(MARK_LEN)?;
        let mut sure = sure.filter(|it| it.len() == bytes.len() + FCS_LEN).map(|it| it.to_vec());
        if let Some(sure) = &mut sure {
            sure.drain(all..all + MARK_LEN);
        }
        bytes.truncate(all);
        if code == Code::NONE {
            bytes.extend(<[u8; FCS_LEN]>::try_from(trailer).ok()?);
        }
        let mut word = Self::of(bytes, sure, code)?;
        word.take_off_attempt();
        Some(word)
    }

    /// Creates a codeword from the bytes that all copies share; `None` if they are too short for
    /// header and CRC.
    fn of(bytes: Vec<u8>, sure: Option<Vec<u8>>, code: Code) -> Option<Self> {
        let behind = if code == Code::NONE { CHECK_LEN } else { 0 };
        let blocks = code.blocks(bytes.len().checked_sub(behind)?)?;
        let data = bytes.len() - blocks * code.parity();
        (data >= DURATION.end + CHECK_LEN).then_some(Self { bytes, sure, code, data, blocks })
    }

    /// Removes the effect of the Retry flag and Duration from header, CRC and parity of the copy.
    fn take_off_attempt(&mut self) {
        let mut change = vec![0; self.data];
        change[FLAGS] = self.bytes[FLAGS] & Flags::RETRY.0;
        change[DURATION].copy_from_slice(&self.bytes[DURATION]);
        let (before, check) = change.split_at_mut(self.data - CHECK_LEN);
        let zeros = self.check(&vec![0; before.len()]);
        check.iter_mut().zip(self.check(before)).zip(zeros).for_each(|((it, a), b)| *it = a ^ b);
        if let Some(rs) = blocks_code(self.code) {
            let parity = parity_of(rs, &change);
            change.extend(parity);
        }
        self.bytes.iter_mut().zip(change).for_each(|(byte, change)| *byte ^= change);
    }

    /// Returns the CRC over these bytes, and over the marks if it is the FCS.
    fn check(&self, before: &[u8]) -> [u8; CHECK_LEN] {
        let marks = self.code.marks();
        frame_check(&[before, if self.code == Code::NONE { &marks } else { &[] }])
    }

    /// Returns the difference between the received CRC and the right one.
    fn mismatch(&self, bytes: &[u8]) -> u32 {
        let (before, check) = bytes[..self.data].split_at(self.data - CHECK_LEN);
        let wanted = self.check(before);
        u32::from_le_bytes(core::array::from_fn(|at| check[at] ^ wanted[at]))
    }

    /// Counts the votes of this copy and of the stored ones for each byte.
    fn votes(&self, held: &Held) -> Votes {
        #[cfg(test)]
        tests::COUNTS.with(|counts| counts.set(counts.get() + 1));
        held.copies.vote(&self.bytes, self.sure.as_deref())
    }

    /// Restores the frame from this copy and the stored copies and parity. The result looks like a
    /// retry with a Duration of zero.
    fn combine(&self, held: &Held, votes: &Votes) -> Option<Vec<u8>> {
        let copies = &held.copies;
        let mut made =
            self.correct(held, votes.clone()).or_else(|| match blocks_code(self.code) {
                None => self.choose(copies, votes),
                Some(rs) => self.decode(rs, copies, votes.clone()),
            })?;
        if self.code == Code::NONE {
            made.truncate(self.data - CHECK_LEN);
        }
        made[FLAGS] |= Flags::RETRY.0;
        made.extend(self.code.marks());
        Some(made)
    }

    /// Corrects the majority of the copies by increments of parity, then by the frame's own code,
    /// and then by the increments again.
    fn correct(&self, held: &Held, mut votes: Votes) -> Option<Vec<u8>> {
        let all = held.parity.correct(&mut votes);
        let is_whole = |votes: &Votes| self.mismatch(&votes.bytes) == 0;
        if all && is_whole(&votes) {
            return Some(votes.bytes);
        }
        self.settle(&mut votes);
        (is_whole(&votes) || held.parity.correct(&mut votes) && is_whole(&votes))
            .then_some(votes.bytes)
    }

    /// Corrects the blocks for which the frame's own code suffices, and marks their bytes as
    /// certain.
    fn settle(&self, votes: &mut Votes) {
        let Some(rs) = blocks_code(self.code) else { return };
        for number in 0..self.blocks {
            let places = places(number, self.blocks, self.data, self.bytes.len());
            let mut block: Vec<u8> = places.clone().map(|at| votes.bytes[at]).collect();
            if rs.decode(&mut block, &[]).is_ok() {
                for (place, byte) in places.zip(block) {
                    (votes.bytes[place], votes.margins[place]) = (byte, u16::MAX);
                }
            }
        }
    }

    /// Returns the level up to which parity should restore the frame.
    fn wanted(&self, held: &Held, mut votes: Votes) -> Option<u8> {
        self.settle(&mut votes);
        held.parity.wanted(&votes, self.sure.is_some())
    }

    /// Restores a frame without parity: the majority of the copies, or a mixture of pieces of two
    /// copies.
    fn choose(&self, copies: &Copies, votes: &Votes) -> Option<Vec<u8>> {
        if self.sure.is_some() && !copies.is_empty() && self.mismatch(&votes.bytes) == 0 {
            return Some(votes.bytes.clone());
        }
        copies.combine(&self.bytes, MOST_PIECES, |bytes| self.mismatch(bytes))
    }

    /// Decodes the blocks of the majority, with the least certain symbols as erasures.
    fn decode(&self, rs: &ReedSolomon, copies: &Copies, mut votes: Votes) -> Option<Vec<u8>> {
        if copies.is_empty() && self.sure.is_none() {
            return None;
        }
        let newest = copies.newest_first().next().filter(|old| old.len() == self.bytes.len());
        for number in 0..self.blocks {
            let places = places(number, self.blocks, self.data, self.bytes.len());
            let pick = |from: &[u8]| places.clone().map(|at| from[at]).collect::<Vec<_>>();
            let new = pick(&self.bytes);
            let old = newest.map(pick).unwrap_or_default();
            let mut block = pick(&votes.bytes);
            let margins: Vec<u16> = places.clone().map(|at| votes.margins[at]).collect();
            let others = mixtures(&new, &old, PIECES_OF_BLOCK);
            votes::correct(rs, &mut block, &margins, &[], others)?;
            places.zip(block).for_each(|(place, byte)| votes.bytes[place] = byte);
        }
        (self.mismatch(&votes.bytes) == 0).then_some(votes.bytes)
    }
}

#[cfg(test)]
mod tests;
