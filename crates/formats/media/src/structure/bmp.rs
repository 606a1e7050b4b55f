//! The bitmap files of Windows: headers with the palette, and the pixels.

use core::ops::Range;

use super::{Ranges, little};

/// The lengths of the second header in all versions of the format.
const HEADERS: [usize; 7] = [12, 40, 52, 56, 64, 108, 124];
/// Length of the first header.
const FILE_HEADER: usize = 14;

/// Tells whether a file is one: its two magic letters alone begin many texts.
pub(super) fn is_bmp(bytes: &[u8]) -> bool {
    bytes.starts_with(b"BM") && little(bytes, FILE_HEADER).is_some_and(|it| HEADERS.contains(&it))
}

/// Length of the second header that may tell of a colour profile, and the places in it: of the
/// space of colours, of where the profile begins from this header on, and of its length.
const WITH_PROFILE: usize = 124;
const SPACE: usize = 56;
const PROFILE: usize = 112;
const PROFILE_LEN: usize = 116;
/// The spaces of colours that are a profile in the file, or the name of one: `MBED`, `LINK`.
const PROFILES: [&[u8]; 2] = [b"DEBM", b"KNIL"];

/// Finds everything before the pixels, and the colour profile, which may stand behind them.
pub(super) fn exact(bytes: &[u8], found: &mut Ranges) {
    found.push(front(bytes));
    if let Some(profile) = profile(bytes) {
        found.push(profile);
    }
}

/// Returns the place of the colour profile.
fn profile(bytes: &[u8]) -> Option<Range<usize>> {
    let header = bytes.get(FILE_HEADER..)?;
    let has_one = little(header, 0)? == WITH_PROFILE
        && PROFILES.iter().any(|it| header.get(SPACE..).is_some_and(|rest| rest.starts_with(it)));
    let place = little(header, PROFILE).filter(|_| has_one)?;
    let begin = FILE_HEADER.saturating_add(place).min(bytes.len());
    Some(begin..begin.saturating_add(little(header, PROFILE_LEN)?).min(bytes.len()))
}

/// Returns everything before the pixels.
fn front(bytes: &[u8]) -> Range<usize> {
    let pixels = little(bytes, 10).unwrap_or(bytes.len());
    // A file whose pixels begin within its headers is broken, and keeps them.
    let headers = FILE_HEADER.saturating_add(little(bytes, FILE_HEADER).unwrap_or(0));
    0..pixels.max(headers).min(bytes.len())
}
