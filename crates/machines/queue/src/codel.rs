//! Controlled delay (RFC 8289): drops at the head while the sojourn time stays above the target.

use windfall_base::{Duration, Instant};

use crate::management::CodelConfig;

/// Up to this backlog there is no standing queue: one Ethernet frame (MAXPACKET of RFC 8289).
const LONGEST_PACKET: usize = 1_514;
/// A new dropping state soon after the last one, in intervals, continues the count of that one.
const RECENT: u64 = 16;

/// The state of a queue under controlled delay, with the names of the RFC's pseudocode.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Codel {
    config: CodelConfig,
    /// The time at which the sojourn time will have been above the target for an interval; `None`
    /// while it is below.
    first_above: Option<Instant>,
    dropping: bool,
    /// The time of the next drop.
    drop_next: Instant,
    /// The number of drops in this dropping state.
    count: u32,
    last_count: u32,
    /// The last packet was dropped. The next drop is scheduled if the sojourn time of its successor
    /// is above the target.
    has_dropped: bool,
}

impl Codel {
    pub(crate) fn new(config: CodelConfig) -> Self {
        Self {
            config,
            first_above: None,
            dropping: false,
            drop_next: Instant::START,
            count: 0,
            last_count: 0,
            has_dropped: false,
        }
    }

    /// Returns the parameters.
    pub(crate) fn config(&self) -> CodelConfig {
        self.config
    }

    /// Notes that the queue is empty.
    pub(crate) fn run_empty(&mut self) {
        self.first_above = None;
        self.dropping = false;
        self.has_dropped = false;
    }

    /// Returns whether to drop or mark the packet that leaves now. `wait` is its sojourn time, and
    /// `left` bytes stay in the queue.
    pub(crate) fn judge(&mut self, now: Instant, wait: Duration, left: usize) -> bool {
        let above = self.is_above(now, wait, left);
        if !self.dropping {
            if above {
                self.begin(now);
            }
            return above;
        }
        if !above {
            self.dropping = false;
            self.has_dropped = false;
            return false;
        }
        if core::mem::take(&mut self.has_dropped) {
            self.drop_next = self.after(self.drop_next);
        }
        if now < self.drop_next {
            return false;
        }
        self.count = self.count.saturating_add(1);
        self.has_dropped = true;
        true
    }

    /// Returns whether the sojourn time has been above the target for an interval.
    fn is_above(&mut self, now: Instant, wait: Duration, left: usize) -> bool {
        if wait < self.config.target || left <= LONGEST_PACKET {
            self.first_above = None;
            return false;
        }
        let first_above = *self.first_above.get_or_insert(now + self.config.interval);
        now >= first_above
    }

    /// Enters the dropping state.
    fn begin(&mut self, now: Instant) {
        self.dropping = true;
        let since = self.count.saturating_sub(self.last_count);
        let is_recent =
            now.saturating_since(self.drop_next) < self.config.interval * RECENT && self.count > 0;
        self.count = if since > 1 && is_recent { since } else { 1 };
        self.drop_next = self.after(now);
        self.last_count = self.count;
    }

    /// The control law of RFC 8289: the interval between drops shrinks with the square root of
    /// their count.
    fn after(&self, time: Instant) -> Instant {
        let gap = self.config.interval.as_nanos() as f64 / f64::from(self.count).sqrt();
        time + Duration::from_nanos(gap as u64)
    }
}

#[cfg(test)]
mod tests;
