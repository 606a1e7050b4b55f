//! Arrays of NumPy: signs, exponents and high bytes are exact, the rest of each number is not.

use core::ops::Range;

use super::part::{
    ArrivedPart, PROTECTED_HEADER_LEN, PartHeader, ProtectedPart, Section, head_parts,
};
use super::room::Room;
use super::{ProtectError, ProtectedKind};
use crate::numpy::{NumpyArray, arrays};

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
        let order = letters.next();
        let letter = letters.next();
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

pub(super) fn protect(data: &[u8], longest: usize) -> Result<Vec<ProtectedPart>, ProtectError> {
    let (arrays, _) = arrays(data);
    // What is no plain type, such as a record, is exact.
    let first = arrays.first().ok_or(ProtectError::Array)?;
    let end = first.header.end;
    let split = split_of(first);
    let (begin, numbers) = data.split_at(end);
    let mut head = vec![split.size, split.exact, u8::from(split.is_big), split.exponent];
    head.extend((numbers.len() as u64).to_be_bytes());
    head.extend(begin);
    let parts = head_parts(ProtectedKind::Npy, &head, longest);
    let mut cut = Cut { split, numbers, room: longest - PROTECTED_HEADER_LEN, parts };
    // What is behind the numbers of the first array is exact, but for numbers of the same type.
    let mut at = end;
    for array in arrays.iter().filter(|it| split_of(it) == split) {
        cut.push(at - end..array.numbers.start - end, true);
        cut.push(array.numbers.start - end..array.numbers.end - end, false);
        at = array.numbers.end;
    }
    cut.push(at - end..numbers.len(), true);
    Ok(cut.parts)
}

/// Returns how the elements of an array are split into parts.
fn split_of(it: &NumpyArray) -> Split {
    it.kind.as_deref().map_or(Split::WHOLE, Split::of)
}

/// The parts of what is behind the first header.
struct Cut<'a> {
    split: Split,
    numbers: &'a [u8],
    /// The most bytes of a part behind its header.
    room: usize,
    parts: Vec<ProtectedPart>,
}

impl Cut<'_> {
    /// Adds the parts of a range, which are exact as a whole or at the front.
    fn push(&mut self, range: Range<usize>, is_exact: bool) {
        let split = self.split;
        let size = usize::from(split.size);
        let exact = usize::from(split.exact);
        let exact = if is_exact { size } else { exact };
        let step = self.room / size * size;
        let (whole, tail) = self.numbers[range.clone()].split_at(range.len() / size * size);
        for (at, numbers) in whole.chunks(step).enumerate() {
            let plane = |bytes: Range<usize>| -> Vec<u8> {
                bytes
                    .flat_map(|at| numbers.iter().skip(split.place(at)).step_by(size).copied())
                    .collect()
            };
            let exact =
                if numbers.chunks(size).any(|it| split.needs_all(it)) { size } else { exact };
            let header = self.header(range.start + at * step, numbers.len());
            self.parts.push(header.part(&plane(0..exact), &plane(exact..size)));
        }
        if !tail.is_empty() {
            // Less than a number: the file was cut off, or text stands there.
            let header = self.header(range.start + whole.len(), tail.len());
            self.parts.push(header.part(tail, &[]));
        }
    }

    /// The header of the next part.
    fn header(&self, place: usize, length: usize) -> PartHeader {
        let new = PartHeader::new(ProtectedKind::Npy, Section::Body, self.parts.len() as u32);
        PartHeader { place: place as u64, length: length as u32, ..new }
    }
}

/// Puts the numbers that arrived behind the header; others are zeros.
pub(super) fn restore<'a>(
    head: &[u8],
    body: impl Iterator<Item = &'a ArrivedPart>,
    room: Room,
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
    let end = begin.len().saturating_add(length);
    room.check(end)?;
    let mut file = begin.to_vec();
    file.resize(end, 0);
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
        // Those of which nothing arrived are zeros.
        for number in into.chunks_exact_mut(size).take(part.content().len()) {
            if split.is_zero_or_infinity(number) {
                rest.clone().for_each(|at| number[split.place(at)] = 0);
            }
        }
    }
}
