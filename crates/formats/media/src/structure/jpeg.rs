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

/// Ranges in the order of their places, which neither touch nor overlap.
#[derive(Default)]
struct Places(Vec<Range<usize>>);

impl Places {
    /// Adds a range whose end lies behind those before, though its start need not.
    fn add(&mut self, mut range: Range<usize>) {
        while let Some(last) = self.0.pop_if(|last| last.end >= range.start) {
            range = range.start.min(last.start)..range.end.max(last.end);
        }
        self.0.push(range);
    }

    fn overlap(&self, range: &Range<usize>) -> bool {
        let at = self.0.partition_point(|it| it.end <= range.start);
        self.0.get(at).is_some_and(|it| it.start < range.end)
    }
}

/// Returns the damaged ranges that hold a false marker or lack a restart marker.
pub(super) fn intolerable(bytes: &[u8], damaged: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut sorted: Vec<_> = damaged.iter().filter(|range| !range.is_empty()).cloned().collect();
    sorted.sort_by_key(|range| range.start);
    let mut doubtful = Places::default();
    let is_at_start = sorted.first().is_some_and(|range| range.start < 2);
    sorted.into_iter().for_each(|range| doubtful.add(range));
    // What is wrong there.
    let mut wrong = Places::default();
    if bytes.get(1) != Some(&SOI) || is_at_start {
        wrong.add(0..2);
    }
    let mut segments = 2;
    while let Some(scan) = scan_start(bytes, segments) {
        let mut at = scan;
        let mut good = scan;
        let mut expected = 0xd0;
        let after = loop {
            let Some(marker) = next_marker(bytes, at) else {
                wrong.add(good..bytes.len());
                break bytes.len();
            };
            let place = marker.at..marker.at + 2;
            at = place.end;
            if marker.is_restart() && marker.code == expected {
                (good, expected) = (at, 0xd0 + (expected - 0xd0 + 1) % 8);
            } else if doubtful.overlap(&place) {
                wrong.add(place);
            } else if marker.is_restart() {
                // The ones before it are lost, between the last good one and this one.
                wrong.add(good..place.start);
                (good, expected) = (at, 0xd0 + (marker.code - 0xd0 + 1) % 8);
            } else {
                break place.start;
            }
        };
        segments = after;
    }
    damaged.iter().filter(|range| wrong.overlap(range)).cloned().collect()
}
