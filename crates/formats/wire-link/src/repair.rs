//! What stands behind a packet that a code across packets covers, and behind a repair.
//!
//! It stands behind the packet, not before it, so that a link that looks for the packet's
//! destination finds it where it is without a code. All of it has [`TRAILER_LEN`] bytes:
//!
//! | byte | field of a packet | field of a repair |
//! |---|---|---|
//! | 0 | kind 1; the owner's wishes in the low bits | kind 2; 4 bits of the repair's check |
//! | 1–4 | stream | stream |
//! | 5–8 | number of the packet | number of the first packet that it covers |
//! | 9–12 | CRC-32 of the packet | count, row, bytes before the sum, 12 bits of its check |
//! | 13, 14 | header check | header check |
//! | 15–20 | parity over the bytes before | the same |
//!
//! The fields of a repair in bytes 9 to 12 have 7 bits for the number of its packets less
//! one, 7 for the row of its coefficients, 6 for the bytes before the sum and the low 12 of its
//! [check](repair_check), whose others stand in byte 0; high bits come first.
//!
//! What a repair sums up of each packet is its [symbol]: length, CRC-32, packet.

use crate::HeaderError;
use crate::check::{FCS_LEN, HEADER_CHECK_LEN, block_check, frame_check, header_check};

/// Bytes of parity at the end: three wrong bytes are put right.
pub const TRAILER_PARITY: usize = 6;
/// Bytes of the fields and their check.
pub const TRAILER_FIELDS: usize = 15;
/// Bytes behind a packet or a repair.
pub const TRAILER_LEN: usize = TRAILER_FIELDS + TRAILER_PARITY;
/// Bytes before the packet in its symbol.
pub const SYMBOL_HEADER: usize = 2 + FCS_LEN;

/// The trailer of a packet or of a repair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RepairTrailer {
    /// The stream of packets that are coded together, as its sender named it.
    pub stream: u32,
    /// The number of the packet, or of the first packet that a repair covers.
    pub number: u32,
    /// Which of the two it is.
    pub kind: Covered,
}

/// A packet under a code, or a repair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Covered {
    /// The trailer stands behind a packet.
    Packet {
        /// The CRC-32 of the packet.
        check: [u8; FCS_LEN],
        /// The wish of its owner: to have it even if it is damaged, or not; the receiver's
        /// choice if `None`.
        accept_damaged: Option<bool>,
        /// Its owner would have packets as they come, in whatever order.
        unordered: bool,
    },
    /// The trailer stands behind a repair.
    Repair {
        /// The number of packets that it covers, 1 to 128.
        count: u8,
        /// The row of its coefficients, 0 to 127.
        row: u8,
        /// Bytes before the sum, 0 to 63: the beginning of a packet, for links that look for a
        /// destination.
        before: u8,
        /// The [check](repair_check) of its sum.
        check: u16,
    },
}

impl RepairTrailer {
    /// Writes the fields and their check, with room for the parity behind them.
    #[must_use]
    pub fn encode(&self) -> [u8; TRAILER_LEN] {
        let mut bytes = [0; TRAILER_LEN];
        let (kind, rest) = match self.kind {
            Covered::Packet { check, accept_damaged, unordered } => {
                let wish = accept_damaged.map_or(0, |accept| 2 | u8::from(accept));
                (0x10 | u8::from(unordered) << 2 | wish, check)
            }
            Covered::Repair { count, row, before, check } => {
                let count = u32::from(count.wrapping_sub(1) & 0x7f);
                let row = u32::from(row & 0x7f);
                let before = u32::from(before & 0x3f);
                let low = u32::from(check & 0xfff);
                let rest = count << 25 | row << 18 | before << 12 | low;
                (0x20 | (check >> 12) as u8, rest.to_be_bytes())
            }
        };
        bytes[0] = kind;
        bytes[1..5].copy_from_slice(&self.stream.to_be_bytes());
        bytes[5..9].copy_from_slice(&self.number.to_be_bytes());
        bytes[9..13].copy_from_slice(&rest);
        let end = TRAILER_FIELDS - HEADER_CHECK_LEN;
        let check = header_check(&bytes[..end]);
        bytes[end..TRAILER_FIELDS].copy_from_slice(&check);
        bytes
    }

