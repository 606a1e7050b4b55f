//! A token bucket, which limits the rate of ICMP errors.

use windfall_base::{Duration, Instant};

/// A token bucket: allows a burst at once, and then one message per interval.
#[derive(Clone, Debug)]
pub(crate) struct Limiter {
    burst: u64,
    interval: Duration,
    tokens: u64,
    since: Instant,
}

impl Limiter {
    /// Creates a full bucket of `burst` tokens that gains one every `interval`.
    #[must_use]
    pub(crate) fn new(burst: u64, interval: Duration) -> Self {
        Self { burst, interval, tokens: burst, since: Instant::START }
    }

    /// Takes a token, if there is one.
    pub(crate) fn take(&mut self, now: Instant) -> bool {
        let interval = self.interval.as_nanos().max(1);
        let gained = now.saturating_since(self.since).as_nanos() / interval;
        self.since += Duration::from_nanos(gained * interval);
        self.tokens = self.tokens.saturating_add(gained).min(self.burst);
        let taken = self.tokens > 0;
        self.tokens -= u64::from(taken);
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_passes_and_then_one_every_interval() {
        let mut limiter = Limiter::new(3, Duration::from_millis(100));
        let passed = |limiter: &mut Limiter, ms: u64| {
            let now = Instant::START + Duration::from_millis(ms);
            (0..10).filter(|_| limiter.take(now)).count()
        };
        assert_eq!(passed(&mut limiter, 0), 3);
        assert_eq!(passed(&mut limiter, 99), 0);
        assert_eq!(passed(&mut limiter, 100), 1);
        assert_eq!(passed(&mut limiter, 350), 2);
        assert_eq!(passed(&mut limiter, 400), 1);
        assert_eq!(passed(&mut limiter, 1_000_000), 3);
    }
}
