//! Units of H.264, and of H.265, which has the same start codes: headers of slices and all other
//! units are exact, the data of slices are not.
//!
//! Slices travel without emulation prevention and get it again when they arrive: a bit error makes
//! no start code then, and shifts nothing.

mod numbers;
mod output;
mod parameters;
mod slice;

use std::collections::BTreeMap;

use super::part::{ArrivedPart, PROTECTED_HEADER_LEN, PartHeader, ProtectedPart, Section};
use super::{ProtectError, ProtectedKind};
use parameters::ParameterSets;

pub use output::h264_output_places;

/// The type of a unit: a slice of another picture, and of one that needs no other.
const SLICES: [u8; 2] = [1, 5];
const TYPE: u8 = 0x1f;
/// Bytes of a slice that are taken for its header if that cannot be read.
const UNREAD_HEADER: usize = 32;
/// Bytes of a slice of H.265 that are taken for its header, which is not read: it names reference
/// pictures, and where the substreams of the slice begin.
const H265_HEADER: usize = 64;
/// Types of units of H.265 that are slices (H.265, table 7-1).
const H265_SLICES: core::ops::Range<u8> = 0..32;
/// A unit that travels without emulation prevention.
const BARE: u8 = 0x80;
/// The most zeros before a start code that are told.
const ZEROS: u8 = 0x7f;

/// Protects the units of a stream as they come.
///
/// [`push`](Self::push) takes units and returns their parts, so that a camera can send them at
/// once. A file is protected by [`protect`](super::protect).
#[derive(Clone, Debug)]
pub struct H264Protector {
    kind: ProtectedKind,
    longest: usize,
    sets: ParameterSets,
    parts: u32,
    units: u32,
}

impl H264Protector {
    /// Begins a stream in parts of at most `longest` bytes.
    ///
    /// # Errors
    /// If `longest` is out of range.
    pub fn new(longest: usize) -> Result<Self, ProtectError> {
        if !(super::SHORTEST_PART..=super::LONGEST_PART).contains(&longest) {
            return Err(ProtectError::Length(longest));
        }
        let kind = ProtectedKind::H264;
        let sets = ParameterSets::default();
        Ok(Self { kind, longest, sets, parts: 0, units: 0 })
    }

    /// Begins a stream of H.265.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn h265(longest: usize) -> Result<Self, ProtectError> {
        Ok(Self { kind: ProtectedKind::H265, ..Self::new(longest)? })
    }

    //= S1.55
    /// Returns the parts of the next units of the stream, such as those of a picture, with their
    /// start codes.
    pub fn push(&mut self, stream: &[u8]) -> Vec<ProtectedPart> {
        let mut parts = Vec::new();
        for (zeros, unit) in units(stream) {
            self.push_unit(zeros, unit, &mut parts);
        }
        parts
    }

    fn push_unit(&mut self, zeros: usize, unit: &[u8], parts: &mut Vec<ProtectedPart>) {
        let most = usize::from(ZEROS);
        if zeros > most {
            // More than the form of a part can tell: they go by themselves.
            self.push_bytes(0, &vec![0; zeros - most], zeros - most, parts);
        }
        if is_empty(unit) {
            self.push_bytes(zeros.min(most) as u8, &[], 0, parts);
            if !unit.is_empty() {
                // Zeros at the end of the stream.
                self.push_bytes(0, unit, unit.len(), parts);
            }
            return;
        }
        let is_h265 = self.kind == ProtectedKind::H265;
        let is_slice = if is_h265 {
            H265_SLICES.contains(&h265_kind(unit[0]))
        } else {
            self.sets.learn(unit);
            SLICES.contains(&(unit[0] & TYPE))
        };
        let bare = without_prevention(unit);
        // What would not come back as it was travels exactly.
        let is_bare = is_slice && with_prevention(&bare) == unit;
        let (bytes, exact) = if is_bare {
            let exact = if is_h265 {
                H265_HEADER
            } else {
                slice::header_len(&bare, &self.sets).unwrap_or(UNREAD_HEADER)
            };
            (&bare[..], exact.min(bare.len()))
        } else {
            (unit, unit.len())
        };
        let form = zeros.min(most) as u8 | if is_bare { BARE } else { 0 };
        self.push_bytes(form, bytes, exact, parts);
    }

    /// Adds the parts of a unit, of which `exact` bytes at the front must be exact.
    fn push_bytes(&mut self, form: u8, bytes: &[u8], exact: usize, parts: &mut Vec<ProtectedPart>) {
        let room = self.longest - PROTECTED_HEADER_LEN;
        // A unit without bytes has one part too.
        let pieces = bytes.chunks(room).chain(bytes.is_empty().then_some(bytes));
        for (at, piece) in pieces.enumerate() {
            let offset = at * room;
            let new = PartHeader::new(self.kind, Section::Body, self.parts);
            let place = u64::from(self.units) << 32 | offset as u64;
            let header = PartHeader { form, place, length: bytes.len() as u32, ..new };
            let (front, rest) = piece.split_at(exact.saturating_sub(offset).min(piece.len()));
            parts.push(header.part(front, rest));
            self.parts = self.parts.wrapping_add(1);
        }
        self.units = self.units.wrapping_add(1);
    }
}

