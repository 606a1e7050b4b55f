//! MP4 (ISO/IEC 14496-12): boxes, of which `mdat` holds the samples.

use super::{Ranges, big};

/// The length of a box's size and type.
const HEADER: usize = 8;

/// Finds everything but the samples.
pub(super) fn exact(bytes: &[u8], found: &mut Ranges) {
    let mut start = 0;
    let mut at = 0;
    while let (Some(size), Some(name)) = (big(bytes, at), bytes.get(at + 4..at + HEADER)) {
        let (header, size) = match size {
            0 => (HEADER, bytes.len() - at),
            1 => match (big(bytes, at + 8), big(bytes, at + 12)) {
                (Some(0), Some(size)) => (2 * HEADER, size),
                _ => (2 * HEADER, bytes.len() - at),
            },
            size => (HEADER, size),
        };
        if size < header {
            break;
        }
        let end = at.saturating_add(size).min(bytes.len());
        if name == b"mdat" {
            found.push(start..(at + header).min(end));
            start = end;
        }
        at = end;
    }
    found.push(start..bytes.len());
}
