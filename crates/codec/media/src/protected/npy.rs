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
    /// Bits of the exponent behind the sign; 0 of numbers that have none.
    exponent: u8,
}

impl Split {
    /// Every byte is exact.
    const WHOLE: Self = Self { size: 1, exact: 1, is_big: true, exponent: 0 };

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
        let (size, exact, exponent) = match (letter, size) {
            // A sign, an exponent, and two or seven bits of the fraction, or twelve. There are two
            // formats of 16 bytes, which no header tells apart: they are exact as a whole.
            (Some('f'), 2) => (2, 1, 5),
            (Some('f'), 4) => (4, 2, 8),
            (Some('f'), 8) => (8, 3, 11),
            (Some('c'), 8) => (4, 2, 8),
            (Some('c'), 16) => (8, 3, 11),
            // All but the lowest byte, so that small numbers keep their sign and size.
            (Some('i' | 'u'), 1 | 2 | 4 | 8) => (size, size - 1, 0),
            _ => return Self::WHOLE,
        };
        Self { size, exact, is_big, exponent }
    }

    /// Tells whether a number is a zero or an infinity as far as its exact bytes tell: with others
    /// than zeros behind them it is smaller than the smallest normal number, or none. `number` is
    /// in the order of the file.
    fn is_zero_or_infinity(self, number: &[u8]) -> bool {
        if self.exponent == 0 {
            return false;
        }
        let exact = (0..usize::from(self.exact)).map(|at| number[self.place(at)]);
        let bits = exact.fold(0_u64, |value, byte| value << 8 | u64::from(byte));
        let fraction = 8 * u32::from(self.exact) - 1 - u32::from(self.exponent);
        let most = (1_u64 << self.exponent) - 1;
        let exponent = bits >> fraction & most;
        (exponent == 0 || exponent == most) && bits & ((1 << fraction) - 1) == 0
    }

    /// Tells whether only bytes that are not exact tell that a number is none (NaN): without them
    /// it would be an infinity.
    fn needs_all(self, number: &[u8]) -> bool {
        let mut rest = usize::from(self.exact)..usize::from(self.size);
        let is_zero = number[self.place(0)] & 0x7f == 0;
        self.is_zero_or_infinity(number) && !is_zero && rest.any(|at| number[self.place(at)] != 0)
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
    let mut head = vec![split.size, split.exact, u8::from(split.is_big), split.exponent];
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
        let exact = if numbers.chunks(size).any(|it| split.needs_all(it)) { size } else { exact };
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
    let [size, exact, is_big, exponent, ..] = *fields;
    let split = Split { size, exact, is_big: is_big != 0, exponent };
    let length = fields[4..].iter().fold(0_u64, |value, byte| value << 8 | u64::from(*byte));
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    if split.size == 0
        || split.size > LONGEST_NUMBER
        || split.exact > split.size
        || (split.exponent > 0 && u32::from(split.exponent) >= 8 * u32::from(split.exact))
    {
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
    if part.is_damaged && split.exponent > 0 {
        let rest = usize::from(split.exact)..size;
        for number in into.chunks_exact_mut(size) {
            if split.is_zero_or_infinity(number) {
                rest.clone().for_each(|at| number[split.place(at)] = 0);
            }
        }
    }
}
