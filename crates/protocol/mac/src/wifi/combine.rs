//! Damaged copies of coded data frames, from which their receiver makes a whole one.
//!
//! Attempts at a frame differ in two fields of its header: the retry flag and the duration. Check
//! and parity are sums over the bits, so what these fields change in them is taken off each copy,
//! and all are alike but for damage. The check has the last word.

use std::collections::VecDeque;

use bytes::Bytes;
use windfall_base::Frame;
use windfall_fec::ReedSolomon;
use windfall_fec::copies::{Copies, MOST_PIECES, mixtures};
use windfall_fec::votes::{self, Votes};
use windfall_wire_link::check::frame_check;
use windfall_wire_link::ieee80211::coding::MARK_LEN;
use windfall_wire_link::ieee80211::header::FCS_LEN;
use windfall_wire_link::ieee80211::{Code, Flags, Header, MacAddress};

use super::coding::{blocks_code, parity_of, places, put_right};

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

/// The damaged frames of a station's senders.
#[derive(Clone, Debug, Default)]
pub(super) struct CopyStore(VecDeque<(Name, Copies)>);

impl CopyStore {
    /// Makes a damaged data frame whole if its copies allow it, and tells of how many; else keeps
    /// it as one more of them. `sure` is how sure the radio is of each of its bytes, if it knows;
    /// where the marks of the frame are lost, `usual` is its code.
    pub(super) fn take(
        &mut self,
        (frame, sure): (&mut Frame, Option<&Bytes>),
        header: &Header,
        usual: Option<Code>,
    ) -> Option<u32> {
        let [head, first, second, _] = frame.slices();
        let bytes = [head, first, second].concat();
        let code = Code::marked(&bytes).or(usual)?;
        let word = Word::read(bytes, &frame.trailer, sure, code)?;
        let name = (header.transmitter, header.sequence, header.fragment, code);
        let place = self.0.iter().position(|(known, _)| *known == name);
        let (_, mut copies) = place
            .and_then(|place| self.0.remove(place))
            .unwrap_or_else(|| (name, Copies::default()));
        if let Some(made) = word.combine(&copies) {
            put_right(frame, made);
            return Some(copies.len() as u32 + 1);
        }
        copies.keep_as_sure(word.bytes, word.sure);
        if self.0.len() == MOST_FRAMES {
            self.0.pop_front();
        }
        self.0.push_back((name, copies));
        None
    }

    /// Forgets the copies of a sender, of which a whole frame has come.
    pub(super) fn forget(&mut self, sender: MacAddress) {
        if !self.0.is_empty() {
            self.0.retain(|((from, ..), _)| *from != sender);
        }
    }
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
        let blocks = code.blocks(all)?;
        let mut sure = sure.filter(|it| it.len() == bytes.len() + FCS_LEN).map(|it| it.to_vec());
        if let Some(sure) = &mut sure {
            sure.drain(all..all + MARK_LEN);
        }
        bytes.truncate(all);
        if code == Code::NONE {
            bytes.extend(<[u8; FCS_LEN]>::try_from(trailer).ok()?);
        }
        let data = bytes.len() - blocks * code.parity();
        if data < DURATION.end + CHECK_LEN {
            return None;
        }
        let mut word = Self { bytes, sure, code, data, blocks };
        word.take_off_attempt();
        Some(word)
    }

    /// Takes off the copy what its number among the attempts changes in header, check and parity.
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

    /// The check behind these bytes: over the marks too where it is the frame check.
    fn check(&self, before: &[u8]) -> [u8; CHECK_LEN] {
        let marks = self.code.marks();
        frame_check(&[before, if self.code == Code::NONE { &marks } else { &[] }])
    }

    /// The difference of the check from what it should be.
    fn mismatch(&self, bytes: &[u8]) -> u32 {
        let (before, check) = bytes[..self.data].split_at(self.data - CHECK_LEN);
        let wanted = self.check(before);
        u32::from_le_bytes(core::array::from_fn(|at| check[at] ^ wanted[at]))
    }

    /// Makes the frame of this copy and others, as a further attempt of which nothing follows.
    fn combine(&self, copies: &Copies) -> Option<Vec<u8>> {
        let mut made = match blocks_code(self.code) {
            None => self.choose(copies)?,
            Some(rs) => self.decode(rs, copies)?,
        };
        if self.code == Code::NONE {
            made.truncate(self.data - CHECK_LEN);
        }
        made[FLAGS] |= Flags::RETRY.0;
        made.extend(self.code.marks());
        Some(made)
    }

    /// Takes of a frame without parity what most copies say, or pieces of either of two.
    fn choose(&self, copies: &Copies) -> Option<Vec<u8>> {
        if self.sure.is_some() && !copies.is_empty() {
            let Votes { bytes, .. } = copies.vote(&self.bytes, self.sure.as_deref());
            if self.mismatch(&bytes) == 0 {
                return Some(bytes);
            }
        }
        copies.combine(&self.bytes, MOST_PIECES, |bytes| self.mismatch(bytes))
    }

    /// Decodes the blocks of what most copies say, the least sure symbols as erasures.
    fn decode(&self, rs: &ReedSolomon, copies: &Copies) -> Option<Vec<u8>> {
        if copies.is_empty() && self.sure.is_none() {
            return None;
        }
        let mut votes = copies.vote(&self.bytes, self.sure.as_deref());
        let newest = copies.newest_first().next().filter(|old| old.len() == self.bytes.len());
        for number in 0..self.blocks {
            let places = places(number, self.blocks, self.data, self.bytes.len());
            let pick = |from: &[u8]| places.clone().map(|at| from[at]).collect::<Vec<_>>();
            let (new, old) = (pick(&self.bytes), newest.map(pick).unwrap_or_default());
            let mut block = pick(&votes.bytes);
            let margins: Vec<u16> = places.clone().map(|at| votes.margins[at]).collect();
            let others = mixtures(&new, &old, PIECES_OF_BLOCK);
            votes::correct(rs, &mut block, &margins, others)?;
            places.zip(block).for_each(|(place, byte)| votes.bytes[place] = byte);
        }
        (self.mismatch(&votes.bytes) == 0).then_some(votes.bytes)
    }
}

#[cfg(test)]
mod tests;
