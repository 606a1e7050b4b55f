//! H.264: units of an elementary stream, and the payloads of RFC 6184.

use crate::payload::VideoPayload;

/// The types of units that packets of RFC 6184 add.
pub(crate) const STAP_A: u8 = 24;
pub(crate) const FU_A: u8 = 28;
/// Bits of a unit's first byte that hold its type.
pub(crate) const TYPE: u8 = 0x1f;
/// The bits beside them: forbidden bit and importance.
pub(crate) const IMPORTANCE: u8 = 0xe0;
pub(crate) const START: u8 = 0x80;
pub(crate) const END: u8 = 0x40;

/// Bytes of a slice that a decoder needs exactly: its header, with room for long ones.
const SLICE_HEADER_LEN: usize = 16;
/// A slice, of another or of an IDR picture, or a data partition.
const SLICES: core::ops::RangeInclusive<u8> = 1..=5;

/// Returns the units between the start codes of an elementary stream (Annex B of H.264).
pub fn nal_units(stream: &[u8]) -> impl Iterator<Item = &[u8]> {
    let codes: Vec<usize> = (0..stream.len().saturating_sub(2))
        .filter(|at| stream[*at..*at + 3] == [0, 0, 1])
        .collect();
    let ends: Vec<usize> = codes.iter().skip(1).copied().chain([stream.len()]).collect();
    codes.into_iter().zip(ends).filter_map(|(code, end)| {
        let unit = &stream[code + 3..end];
        // Null bytes at the end belong to the next start code: a unit ends with a bit 1.
        let length = unit.iter().rposition(|byte| *byte != 0)? + 1;
        Some(&unit[..length])
    })
}

/// Groups the units of an elementary stream by pictures.
#[must_use]
pub fn access_units(stream: &[u8]) -> Vec<Vec<&[u8]>> {
    let mut pictures: Vec<Vec<&[u8]>> = Vec::new();
    let mut has_slice = true;
    for unit in nal_units(stream) {
        let kind = unit[0] & TYPE;
        let is_slice = SLICES.contains(&kind);
        // The first bit of a slice is 1 if it begins at macroblock 0; of partitions only A counts.
        let is_first =
            matches!(kind, 1 | 2 | 5) && unit.get(1).is_some_and(|byte| byte & 0x80 != 0);
        let is_before = (6..=9).contains(&kind) || (14..=18).contains(&kind);
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
    if SLICES.contains(&(unit[0] & TYPE)) {
        unit.len().min(1 + SLICE_HEADER_LEN)
    } else {
        unit.len()
    }
}

/// Packs the units of a picture into payloads of at most `longest` bytes: small ones together,
/// long ones in fragments (RFC 6184, packetization mode 1).
pub(crate) fn packetize(units: &[&[u8]], longest: usize) -> Vec<VideoPayload> {
    let longest = longest.max(32);
    let mut payloads = Vec::new();
    let mut waiting: Vec<&[u8]> = Vec::new();
    for unit in units.iter().filter(|unit| !unit.is_empty()) {
        let length: usize = waiting.iter().map(|unit| unit.len() + 2).sum();
        if 1 + length + 2 + unit.len() > longest {
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

fn single(unit: &[u8]) -> VideoPayload {
    VideoPayload { bytes: unit.to_vec(), exact: exact(unit), is_last: false }
}

/// Writes the waiting units: one as it is, several as an aggregate, exact up to the header of the
/// last, since a wrong length would lose all behind it.
fn flush(waiting: &mut Vec<&[u8]>, payloads: &mut Vec<VideoPayload>) {
    let units = core::mem::take(waiting);
    match units[..] {
        [] => {}
        [unit] => payloads.push(single(unit)),
        [first, ..] => {
            let importance = units
                .iter()
                .fold(first[0] & IMPORTANCE, |most, unit| most.max(unit[0] & IMPORTANCE));
            let mut bytes = vec![importance | STAP_A];
            let mut until = 0;
            for unit in units {
                bytes.extend((unit.len() as u16).to_be_bytes());
                until = bytes.len() + exact(unit);
                bytes.extend(unit);
            }
            payloads.push(VideoPayload { bytes, exact: until, is_last: false });
        }
    }
}

fn fragment(unit: &[u8], longest: usize, payloads: &mut Vec<VideoPayload>) {
    let (head, body) = (unit[0], &unit[1..]);
    let pieces = body.chunks(longest - 2);
    let last = pieces.len() - 1;
    let needed = exact(unit) - 1;
    let mut before = 0;
    for (number, piece) in pieces.enumerate() {
        let mut flags = if number == 0 { START } else { 0 };
        flags |= if number == last { END } else { 0 };
        let mut bytes = vec![head & IMPORTANCE | FU_A, flags | head & TYPE];
        bytes.extend(piece);
        let exact = 2 + needed.saturating_sub(before).min(piece.len());
        payloads.push(VideoPayload { bytes, exact, is_last: false });
        before += piece.len();
    }
}

#[cfg(test)]
mod tests;
