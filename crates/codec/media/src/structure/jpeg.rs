//! JPEG (ITU-T T.81, annex B): segments with tables, and entropy-coded data between them.

use core::ops::Range;

use super::Ranges;

const SOI: u8 = 0xd8;
const EOI: u8 = 0xd9;
const SOS: u8 = 0xda;

/// A marker within entropy-coded data: 0xff and a byte that is neither 0 nor 0xff.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Marker {
    at: usize,
    code: u8,
}

impl Marker {
    fn is_restart(self) -> bool {
        matches!(self.code, 0xd0..=0xd7)
    }
}

/// Returns the next marker in entropy-coded data.
fn next_marker(bytes: &[u8], from: usize) -> Option<Marker> {
    let mut at = from;
    loop {
        at += bytes.get(at..)?.iter().position(|byte| *byte == 0xff)?;
        match *bytes.get(at + 1)? {
            0 => at += 2,
            0xff => at += 1,
            code => return Some(Marker { at, code }),
        }
    }
}

/// Returns the end of the segments from `at` on, which is where entropy-coded data begin; `None`
/// at the end of the picture or where the structure ends.
fn scan_start(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        let [0xff, code, high, low] = *bytes.get(at..)?.first_chunk::<4>()? else { return None };
        if code == EOI {
            return None;
        }
        at += 2 + usize::from(u16::from_be_bytes([high, low]));
        if code == SOS {
            return (at <= bytes.len()).then_some(at);
        }
    }
}

/// Finds everything that is not entropy-coded: segments, and markers if there is room for them.
pub(super) fn exact(bytes: &[u8], found: &mut Ranges) {
    find(bytes, true, found);
    if found.is_exceeded() {
        found.clear();
        find(bytes, false, found);
    }
}

/// Finds segments and perhaps restart markers, until there is no room for the markers.
fn find(bytes: &[u8], with_restarts: bool, found: &mut Ranges) {
    let mut segments = 2;
    let mut start = 0;
    while let Some(scan) = scan_start(bytes, segments) {
        found.push(start..scan);
        let mut at = scan;
        let after = loop {
            let Some(marker) = next_marker(bytes, at) else { return };
            if !marker.is_restart() {
                break marker.at;
            }
            if with_restarts {
                found.push(marker.at..marker.at + 2);
                if found.is_exceeded() {
                    return;
                }
            }
            at = marker.at + 2;
        };
        (start, segments) = (after, after);
    }
    found.push(start..bytes.len());
}

/// Returns the damaged ranges that hold a false marker or lack a restart marker.
pub(super) fn intolerable(bytes: &[u8], damaged: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut found = vec![false; damaged.len()];
    let overlaps =
        |range: &Range<usize>, of: &Range<usize>| range.start < of.end && of.start < range.end;
    let mut blame = |place: Range<usize>| {
        for (range, found) in damaged.iter().zip(&mut found) {
            *found |= overlaps(range, &place);
        }
    };
    let is_damaged = |place: Range<usize>| damaged.iter().any(|it| overlaps(it, &place));
    let mut segments = 2;
    while let Some(scan) = scan_start(bytes, segments) {
        let (mut at, mut good, mut expected) = (scan, scan, 0xd0);
        let after = loop {
            let Some(marker) = next_marker(bytes, at) else {
                blame(good..bytes.len());
                break bytes.len();
            };
            let place = marker.at..marker.at + 2;
            at = place.end;
            if marker.is_restart() && marker.code == expected {
                (good, expected) = (at, 0xd0 + (expected - 0xd0 + 1) % 8);
            } else if is_damaged(place.clone()) {
                blame(place);
            } else if marker.is_restart() {
                // The ones before it are lost, between the last good one and this one.
                blame(good..place.start);
                (good, expected) = (at, 0xd0 + (marker.code - 0xd0 + 1) % 8);
            } else {
                break place.start;
            }
        };
        segments = after;
    }
    if bytes.get(1) != Some(&SOI) || damaged.iter().any(|it| it.start < 2) {
        blame(0..2);
    }
    damaged.iter().zip(found).filter(|(_, found)| *found).map(|(range, _)| range.clone()).collect()
}
