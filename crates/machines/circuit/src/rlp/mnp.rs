//! Error control and compression between the modems of a transparent circuit, after MNP.
//!
//! Frames of the octet-oriented kind of V.42, annex A (1993): `16 10 02`, header, data, `10 03`, a
//! CRC-16 over all but the beginning, every `10` within doubled. Data frames (LT) are sent again
//! from the first on that was not acknowledged (LA). What modems agree on before (LR) is not
//! exchanged: both ends are as they are after it, with a window of eight frames, and of class 4,
//! whose frames grow shorter where many are lost.

mod compression;
mod frames;

use std::collections::VecDeque;

use windfall_wire_link::rlp::RLP_FRAME_LEN;

use crate::rlp::{TransparentLine, TransparentMode};
use compression::{Compressor, Decompressor};
use frames::{Deframer, MnpFrame};

/// Frames under way at most.
const WINDOW: usize = 8;
/// Bytes of a frame, at first and at least.
const SIZE: usize = 256;
const LEAST: usize = 32;
/// Frames in a row that arrive before frames grow again.
const GROWTH: u32 = 16;
/// Slots beyond the characters that wait, after which a frame is taken for lost: there and back
/// through the interleaver, the longest frame of the peer, and some more.
const PATIENCE: u64 = 50;
/// Attempts of a frame before the connection ends, N400 of V.42.
const ATTEMPTS: u32 = 12;
/// Characters of a block of an asynchronous line.
const IN_A_BLOCK: usize = 19;
/// Characters that are received and not read at most.
const BUFFER: usize = 1 << 20;

/// The counts of an end so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MnpCounts {
    /// Data frames that were sent for the first time.
    pub sent: u64,
    /// Data frames that were sent again.
    pub repeated: u64,
    /// Frames that came with a wrong check, or were cut.
    pub damaged: u64,
    /// Characters of frames, of either kind, given to the line.
    pub characters: u64,
}

//= S1.21
//= S1.28
/// One modem on a transparent, asynchronous circuit, with error control and, if asked for,
/// compression. Its clock are the blocks that it gives, one every 20 ms.
#[derive(Clone, Debug)]
pub struct MnpLink {
    line: TransparentLine,
    compression: Option<(Compressor, Decompressor)>,
    slots: u64,
    outgoing: VecDeque<u8>,
    /// Frames that are not acknowledged, of which the first has the number `first`.
    under_way: VecDeque<Vec<u8>>,
    first: u8,
    /// The place among them of the next to be sent.
    next: usize,
    /// Frames that were sent before, counted from the first.
    known: usize,
    deadline: Option<u64>,
    attempts: u32,
    /// A repeated acknowledgement has been acted on since the last new one.
    has_gone_back: bool,
    size: usize,
    in_a_row: u32,
    deframer: Deframer,
    expected: u8,
    owes_answer: bool,
    /// The sender was told of the gap before the next expected frame.
    gap_told: bool,
    received: Vec<u8>,
    /// Characters, coded if they are, that were taken to be sent, and that the peer has.
    taken: u64,
    acknowledged: u64,
    counts: MnpCounts,
}

impl MnpLink {
    /// A modem that is connected; `compresses` is of class 5, and the same at both ends.
    #[must_use]
    pub fn new(compresses: bool) -> Self {
        Self {
            line: TransparentLine::new(TransparentMode::Asynchronous, 0),
            compression: compresses.then(Default::default),
            slots: 0,
            outgoing: VecDeque::new(),
            under_way: VecDeque::new(),
            first: 0,
            next: 0,
            known: 0,
            deadline: None,
            attempts: 0,
            has_gone_back: false,
            size: SIZE,
            in_a_row: 0,
            deframer: Deframer::default(),
            expected: 0,
            owes_answer: false,
            gap_told: false,
            received: Vec::new(),
            taken: 0,
            acknowledged: 0,
            counts: MnpCounts::default(),
        }
    }

    /// Takes characters to send.
    pub fn write(&mut self, characters: &[u8]) {
        let before = self.outgoing.len();
        match &mut self.compression {
            None => self.outgoing.extend(characters),
            Some((compressor, _)) => {
                let coded = compressor.take(characters);
                self.outgoing.extend(coded);
            }
        }
        self.taken += (self.outgoing.len() - before) as u64;
    }

    /// Returns the number of characters, as they are sent, that were taken so far.
    #[must_use]
    pub const fn taken(&self) -> u64 {
        self.taken
    }

    /// Returns the number of those that the peer has.
    #[must_use]
    pub const fn acknowledged(&self) -> u64 {
        self.acknowledged
    }

