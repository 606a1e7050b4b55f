//! Spreads a window over its round trip, so that it does not arrive at a queue all at once.

use windfall_base::{Duration, Instant};

/// Time whose bytes may go out at once: systems send in batches.
const BURST: Duration = Duration::from_millis(2);

/// Credit that grows with time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pacer {
    /// Bytes that may go out now; negative after a burst.
    credit: f64,
    refilled: Option<Instant>,
}

impl Pacer {
    /// Fills up for the time since the last call; `rate` is in bytes a second.
    pub(crate) fn refill(&mut self, now: Instant, rate: f64, size: usize) {
        let most = (rate * BURST.as_secs_f64()).max(10.0 * size as f64);
        self.credit = match self.refilled {
            None => most,
            Some(before) => {
                (self.credit + rate * now.saturating_since(before).as_secs_f64()).min(most)
            }
        };
        self.refilled = Some(now);
    }

    /// Whether something may go out; otherwise how long to wait at `rate`.
    pub(crate) fn wait(&self, rate: f64) -> Option<Duration> {
        (self.credit < 0.0).then(|| Duration::from_secs_f64(-self.credit / rate).max(NANO))
    }

    /// `bytes` went out.
    pub(crate) fn spend(&mut self, bytes: usize) {
        self.credit -= bytes as f64;
    }
}

const NANO: Duration = Duration::from_nanos(1);

#[cfg(test)]
mod tests {
    use super::*;

    /// Datagrams of 1 000 bytes that go out at once at `rate`, after a long pause.
    fn burst(rate: f64) -> usize {
        let mut pacer = Pacer::default();
        for now in [Instant::START, Instant::START + Duration::from_secs(9)] {
            pacer.refill(now, rate, 1_000);
        }
        (0..)
            .take_while(|_| {
                let goes = pacer.wait(rate).is_none();
                pacer.spend(1_000);
                goes
            })
            .count()
    }

    #[test]
    fn two_milliseconds_may_go_out_at_once_and_ten_datagrams_in_any_case() {
        // One more: the credit may be overdrawn by the last.
        assert_eq!(burst(1e6), 11);
        assert_eq!(burst(1e8), 201);
    }

    #[test]
    fn what_was_overdrawn_is_waited_for() {
        let mut pacer = Pacer::default();
        pacer.refill(Instant::START, 1e6, 1_000);
        pacer.spend(12_500);
        // 2 500 bytes beyond the ten datagrams, at a byte each microsecond.
        let wait = pacer.wait(1e6).expect("overdrawn");
        assert_eq!(wait, Duration::from_micros(2_500));
        pacer.refill(Instant::START + wait, 1e6, 1_000);
        assert_eq!(pacer.wait(1e6), None);
    }

    #[test]
    fn over_a_second_it_lets_out_what_the_rate_allows() {
        let mut pacer = Pacer::default();
        let (mut now, mut sent) = (Instant::START, 0);
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
