//! The retransmission timeout: RFC 6298, with a settable minimum and a clock that may tick slowly.

use windfall_base::{Duration, Instant, SmoothedRtt};

/// The parameters of the retransmission timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeoutConfig {
    /// Before the first measurement (RFC 6298, 2.1).
    pub initial: Duration,
    /// Never below this (RFC 6298, 2.4); S3.15 sweeps it.
    //= S3.15
    pub minimum: Duration,
    /// Never above this (RFC 6298, 2.5).
    pub maximum: Duration,
    /// The period of the clock that measures and fires; zero means an exact clock.
    pub tick: Duration,
    /// Estimation in whole ticks, in fixed point as 4.4BSD did; needs a tick.
    pub in_ticks: bool,
}

impl Default for TimeoutConfig {
    /// Returns what today's systems do: 1 s at first, 200 ms to 60 s, an exact clock.
    fn default() -> Self {
        Self {
            initial: Duration::from_secs(1),
            minimum: Duration::from_millis(200),
            maximum: Duration::from_secs(60),
            tick: Duration::ZERO,
            in_ticks: false,
        }
    }
}

impl TimeoutConfig {
    /// Returns the number of whole ticks that have passed by `at`.
    const fn ticks(&self, at: Instant) -> u64 {
        at.as_nanos() / self.tick.as_nanos()
    }

    /// Returns when a timer set at `now` for `span` fires: with ticks, at the tick that makes the
    /// span full.
    #[must_use]
    pub fn deadline(&self, now: Instant, span: Duration) -> Instant {
        if self.tick == Duration::ZERO {
            return now.saturating_add(span);
        }
        let period = self.tick.as_nanos();
        let ticks = self.ticks(now) + span.as_nanos().div_ceil(period).max(1);
        Instant::from_nanos(ticks.saturating_mul(period))
    }

    /// Returns the time between two instants as this clock sees it.
    #[must_use]
    pub fn between(&self, from: Instant, to: Instant) -> Duration {
        if self.tick == Duration::ZERO {
            return to.saturating_since(from);
        }
        self.tick * self.ticks(to).saturating_sub(self.ticks(from))
    }
}

/// The estimator of 4.4BSD: whole ticks, three bits of fraction for the mean, two for the
/// variation.
///
/// Its rounding never lets the variation fall below three quarters of a tick, so that a round trip
/// far below one tick has a timeout of three (S3.15).
//= S3.15
#[derive(Clone, Debug)]
struct Ticks {
    smoothed: i64,
    variation: i64,
}

impl Ticks {
    /// Takes a round trip in which the clock ticked `ticks` times; the first counts one more.
    fn sample(&mut self, ticks: u64) {
        let ticks = ticks as i64;
        if self.smoothed == 0 {
            (self.smoothed, self.variation) = ((ticks + 1) << 3, (ticks + 1) << 1);
            return;
        }
        let error = ticks - (self.smoothed >> 3);
        self.smoothed = (self.smoothed + error).max(1);
        self.variation = (self.variation + error.abs() - (self.variation >> 2)).max(1);
    }

    /// Returns the timeout, in ticks.
    const fn timeout(&self) -> u64 {
        ((self.smoothed >> 3) + self.variation) as u64
    }
}

/// The estimator of round-trip time and timeout.
#[derive(Clone, Debug)]
pub struct RttEstimator {
    config: TimeoutConfig,
    smoothed: SmoothedRtt,
    ticks: Ticks,
    backoff: u32,
    samples: u64,
    least: Option<Duration>,
}

impl RttEstimator {
    /// Creates an estimator without a measurement.
    #[must_use]
    pub fn new(config: TimeoutConfig) -> Self {
        Self {
            config,
            smoothed: SmoothedRtt::default(),
            ticks: Ticks { smoothed: 0, variation: 0 },
            backoff: 0,
            samples: 0,
            least: None,
        }
    }

    /// Takes a measurement of a segment that was sent once (Karn), out of `expected` measurements
    /// per round trip (RFC 7323, appendix G).
    //= S2.2
    pub fn sample(&mut self, measured: Duration, expected: u64) {
        self.samples += 1;
        self.backoff = 0;
        self.least = Some(self.least.map_or(measured, |least| least.min(measured)));
        if self.config.in_ticks && self.config.tick > Duration::ZERO {
            self.ticks.sample(measured.as_nanos() / self.config.tick.as_nanos());
        }
        self.smoothed.sample_of(measured, expected);
    }

    /// Doubles the timeout after it has fired (RFC 6298, 5.5).
    pub fn back_off(&mut self) {
        self.backoff = (self.backoff + 1).min(32);
    }

    /// Takes back the doubling, without a measurement.
    pub fn relax(&mut self) {
        self.backoff = 0;
    }

    /// Returns the timeout now.
    #[must_use]
    pub fn timeout(&self) -> Duration {
        let config = &self.config;
        let base = self.smoothed.mean().map_or(config.initial, |mean| {
            if config.in_ticks {
                return config.tick * self.ticks.timeout();
            }
            let granularity = config.tick.max(Duration::from_millis(1));
            mean.saturating_add(granularity.max(self.smoothed.variation() * 4))
        });
        let base = base.max(config.minimum).min(config.maximum);
        let doubled = base.as_nanos().saturating_mul(1 << self.backoff);
        Duration::from_nanos(doubled).min(config.maximum)
    }

    /// Returns when a timer set at `now` for the timeout fires.
    #[must_use]
    pub fn deadline(&self, now: Instant) -> Instant {
        self.config.deadline(now, self.timeout())
    }

    /// Returns the time between two instants as the measuring clock sees it.
    #[must_use]
    pub fn between(&self, from: Instant, to: Instant) -> Duration {
        self.config.between(from, to)
    }

    /// Returns the smoothed round-trip time, once measured.
    #[must_use]
    pub const fn smoothed(&self) -> Option<Duration> {
        self.smoothed.mean()
    }

    /// Returns the least round-trip time measured.
    #[must_use]
    pub const fn least(&self) -> Option<Duration> {
        self.least
    }

    /// Returns the number of measurements.
    #[must_use]
    pub const fn samples(&self) -> u64 {
        self.samples
    }
}

#[cfg(test)]
mod tests;
