//! H.265: units of an elementary stream, and the payloads of RFC 7798 without decoding order
//! numbers.

use crate::h264::{END, START, nal_units};
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

/// Groups the units of an elementary stream by pictures (H.265, section 7.4.2.4.4).
#[must_use]
pub fn h265_access_units(stream: &[u8]) -> Vec<Vec<&[u8]>> {
    let mut pictures: Vec<Vec<&[u8]>> = Vec::new();
    let mut has_slice = true;
    for unit in nal_units(stream).filter(|unit| unit.len() > HEADER_LEN) {
        let kind = kind(unit[0]);
        let is_slice = SLICES.contains(&kind);
        // The first bit of a slice is 1 if it is the first of its picture.
        let is_first = is_slice && unit[HEADER_LEN] & 0x80 != 0;
        let is_before = matches!(kind, 32..=35 | 39 | 41..=44 | 48..=55);
        if pictures.is_empty() || has_slice && (is_first || is_before) {
            pictures.push(Vec::new());
            has_slice = false;
        }
        has_slice |= is_slice;
        if let Some(picture) = pictures.last_mut() {
            picture.push(unit);
        }
    }
    pictures
}

/// The number of leading bytes of a unit that must arrive exactly.
fn exact(unit: &[u8]) -> usize {
    if SLICES.contains(&kind(unit[0])) {
        unit.len().min(HEADER_LEN + SLICE_HEADER_LEN)
    } else {
        unit.len()
    }
}

/// Packs the units of a picture into payloads of at most `longest` bytes: small ones together,
/// long ones in fragments (RFC 7798, section 4.4).
pub(crate) fn packetize(units: &[&[u8]], longest: usize) -> Vec<VideoPayload> {
    let longest = longest.max(32);
    let mut payloads = Vec::new();
    let mut waiting: Vec<&[u8]> = Vec::new();
    for unit in units.iter().filter(|unit| unit.len() > HEADER_LEN) {
        let length: usize = waiting.iter().map(|unit| unit.len() + 2).sum();
        if HEADER_LEN + length + 2 + unit.len() > longest {
            flush(&mut waiting, &mut payloads);
        }
        if unit.len() > longest {
            fragment(unit, longest, &mut payloads);
        } else {
            waiting.push(unit);
        }
    }
    flush(&mut waiting, &mut payloads);
    payloads
}

/// Writes the waiting units: one as it is, several as an aggregate, exact up to the header of the
/// last, since a wrong length would lose all behind it.
fn flush(waiting: &mut Vec<&[u8]>, payloads: &mut Vec<VideoPayload>) {
    let units = core::mem::take(waiting);
    let (bytes, exact) = match units[..] {
        [] => return,
        [unit] => (unit.to_vec(), exact(unit)),
        [first, ..] => {
            // The least layer and the least sublayer of all.
            let number = |unit: &[u8]| u16::from_be_bytes([unit[0] & 1, unit[1]]);
            let layer = units.iter().map(|unit| number(unit) >> 3).min().unwrap_or(0);
            let sublayer = units.iter().map(|unit| number(unit) & 7).min().unwrap_or(1);
            let forbidden = units.iter().fold(0, |bit, unit| bit | unit[0] & 0x80);
            let [high, low] = (layer << 3 | sublayer).to_be_bytes();
            let mut bytes = vec![with_kind(forbidden | high & 1, AGGREGATE), low];
            let mut until = 0;
            debug_assert!(first.len() > HEADER_LEN);
            for unit in units {
                bytes.extend((unit.len() as u16).to_be_bytes());
                until = bytes.len() + exact(unit);
                bytes.extend(unit);
            }
            (bytes, until)
        }
    };
    payloads.push(VideoPayload { bytes, exact, is_last: false });
}

fn fragment(unit: &[u8], longest: usize, payloads: &mut Vec<VideoPayload>) {
    let (head, body) = unit.split_at(HEADER_LEN);
    let pieces = body.chunks(longest - HEADER_LEN - 1);
    let last = pieces.len() - 1;
    let needed = exact(unit) - HEADER_LEN;
    let mut before = 0;
    for (number, piece) in pieces.enumerate() {
        let mut flags = if number == 0 { START } else { 0 };
        flags |= if number == last { END } else { 0 };
        let mut bytes = vec![with_kind(head[0], FRAGMENT), head[1], flags | kind(head[0])];
        bytes.extend(piece);
        let exact = HEADER_LEN + 1 + needed.saturating_sub(before).min(piece.len());
        payloads.push(VideoPayload { bytes, exact, is_last: false });
        before += piece.len();
    }
}

#[cfg(test)]
mod tests;
