//! WAV: chunks, of which one holds the samples.

use core::ops::Range;

use super::little;

/// The length of a chunk's name and length.
const HEADER: usize = 8;

/// Returns everything but the samples.
pub(super) fn exact(bytes: &[u8]) -> Vec<Range<usize>> {
    let (mut exact, mut start, mut at) = (Vec::new(), 0, 12);
    while let (Some(name), Some(length)) = (bytes.get(at..at + 4), little(bytes, at + 4)) {
        let samples = at + HEADER..(at + HEADER).saturating_add(length).min(bytes.len());
        if name == b"data" {
            exact.push(start..samples.start);
            start = samples.end;
        }
        // A chunk of odd length is padded.
        at = samples.end + length % 2;
    }
    exact.push(start..bytes.len());
    exact
}
