//! Pacing: spreads a window over its round trip.

use windfall_base::{Duration, Instant};

/// The length of a burst: operating systems send in batches.
const BURST: Duration = Duration::from_millis(2);
/// The fewest datagrams in a burst.
const BURST_DATAGRAMS: f64 = 2.0;

/// A token bucket that fills with time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pacer {
    /// The number of bytes that may be sent now; negative after a burst.
    credit: f64,
    refilled: Option<Instant>,
}

impl Pacer {
    /// Refills the bucket for the time since the last call; `rate` is in bytes per second.
    pub(crate) fn refill(&mut self, now: Instant, rate: f64, size: usize) {
        let most = (rate * BURST.as_secs_f64()).max(BURST_DATAGRAMS * size as f64);
        self.credit = match self.refilled {
            None => most,
            Some(before) => {
                (self.credit + rate * now.saturating_since(before).as_secs_f64()).min(most)
            }
        };
        self.refilled = Some(now);
    }

    /// Returns the waiting time at `rate`, or `None` if a packet may be sent now.
    pub(crate) fn wait(&self, rate: f64) -> Option<Duration> {
        (self.credit < 0.0).then(|| Duration::from_secs_f64(-self.credit / rate).max(NANO))
    }

    /// Takes `bytes` from the bucket.
    pub(crate) fn spend(&mut self, bytes: usize) {
        self.credit -= bytes as f64;
    }
}

const NANO: Duration = Duration::from_nanos(1);

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the number of datagrams of 1 000 bytes in one burst at `rate`, after a long pause.
    fn burst(rate: f64) -> usize {
        let mut pacer = Pacer::default();
        for now in [Instant::START, Instant::START + Duration::from_secs(9)] {
            pacer.refill(now, rate, 1_000);
        }
        (0..)
            .take_while(|_| {
                let permitted = pacer.wait(rate).is_none();
                pacer.spend(1_000);
                permitted
            })
            .count()
    }

    #[test]
    fn a_burst_is_two_milliseconds_or_two_datagrams() {
        // One more, since the last one may overdraw the bucket.
        assert_eq!(burst(1e6), 3);
        assert_eq!(burst(1e8), 201);
    }

    #[test]
    fn an_overdrawn_bucket_must_refill() {
        let mut pacer = Pacer::default();
        pacer.refill(Instant::START, 1e6, 1_000);
        pacer.spend(12_500);
        // 10 500 bytes more than two datagrams, at one byte per microsecond.
        let wait = pacer.wait(1e6).expect("overdrawn");
        assert_eq!(wait, Duration::from_micros(10_500));
        pacer.refill(Instant::START + wait, 1e6, 1_000);
        assert_eq!(pacer.wait(1e6), None);
    }

    #[test]
    fn the_rate_holds_over_a_second() {
        let mut pacer = Pacer::default();
        let mut now = Instant::START;
        let mut sent = 0;
        while now < Instant::START + Duration::from_secs(1) {
            pacer.refill(now, 1e6, 1000);
            match pacer.wait(1e6) {
                Some(wait) => now += wait,
                None => {
                    pacer.spend(1000);
                    sent += 1000;
                }
            }
        }
        assert!((1_000_000..=1_012_000).contains(&sent), "{sent}");
    }
}
