//! The portable pixmaps and graymaps (PPM, PGM) whose samples are bytes: a header in text, and the
//! samples.

use core::ops::Range;

/// Numbers in a header: width, height, and the greatest sample.
const NUMBERS: usize = 3;

/// Returns the header, if it is one.
pub(super) fn exact(bytes: &[u8]) -> Vec<Range<usize>> {
    header(bytes).map(|end| 0..end).into_iter().collect()
}

/// Tells whether a file is one: `P5` or `P6`, and three numbers.
pub(super) fn is_pnm(bytes: &[u8]) -> bool {
    header(bytes).is_some()
}

/// Returns the length of the header: numbers apart by white space and comments from `#` to the
/// end of the line, and one more white space.
fn header(bytes: &[u8]) -> Option<usize> {
    let mut at = 2;
    (bytes.starts_with(b"P5") || bytes.starts_with(b"P6")).then_some(())?;
    for _ in 0..NUMBERS {
        let after = space(bytes, at)?;
        at = after + bytes[after..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        (at > after).then_some(())?;
    }
    bytes.get(at).filter(|byte| byte.is_ascii_whitespace()).map(|_| at + 1)
}

/// Returns the place behind white space and comments, of which there is some.
fn space(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        match bytes.get(at)? {
            b'#' => at += bytes[at..].iter().position(|byte| *byte == b'\n')?,
            byte if byte.is_ascii_whitespace() => at += 1,
            _ => return (at > from).then_some(at),
        }
    }
}
