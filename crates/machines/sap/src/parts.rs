//! Reassembly of approximate messages that are longer than a datagram.

use std::collections::BTreeMap;

use core::ops::Range;

use bytes::BytesMut;
use windfall_base::{Duration, Instant, RangeSet};
use windfall_wire_net::sap::Part;

use crate::budget::{BEGUN, weight};
use crate::encode::complement;
use crate::message::{Integrity, Received};
use crate::pieces::is_within;

/// The shortest time for which an incomplete approximate message waits for another part.
const LEAST: Duration = Duration::from_millis(100);
/// The longest time for which it waits for another part.
const MOST: Duration = Duration::from_secs(2);

/// A message of which parts have arrived.
#[derive(Clone, Debug)]
pub(crate) struct Assembly {
    total: usize,
    /// The parts by their offset.
    parts: BTreeMap<usize, Received>,
    have: RangeSet<u64>,
    /// The bytes charged for the parts.
    bytes: usize,
    /// The time of the last part.
    pub(crate) at: Instant,
    /// Some of the parts were retransmitted.
    pub(crate) repeats: bool,
}

impl Assembly {
    pub(crate) fn new(total: usize, now: Instant) -> Self {
        let parts = BTreeMap::new();
        let have = RangeSet::default();
        Self { total, parts, have, bytes: 0, at: now, repeats: false }
    }

    /// Returns whether a part belongs to the same message, and is within it.
    pub(crate) fn admits(&self, part: Part, len: usize) -> bool {
        is_within(part, len, self.total)
    }

    /// Adds a part that overlaps none that has arrived.
    pub(crate) fn add(&mut self, now: Instant, offset: usize, part: Received) {
        self.have.insert(offset as u64..(offset + part.data.len()) as u64);
        self.bytes += weight(part.data.len());
        self.parts.insert(offset, part);
        self.at = now;
    }

    /// Returns the memory that the message takes after `len` more bytes have arrived, as the
    /// receive buffer counts it: that of its parts, and of the zeros that are delivered with them.
    pub(crate) fn charge(&self, len: Option<usize>, most_missing: usize) -> usize {
        let arrived = self.arrived() + len.unwrap_or(0);
        let parts = BEGUN + self.bytes + len.map_or(0, weight);
        parts + if self.suffices(arrived, most_missing) { self.total - arrived } else { 0 }
    }

    /// Returns whether enough has arrived to be delivered: one of `most_missing` bytes.
    pub(crate) fn is_deliverable(&self, most_missing: usize) -> bool {
        self.suffices(self.arrived(), most_missing)
    }

    fn suffices(&self, arrived: usize, most_missing: usize) -> bool {
        arrived.saturating_mul(most_missing) >= self.total
    }

    fn arrived(&self) -> usize {
        self.have.total() as usize
    }

    /// Returns the number of its parts that have arrived.
    pub(crate) fn parts(&self) -> usize {
        self.parts.len()
    }

    /// Returns whether a part overlaps one that has arrived.
    pub(crate) fn overlaps(&self, offset: usize, len: usize) -> bool {
        self.have.count_within(offset as u64..(offset + len) as u64) > 0
    }

    pub(crate) fn is_complete(&self) -> bool {
        self.have.total() == self.total as u64
    }

    /// Returns the message; the ranges of which nothing has arrived are zeros.
    pub(crate) fn finish(self) -> Option<Received> {
        let missing = self.have.gaps(0..self.total as u64);
        let missing = missing.map(|gap| gap.start as usize..gap.end as usize).collect();
        let first = self.parts.values().next()?.clone();
        let mut data = BytesMut::with_capacity(self.total);
        let mut exact = Vec::new();
        let mut suspect = Vec::new();
        let mut unknown = Vec::new();
        for (offset, part) in self.parts {
            data.resize(offset, 0);
            data.extend_from_slice(&part.data);
            let shift = |range: Range<usize>| range.start + offset..range.end + offset;
            match part.integrity {
                Integrity::Intact => {}
                Integrity::Suspect(ranges) => suspect.extend(ranges.into_iter().map(shift)),
                Integrity::Unknown => {
                    let open = complement(&part.exact, part.data.len());
                    unknown.extend(open.into_iter().map(shift));
                }
            }
            exact.extend(part.exact.into_iter().map(shift));
        }
        data.resize(self.total, 0);
        let integrity = integrity(suspect, unknown);
        Some(Received { data: data.freeze(), exact: touching(exact), integrity, missing, ..first })
    }
}

/// Returns the integrity of a message. If some bytes are suspect, bytes without any check are
/// suspect too.
fn integrity(mut suspect: Vec<Range<usize>>, unknown: Vec<Range<usize>>) -> Integrity {
    match (suspect.is_empty(), unknown.is_empty()) {
        (true, true) => Integrity::Intact,
        (true, false) => Integrity::Unknown,
        (false, _) => {
            suspect.extend(unknown);
            suspect.sort_by_key(|range| range.start);
            Integrity::Suspect(touching(suspect))
        }
    }
}

/// Joins sorted ranges that touch.
fn touching(ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    let mut joined: Vec<Range<usize>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match joined.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ => joined.push(range),
        }
    }
    joined
}

/// The denominator of the decay: each part reduces the remembered delay by one part in this number.
const FADE: u64 = 1024;

/// The time between the parts of approximate messages, and the delay of reordered parts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rhythm {
    apart: Duration,
    /// The longest delay of a packet that arrived after one sent later; it decays.
    disorder: Duration,
}

impl Default for Rhythm {
    fn default() -> Self {
        Self { apart: LEAST, disorder: Duration::ZERO }
    }
}

impl Rhythm {
    /// Records the time between two parts of a message.
    pub(crate) fn learn(&mut self, apart: Duration) {
        let mean = Duration::from_nanos((7 * self.apart.as_nanos() + apart.as_nanos()) / 8);
        self.apart = mean.min(MOST);
        self.disorder = self.disorder.saturating_sub(self.disorder / FADE);
    }

    /// Records that a packet arrived `late` after one that was sent later.
    pub(crate) fn observe_disorder(&mut self, late: Duration) {
        self.disorder = self.disorder.max(late.min(MOST));
    }

    /// Returns the longest delay of a reordered packet, after decay.
    pub(crate) fn disorder(&self) -> Duration {
        self.disorder
    }

    /// Returns the time to wait for the next part, on a path with this round trip. A part may
    /// overtake the others by up to a one-way delay, and the others follow one after another.
    pub(crate) fn patience(&self, round_trip: Duration) -> Duration {
        let late = (self.disorder * 5 / 4).max(round_trip * 5 / 4);
        (self.apart * 4).max(late).clamp(LEAST, MOST)
    }
}

#[cfg(test)]
mod tests;
