//! The round trip, smoothed (RFC 6298), and the time to wait that follows from it.

use windfall_base::Duration;

/// What is known of the round trip.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rtt {
    smoothed: Option<Duration>,
    variation: Duration,
    least: Option<Duration>,
    latest: Duration,
}

impl Rtt {
    /// Learns from one round trip of `sample`, in which the other end waited for `delay`.
    pub(crate) fn learn(&mut self, sample: Duration, delay: Duration) {
        let least = self.least.map_or(sample, |least| least.min(sample));
        self.least = Some(least);
        // The other end cannot have waited so long that less than the least remains.
        let sample = sample.saturating_sub(delay).max(least);
        self.latest = sample;
        let Some(smoothed) = self.smoothed else {
            self.smoothed = Some(sample);
            self.variation = sample / 2;
            return;
        };
        let error = smoothed.saturating_sub(sample).max(sample.saturating_sub(smoothed));
        self.variation = self.variation * 3 / 4 + error / 4;
        self.smoothed = Some(smoothed * 7 / 8 + sample / 8);
    }

    /// The smoothed round trip, once one was measured.
    pub(crate) fn smoothed(&self) -> Option<Duration> {
        self.smoothed
    }

    /// The least round trip and the latest.
    pub(crate) fn least_and_latest(&self) -> (Duration, Duration) {
        (self.least.unwrap_or_default(), self.latest)
    }

    /// How long to wait for an acknowledgement that the other end may delay by `delay`.
    pub(crate) fn timeout(&self, delay: Duration) -> Option<Duration> {
        let slack = (self.variation * 4).max(Duration::from_millis(1));
        self.smoothed.map(|smoothed| smoothed + slack + delay)
    }

    /// How much later than its successors a packet may come without being lost.
    pub(crate) fn reordering(&self) -> Option<Duration> {
        let base = self.smoothed?.max(self.latest);
        Some((base * 9 / 8).max(Duration::from_millis(1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steady_samples_bring_the_timeout_near_the_round_trip() {
        let mut rtt = Rtt::default();
        assert_eq!(rtt.timeout(Duration::ZERO), None);
        for _ in 0..100 {
            rtt.learn(Duration::from_millis(30), Duration::ZERO);
        }
        let timeout = rtt.timeout(Duration::from_millis(5)).expect("measured");
        assert!(timeout >= Duration::from_millis(35) && timeout < Duration::from_millis(40));
        rtt.learn(Duration::from_millis(50), Duration::from_millis(20));
        assert_eq!(
            rtt.least_and_latest().1,
            Duration::from_millis(30),
            "the delay is not the path's"
        );
    }
}
