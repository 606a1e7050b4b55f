//! The transmissions that are not acknowledged, by position and by time of sending.

use std::collections::VecDeque;

use core::ops::Range;

use windfall_base::{Instant, RangeSet};

/// A piece of the stream that left at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sent {
    pub start: u64,
    pub end: u64,
    pub at: Instant,
    /// It was sent before.
    pub repeated: bool,
    /// The number of the delivery snapshot at transmission, if rates are measured.
    pub then: u32,
}

impl Sent {
    /// Returns whether it was sent after `other`; at equal times, the later position was.
    pub(crate) fn is_after(&self, other: &Self) -> bool {
        (self.at, self.end) > (other.at, other.end)
    }
}

/// The transmissions of a sender.
#[derive(Clone, Debug, Default)]
pub(super) struct Flight {
    /// First transmissions, in the order of positions and of time.
    pub(super) fresh: VecDeque<Sent>,
    /// Retransmissions, in the order of time, until one is acknowledged or judged lost.
    pub(super) again: VecDeque<Sent>,
    /// Everything in flight that was sent more than once.
    pub(super) repeated: RangeSet,
}

impl Flight {
    /// Notes that `range` left at `now`; below `max` it had left before.
    pub(super) fn on_sent(&mut self, now: Instant, range: &Range<u64>, max: u64, then: u32) {
        let Range { start, end } = *range;
        if start < max {
            let end = end.min(max);
            if self.repeated.next_from(start).is_some_and(|known| known.start < end) {
                // Only the latest transmission shows when the data should have arrived.
                self.again.retain(|sent| sent.end <= start || end <= sent.start);
            }
            self.repeated.insert(start..end);
            self.again.push_back(Sent { start, end, at: now, repeated: true, then });
        }
        if end > max {
            let start = start.max(max);
            match self.fresh.back_mut() {
                Some(last) if last.at == now && last.end == start => {
                    (last.end, last.then) = (end, then);
                }
                _ => self.fresh.push_back(Sent { start, end, at: now, repeated: false, then }),
            }
        }
    }

    /// Returns the first and the oldest transmission that may still be asked for.
    pub(super) fn fronts(&self) -> impl Iterator<Item = &Sent> {
        self.fresh.front().into_iter().chain(self.again.front())
    }

    /// Returns the latest transmission of the data in `range`, if it is recorded.
    pub(super) fn latest(&self, range: &Range<u64>) -> Option<Sent> {
        let part = |sent: &Sent| Sent {
            start: sent.start.max(range.start),
            end: sent.end.min(range.end),
            ..*sent
        };
        let last = range.end.checked_sub(1)?;
        let mut latest: Option<Sent> = None;
        let is_repeated = |at: &Range<u64>| at.start < range.end;
        if self.repeated.next_from(range.start).is_some_and(|first| is_repeated(&first)) {
            let overlaps = |sent: &&Sent| sent.start < range.end && range.start < sent.end;
            for sent in self.again.iter().filter(overlaps).map(part) {
                if latest.is_none_or(|latest| sent.is_after(&latest)) {
                    latest = Some(sent);
                }
            }
            if self.repeated.contains(last) {
                return latest;
            }
        }
        let first = self.fresh.front().filter(|sent| last < sent.end);
        let fresh = first.or_else(|| {
            let at = self.fresh.partition_point(|sent| sent.end <= last);
            self.fresh.get(at)
        });
        let fresh = fresh.filter(|sent| sent.start <= last).map(part);
        match (latest, fresh) {
            (Some(latest), Some(fresh)) if latest.is_after(&fresh) => Some(latest),
            (latest, fresh) => fresh.or(latest),
        }
    }

    /// Drops the transmissions below `una`.
    pub(super) fn release(&mut self, una: u64) {
        while self.fresh.front().is_some_and(|sent| sent.end <= una) {
            self.fresh.pop_front();
        }
        if !self.repeated.is_empty() {
            while self.again.front().is_some_and(|sent| sent.end <= una) {
                self.again.pop_front();
            }
            self.repeated.remove(0..una);
        }
    }
}
