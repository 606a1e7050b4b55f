//! Transparent mode: characters in blocks, and nothing that repairs them.

use std::collections::VecDeque;

use windfall_wire_link::rlp::RLP_FRAME_LEN;
use windfall_wire_link::v110::{V110_DATA_BITS, V110_RADIO_BITS, V110Frame};

/// The form of characters on a transparent circuit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransparentMode {
    /// A start and a stop bit around each: 960 characters a second at 9.6 kb/s.
    Asynchronous,
    /// Back to back, aligned to the blocks: 1200 characters a second at 9.6 kb/s.
    Synchronous,
}

/// The rate bits E1 to E3 of 9.6 kb/s.
const RATE: [u8; 3] = [0, 1, 1];

/// The receiver of start and stop bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reading {
    /// Waits for a start bit.
    Idle,
    /// Has as many bits of a character.
    Bits(u8),
    /// The stop bit was missing: waits for the line to be idle.
    Broken,
}

/// A transparent circuit at 9.6 kb/s: 192 bits of data in four V.110 frames each way in each slot.
///
/// What fills the line between characters depends on the mode: stop bits, or the byte of
/// [`new`](Self::new).
#[derive(Clone, Debug)]
pub struct TransparentLine {
    mode: TransparentMode,
    fill: u8,
    /// Bits of asynchronous characters that are begun.
    bits: VecDeque<u8>,
    outgoing: VecDeque<u8>,
    reading: Reading,
    character: u8,
    framing_errors: u64,
}

impl TransparentLine {
    /// An idle circuit that sends `fill` where a synchronous line has no character.
    #[must_use]
    pub fn new(mode: TransparentMode, fill: u8) -> Self {
        Self {
            mode,
            fill,
            bits: VecDeque::new(),
            outgoing: VecDeque::new(),
            reading: Reading::Idle,
            character: 0,
            framing_errors: 0,
        }
    }

    /// Takes characters to send.
    pub fn write(&mut self, characters: &[u8]) {
        self.outgoing.extend(characters);
    }

    /// Characters that wait to be sent.
    #[must_use]
    pub fn unsent(&self) -> usize {
        self.outgoing.len()
    }

    /// Characters of which the last bit is not sent.
    #[must_use]
    pub fn unfinished(&self) -> usize {
        self.outgoing.len() + usize::from(!self.bits.is_empty())
    }

    /// Characters whose stop bit was missing.
    #[must_use]
    pub fn framing_errors(&self) -> u64 {
        self.framing_errors
    }

    //= S1.21
    /// The block of the next slot.
    pub fn next_block(&mut self) -> [u8; RLP_FRAME_LEN] {
        let mut block = [0; RLP_FRAME_LEN];
        for number in 0..4 {
            let data = core::array::from_fn(|_| self.next_bit());
            let radio = V110Frame { data, ..V110Frame::default() }.to_radio();
            for (i, bit) in radio.into_iter().enumerate() {
                let at = number * V110_RADIO_BITS + i;
                block[at / 8] |= bit << (at % 8);
            }
        }
        block
    }

    /// Takes a block that arrived, damaged or not, and appends its characters to `characters`.
    pub fn handle_block(&mut self, block: &[u8; RLP_FRAME_LEN], characters: &mut Vec<u8>) {
        let bit = |at: usize| block[at / 8] >> (at % 8) & 1;
        let data = (0..4).flat_map(|number| {
            let radio = core::array::from_fn(|i| bit(number * V110_RADIO_BITS + i));
            V110Frame::from_radio(&radio, RATE).data
        });
        match self.mode {
            TransparentMode::Asynchronous => data.for_each(|bit| self.take_bit(bit, characters)),
            TransparentMode::Synchronous => {
                let bits: Vec<u8> = data.collect();
                let octets = bits.as_chunks::<8>().0.iter();
                characters.extend(octets.map(octet_of));
            }
        }
    }

    fn next_bit(&mut self) -> u8 {
        if self.bits.is_empty() {
            let next = self.outgoing.pop_front();
            match (self.mode, next) {
                (TransparentMode::Asynchronous, None) => return 1,
                (TransparentMode::Asynchronous, Some(character)) => {
                    self.bits.push_back(0);
                    self.bits.extend(bits_of(character));
                    self.bits.push_back(1);
                }
                (TransparentMode::Synchronous, next) => {
                    self.bits.extend(bits_of(next.unwrap_or(self.fill)));
                }
            }
        }
        self.bits.pop_front().unwrap_or(1)
    }

    /// Takes one bit of an asynchronous line.
    fn take_bit(&mut self, bit: u8, characters: &mut Vec<u8>) {
        self.reading = match (self.reading, bit) {
            (Reading::Idle, 0) => Reading::Bits(0),
            (Reading::Idle | Reading::Broken, 1) => Reading::Idle,
            (Reading::Bits(8), 1) => {
                characters.push(self.character);
                Reading::Idle
            }
            (Reading::Bits(8), _) => {
                self.framing_errors += 1;
                Reading::Broken
            }
            (Reading::Bits(count), bit) => {
                self.character = self.character >> 1 | bit << 7;
                Reading::Bits(count + 1)
            }
            (reading, _) => reading,
        };
    }
}

/// The bits of a character, least significant first.
fn bits_of(character: u8) -> impl Iterator<Item = u8> {
    (0..8).map(move |bit| character >> bit & 1)
}

fn octet_of(bits: &[u8; 8]) -> u8 {
    bits.iter().rev().fold(0, |octet, bit| octet << 1 | bit)
}

/// All data bits of a block.
const _: () = assert!(4 * V110_DATA_BITS == 192, "9.6 kb/s are 192 bits in 20 ms");

#[cfg(test)]
mod tests;
