//! H.265: units of an elementary stream, and the payloads of RFC 7798 without decoding order
//! numbers.

use crate::nal::{self, UnitFormat, UnitPlace};
use crate::payload::VideoPayload;

/// Bytes of the header of a unit: forbidden bit, type, layer, temporal sublayer.
pub(crate) const HEADER_LEN: usize = 2;
/// The types of units that packets of RFC 7798 add, and one of another specification.
pub(crate) const AGGREGATE: u8 = 48;
pub(crate) const FRAGMENT: u8 = 49;
/// Bits of the header of a fragment that hold the unit's type.
pub(crate) const FRAGMENT_TYPE: u8 = 0x3f;

/// Bytes of a slice that a decoder needs exactly: its header, with room for long ones.
const SLICE_HEADER_LEN: usize = 24;
/// Slices: types below 32 (H.265, table 7-1).
const SLICES: core::ops::Range<u8> = 0..32;

/// Returns the type of a unit by its header.
pub(crate) const fn kind(first: u8) -> u8 {
    first >> 1 & 0x3f
}

/// Returns the first byte of a header with another type.
pub(crate) const fn with_kind(first: u8, kind: u8) -> u8 {
    first & 0x81 | kind << 1
}

struct H265;

impl UnitFormat for H265 {
    const HEADER_LEN: usize = HEADER_LEN;
    const LEAST_LEN: usize = HEADER_LEN + 1;

    fn place(unit: &[u8]) -> UnitPlace {
        let kind = kind(unit[0]);
        match kind {
            // The first bit of a slice is 1 if it is the first of its picture.
            _ if SLICES.contains(&kind) && unit[HEADER_LEN] & 0x80 != 0 => UnitPlace::FirstSlice,
            _ if SLICES.contains(&kind) => UnitPlace::Slice,
            32..=35 | 39 | 41..=44 | 48..=55 => UnitPlace::Before,
            _ => UnitPlace::Other,
        }
    }

    fn exact(unit: &[u8]) -> usize {
        if SLICES.contains(&kind(unit[0])) {
            unit.len().min(HEADER_LEN + SLICE_HEADER_LEN)
        } else {
            unit.len()
        }
    }

    fn aggregate_header(units: &[&[u8]]) -> Vec<u8> {
        // The least layer and the least sublayer of all.
        let number = |unit: &[u8]| u16::from_be_bytes([unit[0] & 1, unit[1]]);
        let layer = units.iter().map(|unit| number(unit) >> 3).min().unwrap_or(0);
        let sublayer = units.iter().map(|unit| number(unit) & 7).min().unwrap_or(1);
        let forbidden = units.iter().fold(0, |bit, unit| bit | unit[0] & 0x80);
        let [high, low] = (layer << 3 | sublayer).to_be_bytes();
        vec![with_kind(forbidden | high & 1, AGGREGATE), low]
    }

    fn fragment_header(header: &[u8], flags: u8) -> Vec<u8> {
        vec![with_kind(header[0], FRAGMENT), header[1], flags | kind(header[0])]
    }
}

/// Groups the units of an elementary stream by pictures (H.265, section 7.4.2.4.4).
#[must_use]
pub fn h265_access_units(stream: &[u8]) -> Vec<Vec<&[u8]>> {
    nal::access_units::<H265>(stream)
}

/// Packs the units of a picture into payloads of at most `longest` bytes: small ones together,
/// long ones in fragments (RFC 7798, section 4.4).
pub(crate) fn packetize(units: &[&[u8]], longest: usize) -> Vec<VideoPayload> {
    nal::packetize::<H265>(units, longest)
}

#[cfg(test)]
mod tests;
