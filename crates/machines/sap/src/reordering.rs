//! The adaptive reordering window: how much later than its successors a packet may arrive.
//!
//! On a path that keeps order, three later packets or an eighth of a round trip indicate a loss
//! (RFC 9002, section 6.1). After a packet has arrived out of order, only the time threshold
//! applies. The reordering window is then the measured delay beyond the usual round trip. RFC 8985,
//! section 6.2, adapts it in steps of a quarter of the minimum RTT instead.

use windfall_base::Duration;

/// The arrivals for which an observation is kept: it counts in this span and in the next one.
const SPAN: u32 = 2048;

/// The delay of packets that arrived out of order, beyond the usual round trip.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reordering {
    /// The longest delay in this span of arrivals, and in the one before.
    now: Option<Duration>,
    before: Option<Duration>,
    arrivals: u32,
}

impl Reordering {
    /// Notes that a packet has arrived out of order, `extra` after the usual round trip.
    pub(crate) fn observe(&mut self, extra: Duration) {
        self.now = self.now.max(Some(extra));
    }

    /// Notes arrivals: old observations expire.
    pub(crate) fn on_arrivals(&mut self, count: usize) {
        self.arrivals = self.arrivals.saturating_add(count as u32);
        if self.arrivals >= SPAN {
            *self = Self { now: None, before: self.now, arrivals: 0 };
        }
    }

    /// Returns the reordering window, at most `most`; `None` if packets keep their order.
    pub(crate) fn extra(&self, most: Duration) -> Option<Duration> {
        // The longest delay so far is rarely the longest of all, so add a quarter.
        self.now.max(self.before).map(|extra| (extra * 5 / 4).min(most))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    #[test]
    fn the_longest_of_the_last_arrivals_counts_and_a_quarter_of_it() {
        let mut reordering = Reordering::default();
        assert_eq!(reordering.extra(MS(100)), None);
        for extra in [8, 40, 16] {
            reordering.observe(MS(extra));
        }
        assert_eq!(reordering.extra(MS(100)), Some(MS(50)));
        assert_eq!(reordering.extra(MS(30)), Some(MS(30)));
    }

    #[test]
    fn what_was_seen_is_forgotten_after_two_spans_in_order() {
        let mut reordering = Reordering::default();
        reordering.observe(MS(40));
        reordering.on_arrivals(2048);
        reordering.observe(MS(8));
        assert_eq!(reordering.extra(MS(100)), Some(MS(50)));
        reordering.on_arrivals(2048);
        assert_eq!(reordering.extra(MS(100)), Some(MS(10)));
        reordering.on_arrivals(2048);
        assert_eq!(reordering.extra(MS(100)), None);
    }
}
