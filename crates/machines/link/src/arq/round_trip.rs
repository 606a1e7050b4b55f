//! The retransmission timeout of the link, computed as in TCP (RFC 6298, section 2).

use windfall_base::{Duration, SmoothedRtt};

/// The timeout before the first measurement.
const INITIAL: Duration = Duration::from_millis(200);
/// The margin above the estimate, for links whose round-trip time hardly varies.
const MARGIN: Duration = Duration::from_millis(1);
/// The maximum interval between probes, unless the round-trip time is longer.
const LONGEST: Duration = Duration::from_secs(1);

/// The round-trip time of a link, and the number of timeouts since the last measurement.
#[derive(Debug, Default)]
pub(crate) struct RoundTrip {
    smoothed: SmoothedRtt,
    /// Timeouts since the last report.
    backoff: u32,
}

impl RoundTrip {
    pub(crate) fn is_measured(&self) -> bool {
        self.smoothed.mean().is_some()
    }

    /// Returns the smoothed round-trip time; `None` before the first measurement.
    pub(crate) fn mean(&self) -> Option<Duration> {
        self.smoothed.mean()
    }

    pub(crate) fn sample(&mut self, time: Duration) {
        self.backoff = 0;
        self.smoothed.sample(time);
    }

    /// Records that a report is overdue, and doubles the timeout.
    pub(crate) fn back_off(&mut self) {
        self.backoff = (self.backoff + 1).min(16);
    }

    /// Returns the timeout for the report of a transmission.
    pub(crate) fn patience(&self) -> Duration {
        let variation = self.smoothed.variation().saturating_mul(4);
        let base = self
            .smoothed
            .mean()
            .map_or(INITIAL, |mean| mean.saturating_add(variation).saturating_add(MARGIN));
        base.saturating_mul(1 << self.backoff).min(base.max(LONGEST))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(samples: &[u64]) -> RoundTrip {
        let mut round_trip = RoundTrip::default();
        samples.iter().for_each(|ms| round_trip.sample(Duration::from_millis(*ms)));
        round_trip
    }

    fn micros(round_trip: &RoundTrip) -> u64 {
        round_trip.patience().as_micros()
    }

    #[test]
    fn patience_is_the_mean_and_four_times_its_variation() {
        // RFC 6298, section 2, and a margin of 1 ms.
        assert_eq!(micros(&after(&[])), 200_000);
        assert_eq!(micros(&after(&[100])), 100_000 + 4 * 50_000 + 1_000);
        assert_eq!(micros(&after(&[100, 60])), 95_000 + 4 * 47_500 + 1_000);
        assert_eq!(micros(&after(&[100, 60, 140])), 100_625 + 4 * 46_875 + 1_000);
    }

    #[test]
    fn patience_doubles_with_each_wait_in_vain_up_to_a_second() {
        let mut round_trip = after(&[100]);
        for expected in [301_000, 602_000, 1_000_000, 1_000_000] {
            assert_eq!(micros(&round_trip), expected);
            round_trip.back_off();
        }
        round_trip.sample(Duration::from_millis(100));
        assert_eq!(micros(&round_trip), 100_000 + 4 * 37_500 + 1_000);
        // One round trip may take longer than that.
        let mut long = after(&[2_000]);
        for _ in 0..40 {
            assert_eq!(micros(&long), 6_001_000);
            long.back_off();
        }
    }
}