/// Returns the type of a unit of H.265.
const fn h265_kind(first: u8) -> u8 {
    first >> 1 & 0x3f
}

/// Tells whether a stream that begins with this unit is of H.265: parameter sets, a delimiter or
/// supplemental information of the base layer. In H.264 their headers would be those of units that
/// no stream begins with.
pub(super) fn is_h265(unit: &[u8]) -> bool {
    matches!(unit, [first, second, ..] if first & 0x81 == 0
        && matches!(h265_kind(*first), 32..=35 | 39)
        && (1..8).contains(second))
}

pub(super) fn protect(
    kind: ProtectedKind,
    data: &[u8],
    longest: usize,
) -> Result<Vec<ProtectedPart>, ProtectError> {
    let mut protector = H264Protector { kind, ..H264Protector::new(longest)? };
    if units(data).all(|(_, unit)| is_empty(unit)) {
        return Err(ProtectError::Empty);
    }
    Ok(protector.push(data))
}

/// Writes the units that arrived, in order. A slice ends before its first missing part; another
/// unit of which a part is missing is left out.
pub(super) fn restore<'a>(parts: impl Iterator<Item = &'a ArrivedPart>) -> Vec<u8> {
    let mut units: BTreeMap<u32, Vec<&ArrivedPart>> = BTreeMap::new();
    for part in parts {
        units.entry((part.header.place >> 32) as u32).or_default().push(part);
    }
    let mut stream = Vec::new();
    for mut parts in units.into_values() {
        parts.sort_by_key(|part| offset_in_unit(part));
        let header = parts[0].header;
        let mut unit = Vec::new();
        for part in parts {
            if offset_in_unit(part) == unit.len() {
                unit.extend(part.content());
            }
        }
        let is_bare = header.form & BARE != 0;
        let length = header.length as usize;
        if unit.is_empty() && length > 0 || !is_bare && unit.len() < length {
            continue;
        }
        if !is_bare && !unit.is_empty() && is_empty(&unit) {
            // Zeros before a start code, more than it can tell itself.
            stream.extend(unit);
            continue;
        }
        stream.resize(stream.len() + usize::from(header.form & ZEROS), 0);
        stream.extend([0, 0, 1]);
        if is_bare {
            stream.extend(with_prevention(&unit));
        } else {
            stream.extend(unit);
        }
    }
    stream
}

/// Returns the offset of a part inside its unit: the lower 32 bits of its place.
fn offset_in_unit(part: &ArrivedPart) -> usize {
    (part.header.place & u64::from(u32::MAX)) as usize
}

/// Tells whether a unit has no bytes but zeros, which belong to the next start code.
fn is_empty(unit: &[u8]) -> bool {
    unit.iter().all(|byte| *byte == 0)
}

/// Returns the units of a stream, empty ones too, each with the number of zeros before its start
/// code of three bytes. Zeros at the end belong to the last unit.
fn units(stream: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let mut codes = Vec::new();
    let mut at = 0;
    while let Some(window) = stream.get(at..at + 3) {
        if window == [0, 0, 1] {
            codes.push(at);
            at += 3;
        } else {
            at += 1;
        }
    }
    let ends = codes.iter().skip(1).copied().map(|end| (end, true));
    let ends: Vec<_> = ends.chain([(stream.len(), false)]).collect();
    let first = codes.first().copied().unwrap_or(0);
    let mut zeros = stream[..first].iter().rev().take_while(|byte| **byte == 0).count();
    codes.into_iter().zip(ends).map(move |(code, (end, is_followed))| {
        let unit = &stream[code + 3..end];
        // A unit ends with a bit 1.
        let length = unit.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        let before = core::mem::replace(&mut zeros, unit.len() - length);
        let unit = if is_followed { &unit[..length] } else { unit };
        (before, unit)
    })
}

/// Removes the bytes 3 that keep a unit from holding a start code.
fn without_prevention(unit: &[u8]) -> Vec<u8> {
    let mut bare = Vec::with_capacity(unit.len());
    let mut zeros = 0;
    for byte in unit {
        if zeros == 2 && *byte == 3 {
            zeros = 0;
            continue;
        }
        zeros = if *byte == 0 { (zeros + 1).min(2) } else { 0 };
        bare.push(*byte);
    }
    bare
}

/// Adds the bytes 3 that keep a unit from holding a start code (H.264, section 7.4.1).
fn with_prevention(bare: &[u8]) -> Vec<u8> {
    let mut unit = Vec::with_capacity(bare.len() + bare.len() / 64);
    let mut zeros = 0;
    for byte in bare {
        if zeros == 2 && *byte <= 3 {
            unit.push(3);
            zeros = 0;
        }
        zeros = if *byte == 0 { zeros + 1 } else { 0 };
        unit.push(*byte);
    }
    unit
}

#[cfg(test)]
mod tests;
