//! The array files of NumPy: a header in text, and the numbers.

use core::ops::Range;

use super::little;

/// Returns the header.
pub(super) fn exact(bytes: &[u8]) -> Vec<Range<usize>> {
    let end = match bytes.get(6) {
        Some(1) => little(bytes, 8).map(|length| 10 + length % 65_536),
        _ => little(bytes, 8).map(|length| length.saturating_add(12)),
    };
    core::iter::once(0..end.unwrap_or(bytes.len()).min(bytes.len())).collect()
}