    /// Reads the fields and their check.
    ///
    /// # Errors
    /// If there are too few bytes, the check fails, or a value is one that no sender writes.
    pub fn parse(bytes: &[u8]) -> Result<Self, HeaderError> {
        let short = HeaderError::Short { have: bytes.len(), need: TRAILER_FIELDS };
        let Some(&bytes) = bytes.first_chunk::<TRAILER_FIELDS>() else { return Err(short) };
        let [kind, a, b, c, d, e, f, g, h, w, x, y, z, high, low] = bytes;
        if header_check(&bytes[..TRAILER_FIELDS - HEADER_CHECK_LEN]) != [high, low] {
            return Err(HeaderError::Check);
        }
        let kind = match kind {
            0x10 | 0x12..=0x14 | 0x16 | 0x17 => Covered::Packet {
                check: [w, x, y, z],
                accept_damaged: (kind & 2 != 0).then_some(kind & 1 != 0),
                unordered: kind & 4 != 0,
            },
            0x20..=0x2f => {
                let rest = u32::from_be_bytes([w, x, y, z]);
                let high = u16::from(kind & 0xf) << 12;
                Covered::Repair {
                    count: (rest >> 25) as u8 + 1,
                    row: (rest >> 18) as u8 & 0x7f,
                    before: (rest >> 12) as u8 & 0x3f,
                    check: high | rest as u16 & 0xfff,
                }
            }
            kind => return Err(HeaderError::Kind(kind)),
        };
        let stream = u32::from_be_bytes([a, b, c, d]);
        let number = u32::from_be_bytes([e, f, g, h]);
        Ok(Self { stream, number, kind })
    }
}

/// The check of a repair, over its sum: the high half of a CRC-32. It tells one that was damaged
/// and put right.
#[must_use]
pub fn repair_check(sum: &[u8]) -> u16 {
    u16::from_be_bytes(block_check(sum))
}

/// The symbol of a packet with this CRC-32: its length, 2 bytes, the check, and the packet.
#[must_use]
pub fn symbol(packet: &[&[u8]], check: [u8; FCS_LEN]) -> Vec<u8> {
    let len: usize = packet.iter().map(|slice| slice.len()).sum();
    let mut bytes = Vec::with_capacity(SYMBOL_HEADER + len);
    bytes.extend((len as u16).to_be_bytes());
    bytes.extend(check);
    packet.iter().for_each(|slice| bytes.extend_from_slice(slice));
    bytes
}

/// The packet of a symbol, with zeros behind it, if its check holds. Zeros alone are no packet.
#[must_use]
pub fn packet_of(symbol: &[u8]) -> Option<&[u8]> {
    let (&[high, low, a, b, c, d], rest) = symbol.split_first_chunk()?;
    let packet = rest.get(..usize::from(u16::from_be_bytes([high, low])))?;
    (!packet.is_empty() && frame_check(&[packet]) == [a, b, c, d]).then_some(packet)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn trailers_survive(
            stream: u32,
            number: u32,
            rest: [u8; 4],
            wish: Option<bool>,
            unordered: bool,
            repair in prop::option::of((1..=128_u8, 0..128_u8, 0..64_u8, any::<u16>())),
        ) {
            let packet = Covered::Packet { check: rest, accept_damaged: wish, unordered };
            let kind = repair.map_or(packet, |(count, row, before, check)| {
                Covered::Repair { count, row, before, check }
            });
            let trailer = RepairTrailer { stream, number, kind };
            prop_assert_eq!(RepairTrailer::parse(&trailer.encode()), Ok(trailer));
        }

        #[test]
        fn any_bytes_parse_without_panic(
            mut bytes in prop::collection::vec(any::<u8>(), 0..40),
            is_sealed: bool,
        ) {
            if let Some(fields) = bytes.get_mut(..TRAILER_FIELDS).filter(|_| is_sealed) {
                let check = header_check(&fields[..13]);
                fields[13..].copy_from_slice(&check);
            }
            if let Ok(trailer) = RepairTrailer::parse(&bytes) {
                prop_assert_eq!(&trailer.encode()[..TRAILER_FIELDS], &bytes[..TRAILER_FIELDS]);
            }
            let _ = packet_of(&bytes);
        }

        #[test]
        fn a_packet_comes_out_of_its_symbol(
            packet in prop::collection::vec(any::<u8>(), 1..200),
            zeros in 0..40_usize,
            bit: usize,
        ) {
            let mut bytes = symbol(&[&packet], frame_check(&[&packet]));
            bytes.resize(bytes.len() + zeros, 0);
            prop_assert_eq!(packet_of(&bytes), Some(&packet[..]));
            let bit = bit % ((SYMBOL_HEADER + packet.len()) * 8);
            bytes[bit / 8] ^= 0x80 >> (bit % 8);
            prop_assert_eq!(packet_of(&bytes), None);
        }
    }
}
