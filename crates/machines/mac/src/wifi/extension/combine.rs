//! Damaged copies of coded data frames, from which their receiver makes a whole one.
//!
//! Attempts at a frame differ in two fields of its header: the Retry flag and Duration. Check and
//! parity are sums over the bits, so the effect of these fields is removed from each copy, and all
//! copies are equal except for damage. The check decides at the end.

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

/// Frames of which copies are kept; a sender has one at a time on its way to a receiver.
const MOST_FRAMES: usize = 8;
/// Pieces into which the difference of two copies of a block is cut: each mixture is decoded.
const PIECES_OF_BLOCK: usize = 3;
/// The place of the flags in a header, and the places of its duration.
const FLAGS: usize = 1;
const DURATION: core::ops::Range<usize> = 2..4;
/// Bytes of the CRC-32 under the code.
const CHECK_LEN: usize = 4;

/// A frame as its sender numbers it, and its code.
type Name = (MacAddress, u16, u8, Code);

/// The copies and the parity of a frame that has not come whole.
#[derive(Clone, Debug, Default)]
struct Held {
    /// The newest copy as it came.
    frame: Frame,
    copies: Copies,
    parity: Parity,
    /// Copies and increments received.
    count: u32,
}

/// The outcome of a damaged frame, or of further parity of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taken {
    /// The frame is whole now, of this number of copies and increments.
    Made(u32),
    /// It is kept, and wants further parity up to this place, or another copy.
    Kept(Option<u8>),
}

/// The damaged frames of a station's senders.
#[derive(Clone, Debug, Default)]
pub(super) struct CopyStore(VecDeque<(Name, Held)>);

impl CopyStore {
    /// Makes a damaged data frame whole if its copies allow it; else keeps it as one more of them.
    /// `sure` is how sure the radio is of each of its bytes, if it knows; where the marks of the
    /// frame are lost, `usual` is its code. `None` of a frame that could not be combined.
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
        // Further parity of which even the marks are lost looks like a short copy of such a name.
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

    /// Makes a frame whole by further parity, whose own check holds or not, and puts it in place of
    /// the increment; `None` if nothing of this length is held of it.
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
            let (tag, kept) = (frame.tag, frame.kept);
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

    /// Forgets the copies of a sender, of which a whole frame has come.
    pub(super) fn forget(&mut self, sender: MacAddress) {
        if !self.0.is_empty() {
            self.0.retain(|((from, ..), _)| *from != sender);
        }
    }
}

/// Returns the further parity of a frame that has this code, of which its sender has all bytes.
pub(super) fn symbols_of(increment: Increment, frame: &Frame) -> Vec<u8> {
    let [head, first, second, _] = frame.slices();
    let bytes = [head, first, second].concat();
    let word = Word::read(bytes, &frame.trailer, None, increment.code);
    word.map(|word| increments::symbols_of(increment, &word.bytes)).unwrap_or_default()
}

/// The bytes that all copies of a frame have in common: header, body, check and parity. Of a frame
/// without parity the check is its frame check.
struct Word {
    bytes: Vec<u8>,
    /// The reliability of each of them, if the radio knows it.
    sure: Option<Vec<u8>>,
    code: Code,
    /// The bytes before the parity, the check among them.
    data: usize,
    blocks: usize,
}

impl Word {
    /// Reads a frame with this code; `None` if none has its length.
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

    /// A codeword of the bytes that all copies share; `None` if they are too short for header and
    /// check.
    fn of(bytes: Vec<u8>, sure: Option<Vec<u8>>, code: Code) -> Option<Self> {
        let behind = if code == Code::NONE { CHECK_LEN } else { 0 };
        let blocks = code.blocks(bytes.len().checked_sub(behind)?)?;
        let data = bytes.len() - blocks * code.parity();
        (data >= DURATION.end + CHECK_LEN).then_some(Self { bytes, sure, code, data, blocks })
    }

    /// Removes the effect of the attempt's number on header, check and parity of the copy.
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

    /// The check over these bytes, and over the marks if it is the FCS.
    fn check(&self, before: &[u8]) -> [u8; CHECK_LEN] {
        let marks = self.code.marks();
        frame_check(&[before, if self.code == Code::NONE { &marks } else { &[] }])
    }

    /// The difference of the check from the right one.
    fn mismatch(&self, bytes: &[u8]) -> u32 {
        let (before, check) = bytes[..self.data].split_at(self.data - CHECK_LEN);
        let wanted = self.check(before);
        u32::from_le_bytes(core::array::from_fn(|at| check[at] ^ wanted[at]))
    }

    /// Counts the votes of this copy and of those that are held, once for all that is made of them.
    fn votes(&self, held: &Held) -> Votes {
        #[cfg(test)]
        tests::COUNTS.with(|counts| counts.set(counts.get() + 1));
        held.copies.vote(&self.bytes, self.sure.as_deref())
    }

    /// Makes the frame of this copy and what is held, as an attempt of which nothing follows.
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

    /// Corrects the majority of the copies by further parity, and then by the code of the frame,
    /// which may be enough for the remaining errors.
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

    /// Returns the place up to which further parity should make the frame whole.
    fn wanted(&self, held: &Held, mut votes: Votes) -> Option<u8> {
        self.settle(&mut votes);
        held.parity.wanted(&votes, self.sure.is_some())
    }

    /// Takes the majority of the copies of a frame without parity, or pieces of either of two.
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
            let (new, old) = (pick(&self.bytes), newest.map(pick).unwrap_or_default());
            let mut block = pick(&votes.bytes);
            let margins: Vec<u16> = places.clone().map(|at| votes.margins[at]).collect();
            let others = mixtures(&new, &old, PIECES_OF_BLOCK);
            votes::correct(rs, &mut block, (&margins, &[]), others)?;
            places.zip(block).for_each(|(place, byte)| votes.bytes[place] = byte);
        }
        (self.mismatch(&votes.bytes) == 0).then_some(votes.bytes)
    }
}

#[cfg(test)]
mod tests;
