//! The smoothed round-trip time and the retransmission timeout (RFC 6298).

use windfall_base::{Duration, SmoothedRtt};

/// The estimator of the round-trip time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rtt {
    smoothed: SmoothedRtt,
    least: Option<Duration>,
    latest: Duration,
    /// The samples before the latest.
    before: [Duration; 3],
}

impl Rtt {
    /// Adds a sample, of which the peer delayed its acknowledgement by `delay`; returns it without
    /// the delay.
    pub(crate) fn learn(&mut self, sample: Duration, delay: Duration) -> Duration {
        let least = self.least.map_or(sample, |least| least.min(sample));
        self.least = Some(least);
        // A delay that leaves less than the smallest sample is not credible.
        let sample = sample.saturating_sub(delay).max(least);
        let [first, second, _] = self.before;
        self.before = [self.latest, first, second];
        self.latest = sample;
        self.smoothed.sample(sample);
        sample
    }

    /// Returns the smoothed round-trip time, once there is a sample.
    pub(crate) fn smoothed(&self) -> Option<Duration> {
        self.smoothed.mean()
    }

    /// Returns the smallest sample of all, and of the last four: a queue makes all of them longer,
    /// a burst only some.
    pub(crate) fn least_and_recent(&self) -> (Duration, Duration) {
        let recent = self.before.into_iter().fold(self.latest, Duration::min);
        (self.least.unwrap_or_default(), recent)
    }

    /// Returns the retransmission timeout if the peer may delay an acknowledgement by `delay`.
    pub(crate) fn timeout(&self, delay: Duration) -> Option<Duration> {
        let slack = (self.smoothed.variation() * 4).max(Duration::from_millis(1));
        self.smoothed.mean().map(|mean| mean + slack + delay)
    }

    /// Returns how much later than its successors a packet may arrive before it counts as lost.
    /// `extra` is what the path has shown.
    pub(crate) fn reordering(&self, extra: Option<Duration>) -> Option<Duration> {
        let base = self.usual()?;
        let late = base + (base / 8).max(extra.unwrap_or_default());
        Some(late.max(Duration::from_millis(1)))
    }

    /// Returns the round-trip time that a packet is measured by, once there is a sample.
    pub(crate) fn usual(&self) -> Option<Duration> {
        Some(self.smoothed.mean()?.max(self.latest))
    }

    /// Adds the sample of a packet that arrived behind later ones: those that overtake others say
    /// too little of the round trip.
    pub(crate) fn learn_overtaken(&mut self, sample: Duration) {
        self.smoothed.sample(sample);
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
        assert_eq!(rtt.latest, Duration::from_millis(30), "the delay is not the path's");
    }

    #[test]
    fn a_queue_makes_four_round_trips_longer() {
        let mut rtt = Rtt::default();
        let recent = [30, 40, 45, 50, 60, 35].map(|millis| {
            rtt.learn(Duration::from_millis(millis), Duration::ZERO);
            rtt.least_and_recent().1
        });
        assert_eq!(recent[3..], [30, 40, 35].map(Duration::from_millis));
    }
}