    /// Returns the number of those that wait for their first frame.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.outgoing.len()
    }

    /// Returns the characters that have come, in order and without errors.
    pub fn read(&mut self) -> Vec<u8> {
        core::mem::take(&mut self.received)
    }

    /// Returns the statistics so far.
    #[must_use]
    pub const fn counts(&self) -> MnpCounts {
        self.counts
    }

    /// Tells whether the connection has ended, since a frame did not get through.
    #[must_use]
    pub const fn is_down(&self) -> bool {
        self.attempts >= ATTEMPTS
    }

    /// The block of the next slot.
    pub fn next_block(&mut self) -> [u8; RLP_FRAME_LEN] {
        self.slots += 1;
        if self.deadline.is_some_and(|deadline| self.slots >= deadline) {
            self.attempts += 1;
            self.go_back();
        }
        while !self.is_down() && self.line.unfinished() < IN_A_BLOCK && self.send_frame() {}
        self.line.next_block()
    }

    /// Takes a block that arrived, damaged or not.
    pub fn handle_block(&mut self, block: &[u8; RLP_FRAME_LEN]) {
        let mut characters = Vec::new();
        self.line.handle_block(block, &mut characters);
        for character in characters {
            match self.deframer.take(character) {
                None => {}
                Some(None) => self.counts.damaged += 1,
                Some(Some(MnpFrame::Data { number, data })) => self.take_data(number, &data),
                Some(Some(MnpFrame::Acknowledgement { number })) => self.take_answer(number),
            }
        }
    }

    /// Gives a frame to the line; `false` if there is none to give.
    fn send_frame(&mut self) -> bool {
        if core::mem::take(&mut self.owes_answer) {
            let number = self.expected.wrapping_sub(1);
            self.put(&MnpFrame::Acknowledgement { number });
            return true;
        }
        if self.next == self.under_way.len() {
            if self.under_way.len() >= WINDOW || self.outgoing.is_empty() {
                return false;
            }
            let data = self.outgoing.drain(..self.outgoing.len().min(self.size)).collect();
            self.under_way.push_back(data);
        }
        let number = self.first.wrapping_add(self.next as u8);
        let data = self.under_way[self.next].clone();
        self.put(&MnpFrame::Data { number, data });
        self.next += 1;
        if self.next > self.known {
            self.known = self.next;
            self.counts.sent += 1;
        } else {
            self.counts.repeated += 1;
        }
        self.deadline = Some(self.patience());
        true
    }

    fn put(&mut self, frame: &MnpFrame) {
        let characters = frame.encode();
        self.counts.characters += characters.len() as u64;
        self.line.write(&characters);
    }

    /// The slot by which an answer to what is on the line must have come.
    fn patience(&self) -> u64 {
        self.slots + self.line.unfinished().div_ceil(IN_A_BLOCK) as u64 + PATIENCE
    }

    /// Sends everything again that was not acknowledged, in shorter frames from now on.
    fn go_back(&mut self) {
        self.next = 0;
        self.in_a_row = 0;
        self.size = (self.size / 2).max(LEAST);
        self.deadline = (!self.under_way.is_empty()).then(|| self.patience());
    }

    fn take_data(&mut self, number: u8, data: &[u8]) {
        if number == self.expected && self.received.len() < BUFFER {
            self.expected = self.expected.wrapping_add(1);
            self.gap_told = false;
            self.owes_answer = true;
            match &mut self.compression {
                None => self.received.extend_from_slice(data),
                Some((_, decompressor)) => decompressor.take(data, &mut self.received),
            }
            return;
        }
        // A late copy is acknowledged again, since the answer was lost; a gap is told of once.
        let behind = self.expected.wrapping_sub(number);
        let is_copy = (1..=WINDOW as u8).contains(&behind);
        self.owes_answer |= is_copy || !self.gap_told;
        self.gap_told |= !is_copy;
    }

    fn take_answer(&mut self, number: u8) {
        let arrived = usize::from(number.wrapping_sub(self.first).wrapping_add(1));
        if arrived == 0 {
            // Nothing new: the first frame is missing.
            if self.next > 0 && !self.has_gone_back {
                self.has_gone_back = true;
                self.go_back();
            }
            return;
        }
        if arrived > self.known {
            return;
        }
        let arrived_frames = self.under_way.drain(..arrived);
        self.acknowledged += arrived_frames.map(|frame| frame.len() as u64).sum::<u64>();
        self.first = self.first.wrapping_add(arrived as u8);
        self.next = self.next.saturating_sub(arrived);
        self.known -= arrived;
        (self.attempts, self.has_gone_back) = (0, false);
        self.in_a_row += arrived as u32;
        if self.in_a_row >= GROWTH {
            (self.in_a_row, self.size) = (0, (2 * self.size).min(SIZE));
        }
        self.deadline = (self.known > 0).then(|| self.patience());
    }
}

#[cfg(test)]
mod tests;
