//! The smoothed round-trip time and the retransmission timeout (RFC 6298).

use windfall_base::{Duration, Instant, SmoothedRtt};

/// The estimator of the round-trip time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rtt {
    smoothed: SmoothedRtt,
    least: Option<Duration>,
    latest: Duration,
    /// The minimum samples of the last intervals, each an eighth of a round trip or more, with
    /// their start times; the latest first.
    pieces: [(Instant, Duration); PIECES],
}

/// The shortest round trips of a path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RoundTrips {
    /// The minimum of all samples.
    pub(crate) least: Duration,
    /// The minimum of the last round trip. A standing queue raises all samples of a round trip, a
    /// burst only some.
    pub(crate) recent: Duration,
}

/// The number of intervals that are kept: a little more than a round trip.
const PIECES: usize = 10;
/// The number of intervals that count however old they are.
const LEAST_PIECES: usize = 4;

impl Rtt {
    /// Adds a sample whose acknowledgement the peer delayed by `delay`. Returns the adjusted sample
    /// (RFC 9002, section 5.3).
    pub(crate) fn learn(&mut self, now: Instant, sample: Duration, delay: Duration) -> Duration {
        let least = self.least.map_or(sample, |least| least.min(sample));
        self.least = Some(least);
        // A delay that leaves less than the smallest sample is not credible.
        let sample = sample.saturating_sub(delay).max(least);
        self.latest = sample;
        self.smoothed.sample(sample);
        let (begun, lowest) = self.pieces[0];
        let piece = self.smoothed.mean().unwrap_or_default() / 8;
        if lowest == Duration::ZERO || now.saturating_since(begun) >= piece {
            self.pieces.rotate_right(1);
            self.pieces[0] = (now, sample);
        } else {
            self.pieces[0].1 = lowest.min(sample);
        }
        sample
    }

    /// Returns the smoothed round-trip time, once there is a sample.
    pub(crate) fn smoothed(&self) -> Option<Duration> {
        self.smoothed.mean()
    }

    /// Returns the minimum sample of all, and that of the last round trip.
    pub(crate) fn least_and_recent(&self, now: Instant) -> RoundTrips {
        let span = self.smoothed.mean().unwrap_or_default();
        let of_round = self.pieces.iter().enumerate().filter(|(place, (begun, sample))| {
            *sample > Duration::ZERO
                && (*place < LEAST_PIECES || now.saturating_since(*begun) <= span)
        });
        let recent = of_round.map(|(_, (_, sample))| *sample).min();
        RoundTrips { least: self.least.unwrap_or_default(), recent: recent.unwrap_or(self.latest) }
    }

    /// Returns the retransmission timeout if the peer may delay an acknowledgement by `delay`.
    pub(crate) fn timeout(&self, delay: Duration) -> Option<Duration> {
        let slack = (self.smoothed.variation() * 4).max(Duration::from_millis(1));
        self.smoothed.mean().map(|mean| mean + slack + delay)
    }

    /// Returns the time threshold: how much older than an acknowledged packet another may become
    /// before it is declared lost (RFC 9002, section 6.1.2). `extra` is the reordering observed on
    /// the path.
    pub(crate) fn reordering(&self, extra: Option<Duration>) -> Option<Duration> {
        let base = self.usual()?;
        let late = base + (base / 8).max(extra.unwrap_or_default());
        Some(late.max(Duration::from_millis(1)))
    }

    /// Returns the round-trip time that packets are compared with: the larger of the latest sample
    /// and the mean.
    pub(crate) fn usual(&self) -> Option<Duration> {
        Some(self.smoothed.mean()?.max(self.latest))
    }

    /// Adds the sample of a packet that arrived out of order. Without it the estimate would count
    /// only packets that overtook others, and be too small.
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
            rtt.learn(Instant::START, Duration::from_millis(30), Duration::ZERO);
        }
        let timeout = rtt.timeout(Duration::from_millis(5)).expect("measured");
        assert!(timeout >= Duration::from_millis(35) && timeout < Duration::from_millis(40));
        rtt.learn(Instant::START, Duration::from_millis(50), Duration::from_millis(20));
        assert_eq!(rtt.latest, Duration::from_millis(30), "the delay is not the path's");
    }

    #[test]
    fn a_queue_makes_all_samples_of_a_round_trip_longer_a_burst_only_some() {
        let mut rtt = Rtt::default();
        let mut recent = [30, 30, 40, 44, 60, 40, 44, 60, 40, 44].into_iter().zip(1..);
        let mut learn = |(millis, number): (u64, u64)| {
            let now = Instant::START + Duration::from_millis(10 * number);
            rtt.learn(now, Duration::from_millis(millis), Duration::ZERO);
            rtt.least_and_recent(now).recent.as_millis()
        };
        let burst: Vec<_> = recent.by_ref().take(5).map(&mut learn).collect();
        assert_eq!(burst, [30; 5]);
        let queue: Vec<_> = recent.map(&mut learn).collect();
        assert_eq!(queue.last(), Some(&40));
    }

    #[test]
    fn a_packet_may_be_an_eighth_of_a_round_trip_later_or_what_the_path_has_shown() {
        let ms = Duration::from_millis;
        let mut rtt = Rtt::default();
        assert_eq!((rtt.reordering(None), rtt.usual(), rtt.smoothed()), (None, None, None));
        rtt.learn(Instant::START, ms(80), Duration::ZERO);
        assert_eq!(rtt.usual(), Some(ms(80)));
        assert_eq!(rtt.reordering(None), Some(ms(90)));
        assert_eq!(rtt.reordering(Some(ms(9))), Some(ms(90)));
        assert_eq!(rtt.reordering(Some(ms(11))), Some(ms(91)));
        // RFC 6298: the mean, four times the variation of half the first sample, and the delay.
        assert_eq!(rtt.timeout(ms(7)), Some(ms(80 + 4 * 40 + 7)));
        // The longer one of the last sample and the mean counts (RFC 9002, section 6.1.2).
        rtt.learn(Instant::START, ms(160), Duration::ZERO);
        assert_eq!((rtt.smoothed(), rtt.usual()), (Some(ms(90)), Some(ms(160))));
        rtt.learn_overtaken(ms(90));
        assert_eq!((rtt.smoothed(), rtt.usual()), (Some(ms(90)), Some(ms(160))));
        let mut short = Rtt::default();
        short.learn(Instant::START, Duration::from_micros(80), Duration::ZERO);
        assert_eq!(short.reordering(None), Some(ms(1)));
    }

    #[test]
    fn a_delay_that_leaves_less_than_the_least_round_trip_is_not_believed() {
        let ms = Duration::from_millis;
        let mut rtt = Rtt::default();
        assert_eq!(rtt.learn(Instant::START, ms(50), ms(20)), ms(50));
        assert_eq!(rtt.learn(Instant::START, ms(70), ms(10)), ms(60));
        assert_eq!(rtt.learn(Instant::START, ms(70), ms(40)), ms(50));
        assert_eq!(rtt.least_and_recent(Instant::START).least, ms(50));
    }
}
