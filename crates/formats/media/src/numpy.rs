//! The arrays of a NumPy file, one behind the other: headers, which are dictionaries as Python
//! writes them, and numbers.

use core::ops::Range;

mod literal;

use literal::Literal;

/// The first bytes of an array.
const MAGIC: &[u8] = b"\x93NUMPY";
/// The longest text of a header. NumPy itself reads 10 000 bytes unless it is asked for more.
pub(crate) const LONGEST_HEADER: usize = 1 << 16;
/// The most arrays, or pictures, of a file that are told apart.
pub(crate) const MOST_ARRAYS: usize = 4096;
/// The longest name of a type that is kept: `<c16` is a long one.
const LONGEST_KIND: usize = 16;
/// Bytes of a letter in a text of NumPy.
const LETTER: usize = 4;

/// An array of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NumpyArray {
    /// Its header, with the magic bytes.
    pub(crate) header: Range<usize>,
    /// Its numbers, as many of them as the file has.
    pub(crate) numbers: Range<usize>,
    /// The type of its numbers, such as `<f4`; `None` of a record, of a type with a long name, and
    /// of a header that makes no sense.
    pub(crate) kind: Option<String>,
}

/// Returns the arrays of a file in order, and the place behind them: what stands there is no array,
/// or none whose length is known, or arrays beyond [`MOST_ARRAYS`].
pub(crate) fn arrays(bytes: &[u8]) -> (Vec<NumpyArray>, usize) {
    let mut arrays = Vec::new();
    let mut at = 0;
    while arrays.len() < MOST_ARRAYS
        && let Some((text, end)) = header(bytes, at)
    {
        let (kind, length) = match description(text) {
            Some((kind, shape)) => {
                let length = size(&kind, 0).and_then(|size| size.checked_mul(count(&shape)?));
                (kind.into_text().filter(|kind| kind.len() <= LONGEST_KIND), length)
            }
            // No program reads it; where another array begins is to be seen.
            None => (
                None,
                bytes[end..]
                    .windows(MAGIC.len())
                    .position(|it| it == MAGIC)
                    .or(Some(bytes.len() - end)),
            ),
        };
        let until = length.map_or(end, |length| end.saturating_add(length).min(bytes.len()));
        arrays.push(NumpyArray { header: at..end, numbers: end..until, kind });
        at = until;
        if length.is_none() {
            break;
        }
    }
    (arrays, at)
}

/// Returns the text of the header that begins at `at`, and its end.
fn header(bytes: &[u8], at: usize) -> Option<(&[u8], usize)> {
    let rest = bytes.get(at..)?.strip_prefix(MAGIC)?;
    let field = rest.get(2..)?;
    let (begin, length) = match rest[0] {
        1 => (at + 10, u32::from(u16::from_le_bytes(*field.first_chunk()?))),
        2 | 3 => (at + 12, u32::from_le_bytes(*field.first_chunk()?)),
        _ => return None,
    };
    let length = usize::try_from(length).ok().filter(|length| *length <= LONGEST_HEADER)?;
    let end = begin.checked_add(length)?;
    Some((bytes.get(begin..end)?, end))
}

/// Returns the type of the numbers and the shape of the array.
fn description(text: &[u8]) -> Option<(Literal, Literal)> {
    let Literal::Dictionary(pairs) = Literal::parse(text)? else { return None };
    let mut kind = None;
    let mut shape = None;
    for (key, value) in pairs {
        match &key {
            Literal::Text(key) if key == "descr" => kind = Some(value),
            Literal::Text(key) if key == "shape" => shape = Some(value),
            _ => {}
        }
    }
    kind.zip(shape)
}

/// Returns the number of elements of a shape.
fn count(shape: &Literal) -> Option<usize> {
    match shape {
        Literal::Number(number) => Some(*number),
        Literal::Tuple(items) | Literal::List(items) => {
            items.iter().try_fold(1_usize, |product, item| match item {
                Literal::Number(number) => product.checked_mul(*number),
                _ => None,
            })
        }
        _ => None,
    }
}

/// Returns the bytes of an element of a type; `None` if they are not known, as those of objects.
fn size(kind: &Literal, depth: u8) -> Option<usize> {
    if depth > literal::DEEPEST {
        return None;
    }
    match kind {
        Literal::Text(text) => size_of_text(text),
        // A record: the name, the type and perhaps the shape of each field.
        Literal::List(fields) => fields.iter().try_fold(0_usize, |sum, field| {
            let Literal::Tuple(field) = field else { return None };
            let (kind, shape) = match &field[..] {
                [_, kind] => (kind, None),
                [_, kind, shape] => (kind, Some(shape)),
                _ => return None,
            };
            let count = shape.map_or(Some(1), count)?;
            sum.checked_add(size(kind, depth + 1)?.checked_mul(count)?)
        }),
        Literal::Tuple(pair) => match &pair[..] {
            [kind, shape] => size(kind, depth + 1)?.checked_mul(count(shape)?),
            _ => None,
        },
        _ => None,
    }
}

/// Returns the bytes of an element of a plain type: `<f4`, `|S10`, `<M8[ns]`.
fn size_of_text(text: &str) -> Option<usize> {
    let text = text.trim_start_matches(['<', '>', '|', '=']);
    let mut letters = text.chars();
    let letter = letters.next()?;
    let digits = letters.as_str().split('[').next()?;
    let number = digits.parse::<usize>().ok()?;
    match letter {
        'U' => number.checked_mul(LETTER),
        'b' | 'i' | 'u' | 'f' | 'c' | 'S' | 'a' | 'V' | 'M' | 'm' => Some(number),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
