//! Ogg (RFC 3533): pages with a checksum each.

use core::ops::Range;

use super::{Ranges, join_closest};

/// The length of a page's header without its table of segments.
const HEADER: usize = 27;
/// The position of the checksum in the header.
const CHECK: usize = 22;
/// The first pages, which describe the streams: two of Opus (RFC 7845), three of Vorbis.
const DESCRIPTION: usize = 3;

/// A page: its header and all of it.
struct Page {
    header: Range<usize>,
    whole: Range<usize>,
}

/// Returns the pages in order, up to the first place where none begins.
fn pages(bytes: &[u8]) -> impl Iterator<Item = Page> + '_ {
    let mut at = 0;
    core::iter::from_fn(move || {
        let rest = bytes.get(at..)?;
        let segments = usize::from(*rest.get(HEADER - 1)?);
        let table = rest.get(HEADER..HEADER + segments).filter(|_| rest.starts_with(b"OggS"))?;
        let header = at..at + HEADER + segments;
        let body: usize = table.iter().map(|length| usize::from(*length)).sum();
        let whole = at..(header.end + body).min(bytes.len());
        at = whole.end;
        Some(Page { header, whole })
    })
}

/// Finds the first pages and the headers of all others.
pub(super) fn exact(bytes: &[u8], found: &mut Ranges) {
    let mut end = 0;
    for (number, page) in pages(bytes).enumerate() {
        end = page.whole.end;
        found.push(if number < DESCRIPTION { page.whole } else { page.header });
    }
    found.push(end..bytes.len());
}

/// Writes the checksums of the damaged pages anew.
pub(super) fn restore_checks(bytes: &mut [u8], damaged: &[Range<usize>]) {
    let mut damaged = damaged.to_vec();
    damaged.sort_unstable_by_key(|it| it.start);
    let damaged = join_closest(damaged, usize::MAX);
    // Both may be very many: each page looks at the first range that ends behind its beginning.
    let overlaps = |page: &Page| {
        let next = damaged.partition_point(|it| it.end <= page.whole.start);
        damaged.get(next).is_some_and(|it| it.start < page.whole.end)
    };
    let pages: Vec<_> = pages(bytes).filter(overlaps).collect();
    for page in pages {
        let page = &mut bytes[page.whole];
        page[CHECK..CHECK + 4].fill(0);
        let check = checksum(page);
        page[CHECK..CHECK + 4].copy_from_slice(&check.to_le_bytes());
    }
}

/// The CRC of Ogg: polynomial 0x04c11db7, not reflected, from 0 on.
pub(super) fn checksum(page: &[u8]) -> u32 {
    page.iter().fold(0, |sum: u32, byte| {
        (0..8).fold(sum ^ u32::from(*byte) << 24, |sum, _| {
            let carry = if sum >> 31 == 1 { 0x04c1_1db7 } else { 0 };
            sum << 1 ^ carry
        })
    })
}
