//! The portable bitmaps, graymaps and pixmaps (PBM, PGM, PPM, PAM): a header in text, and samples,
//! as bytes or as text. In text every byte counts: a wrong one makes a number another, or none.

use super::Ranges;
use crate::numpy::{LONGEST_HEADER, MOST_ARRAYS};

/// The line that ends the header of a PAM.
const PAM_END: &[u8] = b"ENDHDR";

/// Finds the headers of all pictures, and what is behind them and no picture. From a picture in
/// text on, and after very many pictures, everything is exact.
pub(super) fn exact(bytes: &[u8], found: &mut Ranges) {
    let mut start = 0;
    let mut at = 0;
    for _ in 0..MOST_ARRAYS {
        let Some(header) = header(&bytes[at..]) else { break };
        let begin = at + header.length;
        // Samples in text have no length that a header tells.
        let Some(end) = header.samples.and_then(|samples| begin.checked_add(samples)) else {
            break;
        };
        found.push(start..begin);
        start = end.min(bytes.len());
        // Programs pass white space between pictures.
        let is_space = |byte: &&u8| byte.is_ascii_whitespace();
        at = start + bytes[start..].iter().take_while(is_space).count();
        if at == bytes.len() {
            return;
        }
    }
    found.push(start..bytes.len());
}

/// Tells whether a file is one: `P1` to `P6` and two or three numbers, or a header of PAM.
pub(super) fn is_pnm(bytes: &[u8]) -> bool {
    header(bytes).is_some()
}

/// Returns the first sample of a picture in text that is above the greatest of its header, and that
/// one.
pub(crate) fn oversized_sample(bytes: &[u8]) -> Option<(u64, u64)> {
    let (length, numbers) = numbers(bytes)?;
    let [width, height, most] = numbers[..] else { return None };
    let of_pixel = match bytes[1] {
        b'2' => 1,
        b'3' => 3,
        _ => return None,
    };
    let count = width.saturating_mul(height).saturating_mul(of_pixel);
    let words = bytes[length..].split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let samples = words.take(count).map_while(|word| core::str::from_utf8(word).ok()?.parse().ok());
    let most = most as u64;
    samples.into_iter().find(|sample| *sample > most).map(|sample| (sample, most))
}

/// The header of a picture.
struct Header {
    length: usize,
    /// The bytes of the samples behind it; `None` if they are text, or have no length.
    samples: Option<usize>,
}

fn header(bytes: &[u8]) -> Option<Header> {
    let bytes = &bytes[..bytes.len().min(LONGEST_HEADER)];
    if bytes.starts_with(b"P7\n") {
        let mut length = 0;
        let mut lines = bytes.split_inclusive(|byte| *byte == b'\n');
        let end = lines.find(|line| {
            length += line.len();
            line.trim_ascii() == PAM_END
        })?;
        let is_whole = end.ends_with(b"\n");
        let samples = pam_samples(&bytes[..length - end.len()]);
        return is_whole.then_some(Header { length, samples });
    }
    let (length, numbers) = numbers(bytes)?;
    let samples = match (bytes[1], &numbers[..]) {
        (b'4', [width, height]) => width.div_ceil(8).checked_mul(*height),
        (b'5', [width, height, most]) => samples_of([*width, *height, 1], *most),
        (b'6', [width, height, most]) => samples_of([*width, *height, 3], *most),
        _ => None,
    };
    Some(Header { length, samples })
}

/// Returns the bytes of samples that are at most `most`.
fn samples_of(sizes: [usize; 3], most: usize) -> Option<usize> {
    let of_one = if most > 255 { 2 } else { 1 };
    sizes.into_iter().try_fold(of_one, usize::checked_mul)
}

/// Returns the bytes of the samples by the lines of a PAM.
fn pam_samples(header: &[u8]) -> Option<usize> {
    let text = core::str::from_utf8(header).ok()?;
    let number = |name: &str| {
        let mut lines = text.lines().map(str::split_whitespace);
        let mut line = lines.find(|words| words.clone().next() == Some(name))?;
        line.nth(1)?.parse::<usize>().ok()
    };
    samples_of([number("WIDTH")?, number("HEIGHT")?, number("DEPTH")?], number("MAXVAL")?)
}

/// Returns the length of the header and its numbers: apart by white space and comments from `#` to
/// the end of the line, and one more white space.
fn numbers(bytes: &[u8]) -> Option<(usize, Vec<usize>)> {
    // Width and height, and unless samples are bits the greatest sample.
    let numbers = match bytes {
        [b'P', b'1' | b'4', ..] => 2,
        [b'P', b'2' | b'3' | b'5' | b'6', ..] => 3,
        _ => return None,
    };
    let mut at = 2;
    let mut found = Vec::new();
    for _ in 0..numbers {
        let after = space(bytes, at)?;
        at = after + bytes[after..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        // No picture is larger than any number.
        let digits = core::str::from_utf8(&bytes[after..at]).ok().filter(|it| !it.is_empty())?;
        found.push(digits.parse().unwrap_or(usize::MAX));
    }
    let after = comments(bytes, at)?;
    let has_space = bytes.get(after).is_some_and(u8::is_ascii_whitespace);
    // Netpbm itself takes the end of a comment's line for the white space, if there is no other.
    (has_space || after > at).then_some((after + usize::from(has_space), found))
}

/// Returns the place behind comments, each up to the end of its line.
fn comments(bytes: &[u8], mut at: usize) -> Option<usize> {
    while bytes.get(at) == Some(&b'#') {
        at += bytes[at..].iter().position(|byte| matches!(byte, b'\n' | b'\r'))?;
        at += if bytes[at..].starts_with(b"\r\n") { 2 } else { 1 };
    }
    Some(at)
}

/// Returns the place behind white space and comments, of which there is some.
fn space(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        match bytes.get(at)? {
            b'#' => at = comments(bytes, at)?,
            byte if byte.is_ascii_whitespace() => at += 1,
            _ => return (at > from).then_some(at),
        }
    }
}
