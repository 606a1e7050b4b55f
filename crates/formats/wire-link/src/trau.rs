//! Frames between a GSM base station and its transcoder, the TRAU: 320 bits every 20 ms
//! (GSM 08.60).
//!
//! | octet | bits |
//! |---|---|
//! | 0, 1 | sixteen zeros |
//! | 2 | 1, C1 … C7 |
//! | 3 | C8 … C15 |
//! | 4 … 39 | 1, seven data bits |
//!
//! The 252 data bits are four groups of 63, each a [V.110 frame](crate::v110) without the bits of
//! its synchronisation.

use thiserror::Error;

use crate::rlp::RLP_FRAME_LEN;
use crate::v110::{V110_BARE_BITS, V110_RADIO_BITS, V110Frame};

/// Octets of a frame.
pub const TRAU_LEN: usize = 40;
/// Bits of a frame.
pub const TRAU_BITS: usize = 8 * TRAU_LEN;
/// Data bits of a frame.
pub const TRAU_DATA_BITS: usize = GROUPS * V110_BARE_BITS;
/// Control bits of a frame.
pub const TRAU_CONTROL_BITS: usize = 15;

const GROUPS: usize = 4;
const SYNC_BITS: usize = 16;

/// C1 … C5 of a data frame from the base station.
pub const DATA_UP: [u8; 5] = [0, 1, 0, 0, 0];
/// C1 … C5 of a data frame to the base station.
pub const DATA_DOWN: [u8; 5] = [1, 0, 1, 1, 0];
/// C1 … C5 of an idle frame from the base station.
pub const IDLE_UP: [u8; 5] = [1, 0, 0, 0, 0];
/// C1 … C5 of an idle frame to the base station.
pub const IDLE_DOWN: [u8; 5] = [0, 1, 1, 1, 0];

/// A frame, each bit a byte of value 0 or 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrauFrame {
    /// C1 … C15: the type of the frame and the state of the channel.
    pub control: [u8; TRAU_CONTROL_BITS],
    /// D1 … D252.
    pub data: [u8; TRAU_DATA_BITS],
}

/// A bit of the synchronisation that differs, counted from the frame's first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("bit {0} of the synchronisation pattern differs")]
pub struct TrauSyncError(pub usize);

/// The bit that stands at a place of every frame; `None` where it varies.
const fn sync_bit(at: usize) -> Option<u8> {
    match at {
        0..SYNC_BITS => Some(0),
        16 => Some(1),
        17..32 => None,
        _ if at.is_multiple_of(8) => Some(1),
        _ => None,
    }
}

impl TrauFrame {
    /// The frame of a type, C1 … C5, all other control bits being one, with these data.
    #[must_use]
    pub fn new(kind: [u8; 5], data: [u8; TRAU_DATA_BITS]) -> Self {
        let mut control = [1; TRAU_CONTROL_BITS];
        control[..5].copy_from_slice(&kind);
        Self { control, data }
    }

    //= S1.23
    /// A data frame that carries a block of the radio: 240 bits as four modified V.110 frames,
    /// whose E1 to E3 number them: 000, 001, 010, 011.
    #[must_use]
    pub fn of_block(kind: [u8; 5], block: &[u8; RLP_FRAME_LEN]) -> Self {
        let mut data = [0; TRAU_DATA_BITS];
        let groups = data.as_chunks_mut::<V110_BARE_BITS>().0;
        for (number, group) in groups.iter_mut().enumerate() {
            let first = number * V110_RADIO_BITS;
            let radio = core::array::from_fn(|i| bit_of(block, first + i));
            let order = [0, (number >> 1) as u8, number as u8 & 1];
            *group = V110Frame::from_radio(&radio, order).bare();
        }
        Self::new(kind, data)
    }

    //= S1.24
    /// The block of the radio that a data frame carries.
    #[must_use]
    pub fn block(&self) -> [u8; RLP_FRAME_LEN] {
        let mut block = [0; RLP_FRAME_LEN];
        let groups = self.data.as_chunks::<V110_BARE_BITS>().0.iter();
        let bits = groups.flat_map(|group| V110Frame::from_bare(group).to_radio());
        bits.enumerate().for_each(|(at, bit)| block[at / 8] |= bit << (at % 8));
        block
    }

    //= S1.23
    /// The 40 octets in the order of sending, most significant bit first.
    #[must_use]
    pub fn encode(&self) -> [u8; TRAU_LEN] {
        let mut bytes = [0; TRAU_LEN];
        let mut varying = self.control.iter().chain(&self.data);
        for at in 0..TRAU_BITS {
            let bit = sync_bit(at).or_else(|| varying.next().copied()).unwrap_or(0);
            bytes[at / 8] |= (bit & 1) << (7 - at % 8);
        }
        bytes
    }

    /// Reads 40 octets.
    ///
    /// # Errors
    /// If a bit of the synchronisation differs; the first such is named.
    pub fn parse(bytes: &[u8; TRAU_LEN]) -> Result<Self, TrauSyncError> {
        let bit = |at: usize| bytes[at / 8] >> (7 - at % 8) & 1;
        if let Some(at) = (0..TRAU_BITS).find(|&at| sync_bit(at).is_some_and(|it| it != bit(at))) {
            return Err(TrauSyncError(at));
        }
        let control = core::array::from_fn(|i| bit(17 + i));
        let data = core::array::from_fn(|i| bit(8 * (4 + i / 7) + 1 + i % 7));
        Ok(Self { control, data })
    }

    /// C1 … C5, the type of the frame.
    #[must_use]
    pub fn kind(&self) -> [u8; 5] {
        core::array::from_fn(|i| self.control[i])
    }
}

/// A bit of a block as it is sent: least significant first.
fn bit_of(block: &[u8], at: usize) -> u8 {
    block[at / 8] >> (at % 8) & 1
}

/// The 40 octets that begin at bit `start` of a line; `None` if the line ends before.
#[must_use]
pub fn octets_at(line: &[u8], start: usize) -> Option<[u8; TRAU_LEN]> {
    let first = start / 8;
    let shift = start % 8;
    if start + TRAU_BITS > 8 * line.len() {
        return None;
    }
    let next = |i: usize| u16::from(line.get(first + i + 1).copied().unwrap_or(0));
    let pair = |i: usize| u16::from(line[first + i]) << 8 | next(i);
    Some(core::array::from_fn(|i| (pair(i) << shift >> 8) as u8))
}

//= S1.23
/// The first bit at or behind `from` of a line at which a frame begins.
///
/// No shift of a frame looks like one: each octet but the third has a 1 in front, so sixteen zeros
/// and then a 1 stand at one place only.
#[must_use]
pub fn find_trau(line: &[u8], from: usize) -> Option<usize> {
    let last = (8 * line.len()).checked_sub(TRAU_BITS)?;
    (from..=last).find(|&start| {
        octets_at(line, start).is_some_and(|octets| TrauFrame::parse(&octets).is_ok())
    })
}

#[cfg(test)]
mod tests;
