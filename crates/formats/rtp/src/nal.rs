//! Units of an elementary stream, and how packets carry them: what H.264 (RFC 6184) and H.265 (RFC
//! 7798) have in common.

use crate::payload::VideoPayload;

/// The bits of the header of a fragment: its unit begins, or ends.
pub(crate) const START: u8 = 0x80;
pub(crate) const END: u8 = 0x40;

/// Bytes of the length before each unit of an aggregate.
const LENGTH_LEN: usize = 2;
/// The shortest payload that is packed for: headers alone must not fill it.
const SHORTEST: usize = 32;

/// The place of a unit in its picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnitPlace {
    /// A slice that begins a picture.
    FirstSlice,
    /// A slice that does not begin one.
    Slice,
    /// A unit that stands before the slices of the next picture.
    Before,
    /// Any other unit, which belongs to the picture before it.
    Other,
}

/// A format of video whose stream consists of units.
pub(crate) trait UnitFormat {
    /// Bytes of the header of a unit.
    const HEADER_LEN: usize;
    /// Bytes of the shortest unit that counts.
    const LEAST_LEN: usize;

    /// Returns the place of a unit in its picture.
    fn place(unit: &[u8]) -> UnitPlace;

    /// Returns the number of leading bytes of a unit that must arrive exactly.
    fn exact(unit: &[u8]) -> usize;

    /// Returns the header of an aggregate of several units.
    fn aggregate_header(units: &[&[u8]]) -> Vec<u8>;

    /// Returns the header of a fragment of a unit, with [`START`] and [`END`] as they apply.
    fn fragment_header(header: &[u8], flags: u8) -> Vec<u8>;
}

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
pub(crate) fn access_units<F: UnitFormat>(stream: &[u8]) -> Vec<Vec<&[u8]>> {
    let mut pictures: Vec<Vec<&[u8]>> = Vec::new();
    let mut has_slice = true;
    for unit in nal_units(stream).filter(|unit| unit.len() >= F::LEAST_LEN) {
        let place = F::place(unit);
        let begins = matches!(place, UnitPlace::FirstSlice | UnitPlace::Before);
        if pictures.is_empty() || has_slice && begins {
            pictures.push(Vec::new());
            has_slice = false;
        }
        has_slice |= matches!(place, UnitPlace::FirstSlice | UnitPlace::Slice);
        if let Some(picture) = pictures.last_mut() {
            picture.push(unit);
        }
    }
    pictures
}

/// Packs the units of a picture into payloads of at most `longest` bytes: small ones together, long
/// ones in fragments.
pub(crate) fn packetize<F: UnitFormat>(units: &[&[u8]], longest: usize) -> Vec<VideoPayload> {
    let longest = longest.max(SHORTEST);
    let mut payloads = Vec::new();
    let mut waiting: Vec<&[u8]> = Vec::new();
    for unit in units.iter().filter(|unit| unit.len() >= F::LEAST_LEN) {
        let length: usize = waiting.iter().map(|unit| unit.len() + LENGTH_LEN).sum();
        if F::HEADER_LEN + length + LENGTH_LEN + unit.len() > longest {
            flush::<F>(&mut waiting, &mut payloads);
        }
        if unit.len() > longest {
            fragment::<F>(unit, longest, &mut payloads);
        } else {
            waiting.push(unit);
        }
    }
    flush::<F>(&mut waiting, &mut payloads);
    payloads
}

/// Writes the waiting units: one as it is, several as an aggregate, exact up to the header of the
/// last, since a wrong length would lose all behind it.
fn flush<F: UnitFormat>(waiting: &mut Vec<&[u8]>, payloads: &mut Vec<VideoPayload>) {
    let units = core::mem::take(waiting);
    let (bytes, exact) = match units[..] {
        [] => return,
        [unit] => (unit.to_vec(), F::exact(unit)),
        _ => {
            let mut bytes = F::aggregate_header(&units);
            let mut until = 0;
            for unit in units {
                bytes.extend((unit.len() as u16).to_be_bytes());
                until = bytes.len() + F::exact(unit);
                bytes.extend(unit);
            }
            (bytes, until)
        }
    };
    payloads.push(VideoPayload { bytes, exact, is_last: false });
}

fn fragment<F: UnitFormat>(unit: &[u8], longest: usize, payloads: &mut Vec<VideoPayload>) {
    let (header, body) = unit.split_at(F::HEADER_LEN);
    let pieces = body.chunks(longest - F::HEADER_LEN - 1);
    let last = pieces.len() - 1;
    let needed = F::exact(unit) - F::HEADER_LEN;
    let mut before = 0;
    for (number, piece) in pieces.enumerate() {
        let mut flags = if number == 0 { START } else { 0 };
        flags |= if number == last { END } else { 0 };
        let mut bytes = F::fragment_header(header, flags);
        let exact = bytes.len() + needed.saturating_sub(before).min(piece.len());
        bytes.extend(piece);
        payloads.push(VideoPayload { bytes, exact, is_last: false });
        before += piece.len();
    }
}
