//! Arrays of NumPy: signs, exponents and high bytes are exact, the rest of each number is not.

use super::part::{
    ArrivedPart, PROTECTED_HEADER_LEN, PartHeader, ProtectedPart, Section, head_parts,
};
use super::{ProtectError, ProtectedKind};

/// Bytes before the header of the array in the head: how its numbers are split, and the length of
/// its data.
const SPLIT_LEN: usize = 12;
/// Bytes of the longest number.
const LONGEST_NUMBER: u8 = 16;

/// The way in which each number is split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Split {
    /// Bytes of a number.
    size: u8,
    /// Bytes of it that are exact: the most significant ones.
    exact: u8,
    /// The most significant byte comes first.
    is_big: bool,
}

impl Split {
    /// Every byte is exact.
    const WHOLE: Self = Self { size: 1, exact: 1, is_big: true };

    /// Returns the split for a type of NumPy, such as `<f4`.
    fn of(kind: &str) -> Self {
        let mut letters = kind.chars();
        let (order, letter) = (letters.next(), letters.next());
        let size: u8 = letters.as_str().parse().unwrap_or(0);
        let is_big = match order {
            Some('>') => true,
            Some('<' | '|') => false,
            _ => return Self::WHOLE,
        };
        let exact = match (letter, size) {
            // A sign, an exponent, and two or seven bits of the fraction, or twelve.
            (Some('f'), 2) => 1,
            (Some('f'), 4) => 2,
            (Some('f'), 8) => 3,
            // A sign and an exponent in two bytes, and one of the fraction.
            (Some('f'), 16) => return Self { size, exact: 9, is_big },
            (Some('c'), 8) => return Self { size: 4, exact: 2, is_big },
            (Some('c'), 16) => return Self { size: 8, exact: 3, is_big },
            // All but the lowest byte, so that small numbers keep their sign and size.
            (Some('i' | 'u'), 1 | 2 | 4 | 8) => size - 1,
            _ => return Self::WHOLE,
        };
        Self { size, exact, is_big }
    }

    /// The place of byte `at` of a number, the most significant one first.
    fn place(self, at: usize) -> usize {
        if self.is_big { at } else { usize::from(self.size) - 1 - at }
    }
}

/// Returns the length of the header, and how the numbers behind it are split.
fn header(data: &[u8]) -> Option<(usize, Split)> {
    let field = data.get(8..)?;
    let (begin, length) = match data.get(6)? {
        1 => (10, u32::from(u16::from_le_bytes(*field.first_chunk()?))),
        2 | 3 => (12, u32::from_le_bytes(*field.first_chunk()?)),
        _ => return None,
    };
    let end = usize::try_from(length).ok()?.checked_add(begin)?;
    let text = core::str::from_utf8(data.get(begin..end)?).ok()?;
    let (_, value) = text.split_once("'descr'")?;
    let value = value.trim_start().strip_prefix(':')?.trim_start();
    // What is no plain type, such as a record, is a list.
    let kind = value.strip_prefix('\'').and_then(|rest| rest.split_once('\''));
    Some((end, kind.map_or(Split::WHOLE, |(kind, _)| Split::of(kind))))
}

pub(super) fn protect(data: &[u8], longest: usize) -> Result<Vec<ProtectedPart>, ProtectError> {
    let (end, split) = header(data).ok_or(ProtectError::Array)?;
    let (begin, numbers) = data.split_at(end);
    let mut head = vec![split.size, split.exact, u8::from(split.is_big), 0];
    head.extend((numbers.len() as u64).to_be_bytes());
    head.extend(begin);
    let mut parts = head_parts(ProtectedKind::Npy, &head, longest);
    let (size, exact) = (usize::from(split.size), usize::from(split.exact));
    let room = (longest - PROTECTED_HEADER_LEN) / size;
    let (whole, tail) = numbers.split_at(numbers.len() / size * size);
    for (at, numbers) in whole.chunks(room * size).enumerate() {
        let plane = |bytes: core::ops::Range<usize>| -> Vec<u8> {
            bytes
                .flat_map(|at| numbers.iter().skip(split.place(at)).step_by(size).copied())
                .collect()
        };
        let number = parts.len() as u32;
        let place = (at * room * size) as u64;
        let new = PartHeader::new(ProtectedKind::Npy, Section::Body, number);
        let header = PartHeader { place, length: numbers.len() as u32, ..new };
        parts.push(header.part(&plane(0..exact), &plane(exact..size)));
    }
    if !tail.is_empty() {
        // A file that was cut off within a number.
        let number = parts.len() as u32;
        let new = PartHeader::new(ProtectedKind::Npy, Section::Body, number);
        let header = PartHeader { place: whole.len() as u64, length: tail.len() as u32, ..new };
        parts.push(header.part(tail, &[]));
    }
    Ok(parts)
}

/// Puts the numbers that arrived behind the header; others are zeros.
pub(super) fn restore<'a>(
    head: &[u8],
    body: impl Iterator<Item = &'a ArrivedPart>,
    most: usize,
) -> Result<Vec<u8>, ProtectError> {
    let (fields, begin) = head.split_first_chunk::<SPLIT_LEN>().ok_or(ProtectError::Array)?;
    let split = Split { size: fields[0], exact: fields[1], is_big: fields[2] != 0 };
    let length = fields[4..].iter().fold(0_u64, |value, byte| value << 8 | u64::from(*byte));
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    if split.size == 0 || split.size > LONGEST_NUMBER || split.exact > split.size {
        return Err(ProtectError::Array);
    }
    let end = begin.len().checked_add(length).filter(|end| *end <= most);
    let mut file = begin.to_vec();
    file.resize(end.ok_or(ProtectError::Memory(most))?, 0);
    for part in body {
        let place = usize::try_from(part.header.place).unwrap_or(usize::MAX);
        let until = place.saturating_add(part.header.length as usize);
        let Some(into) = file[begin.len()..].get_mut(place..until) else { continue };
        put(split, part, into);
    }
    Ok(file)
}

/// Puts the bytes of a part where they belong: its planes, the most significant first.
fn put(split: Split, part: &ArrivedPart, into: &mut [u8]) {
    let size = usize::from(split.size);
    let count = into.len() / size;
    if count == 0 {
        // The rest of a file that was cut off within a number.
        let length = into.len().min(part.exact().len());
        into[..length].copy_from_slice(&part.exact()[..length]);
        return;
    }
    for (at, plane) in part.content().chunks(count).take(size).enumerate() {
        for (number, byte) in plane.iter().enumerate() {
            into[number * size + split.place(at)] = *byte;
        }
    }
}
