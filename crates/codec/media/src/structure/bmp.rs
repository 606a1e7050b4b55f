//! The bitmap files of Windows: headers with the palette, and the pixels.

use core::ops::Range;

use super::little;

/// The lengths of the second header in all versions of the format.
const HEADERS: [usize; 7] = [12, 40, 52, 56, 64, 108, 124];
/// Length of the first header.
const FILE_HEADER: usize = 14;

/// Tells whether a file is one: its two magic letters alone begin many texts.
pub(super) fn is_bmp(bytes: &[u8]) -> bool {
    bytes.starts_with(b"BM") && little(bytes, FILE_HEADER).is_some_and(|it| HEADERS.contains(&it))
}

/// Returns everything before the pixels.
pub(super) fn exact(bytes: &[u8]) -> Range<usize> {
    let pixels = little(bytes, 10).unwrap_or(bytes.len());
    // A file whose pixels begin within its headers is broken, and keeps them.
    let headers = FILE_HEADER.saturating_add(little(bytes, FILE_HEADER).unwrap_or(0));
    0..pixels.max(headers).min(bytes.len())
}
