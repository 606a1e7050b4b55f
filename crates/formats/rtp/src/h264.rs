//! H.264: units of an elementary stream, and the payloads of RFC 6184.

use crate::nal::{self, UnitFormat, UnitPlace};
use crate::payload::VideoPayload;

/// The types of units that packets of RFC 6184 add.
pub(crate) const STAP_A: u8 = 24;
pub(crate) const FU_A: u8 = 28;
/// Bits of a unit's first byte that hold its type.
pub(crate) const TYPE: u8 = 0x1f;
/// The bits beside them: forbidden bit and importance.
pub(crate) const IMPORTANCE: u8 = 0xe0;

/// Bytes of a slice that a decoder needs exactly: its header, with room for long ones.
const SLICE_HEADER_LEN: usize = 16;
/// A slice, of another or of an IDR picture, or a data partition.
const SLICES: core::ops::RangeInclusive<u8> = 1..=5;

struct H264;

impl UnitFormat for H264 {
    const HEADER_LEN: usize = 1;
    const LEAST_LEN: usize = 1;

    fn place(unit: &[u8]) -> UnitPlace {
        let kind = unit[0] & TYPE;
        // The first bit of a slice is 1 if it begins at macroblock 0; of partitions only A counts.
        let begins = unit.get(1).is_some_and(|byte| byte & 0x80 != 0);
        match kind {
            1 | 2 | 5 if begins => UnitPlace::FirstSlice,
            _ if SLICES.contains(&kind) => UnitPlace::Slice,
            6..=9 | 14..=18 => UnitPlace::Before,
            _ => UnitPlace::Other,
        }
    }

    fn exact(unit: &[u8]) -> usize {
        if SLICES.contains(&(unit[0] & TYPE)) {
            unit.len().min(Self::HEADER_LEN + SLICE_HEADER_LEN)
        } else {
            unit.len()
        }
    }

    fn aggregate_header(units: &[&[u8]]) -> Vec<u8> {
        let importance = units.iter().map(|unit| unit[0] & IMPORTANCE).max().unwrap_or(0);
        vec![importance | STAP_A]
    }

    fn fragment_header(header: &[u8], flags: u8) -> Vec<u8> {
        vec![header[0] & IMPORTANCE | FU_A, flags | header[0] & TYPE]
    }
}

/// Groups the units of an elementary stream by pictures.
#[must_use]
pub fn access_units(stream: &[u8]) -> Vec<Vec<&[u8]>> {
    nal::access_units::<H264>(stream)
}

/// Packs the units of a picture into payloads of at most `longest` bytes: small ones together,
/// long ones in fragments (RFC 6184, packetization mode 1).
pub(crate) fn packetize(units: &[&[u8]], longest: usize) -> Vec<VideoPayload> {
    nal::packetize::<H264>(units, longest)
}

#[cfg(test)]
mod tests;
