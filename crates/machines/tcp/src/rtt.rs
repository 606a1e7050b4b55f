//! The retransmission timeout: RFC 6298, with a settable minimum and a clock that may tick slowly.

use windfall_base::{Duration, Instant, SmoothedRtt};

/// The parameters of the retransmission timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeoutConfig {
    /// Before the first measurement (RFC 6298, 2.1).
    pub initial: Duration,
    //= S3.15
    /// Never below this (RFC 6298, 2.4); S3.15 sweeps it.
    pub minimum: Duration,
    /// Never above this (RFC 6298, 2.5).
    pub maximum: Duration,
    /// The period of the clock that measures and fires; zero means an exact clock.
    pub tick: Duration,
    /// Estimation in whole ticks, in fixed point as old systems did; needs a tick.
    pub in_ticks: TickEstimation,
}

//= S3.15
/// Ways to estimate the round trip in whole ticks, in fixed point (S3.15).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum TickEstimation {
    /// None: the exact estimate of RFC 6298.
    #[default]
    Off,
    /// As 4.4BSD's Net/3: the variation keeps three quarters of a tick, which count as three
    /// ticks, so that a round trip far below one has a timeout of three.
    Net3,
    /// As NetBSD 1.2: round trips are scaled by four, so that the variation dies down below a tick
    /// and the same round trip has a timeout of two, the last round trip and two ticks at least.
    NetBsd,
}

impl Default for TimeoutConfig {
    /// Returns the values of today's systems: 1 s at first, 200 ms to 60 s, an exact clock.
    fn default() -> Self {
        Self {
            initial: Duration::from_secs(1),
            minimum: Duration::from_millis(200),
            maximum: Duration::from_secs(60),
            tick: Duration::ZERO,
            in_ticks: TickEstimation::Off,
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

//= S3.15
/// The estimators in whole ticks: three bits of fraction for the mean, two for the variation, of
/// units of a tick (Net/3) or of a quarter of one (NetBSD).
#[derive(Clone, Debug, Default)]
struct Ticks {
    smoothed: i64,
    variation: i64,
    /// The last round trip.
    last: i64,
}

/// The timeouts in a row after which NetBSD takes the next round trip as if it were the first.
const FORGOTTEN: u32 = 4;
/// The greatest number of doublings of NetBSD.
const DOUBLINGS: u32 = 6;

impl Ticks {
    /// Takes a round trip in which the clock ticked `ticks` times.
    fn sample(&mut self, kind: TickEstimation, ticks: u64) {
        self.last = ticks as i64;
        let is_scaled = kind == TickEstimation::NetBsd;
        if self.smoothed == 0 {
            // Net/3 counts one tick more at first.
            let first = if is_scaled { self.last << 2 } else { self.last + 1 };
            (self.smoothed, self.variation) = (first << 3, first << 1);
            return;
        }
        let (units, least) = if is_scaled { (self.last << 2, 4) } else { (self.last, 1) };
        let error = units - (self.smoothed >> 3);
        let above = |value: i64| if value > 0 { value } else { least };
        self.smoothed = above(self.smoothed + error);
        self.variation = above(self.variation + error.abs() - (self.variation >> 2));
    }

    /// Forgets the mean, which a long row of timeouts proves wrong, and keeps the timeout.
    fn forget(&mut self) {
        self.variation += self.smoothed >> 3;
        self.smoothed = 0;
    }

    /// Returns the timeout of Net/3, in ticks.
    const fn of_net3(&self) -> u64 {
        ((self.smoothed >> 3) + self.variation) as u64
    }

    /// Returns the timeout of NetBSD after `backoff` timeouts in a row, in ticks.
    ///
    /// Zero ticks doubled are zero, so the timeout of a short round trip does not back off: the
    /// minimum timeout replaces it.
    const fn of_netbsd(&self, backoff: u32) -> u64 {
        let ticks = ((self.smoothed >> 3) + self.variation) >> 2;
        match backoff {
            0 if ticks < self.last + 2 => (self.last + 2) as u64,
            DOUBLINGS.. => (ticks << DOUBLINGS) as u64,
            _ => (ticks << backoff) as u64,
        }
    }
}

/// The least timeout of data before the first measurement, if a SYN had a timeout (RFC 6298, 5.7).
const AFTER_SYN_TIMEOUT: Duration = Duration::from_secs(3);

/// The estimator of round-trip time and timeout.
#[derive(Clone, Debug)]
pub struct RttEstimator {
    config: TimeoutConfig,
    smoothed: SmoothedRtt,
    ticks: Ticks,
    backoff: u32,
    samples: u64,
    least: Option<Duration>,
    /// The minimum RTO is a lower bound of the variance term.
    adds_least: bool,
}

impl RttEstimator {
    /// Creates an estimator without a measurement.
    #[must_use]
    pub fn new(config: TimeoutConfig) -> Self {
        Self {
            config,
            smoothed: SmoothedRtt::default(),
            ticks: Ticks::default(),
            backoff: 0,
            samples: 0,
            least: None,
            adds_least: false,
        }
    }

    /// Applies the minimum RTO to the variance term instead of to the whole RTO.
    pub fn add_least(&mut self) {
        self.adds_least = true;
    }

    //= S2.2
    /// Takes a measurement of a segment that was sent once (Karn), out of `expected` measurements
    /// per round trip (RFC 7323, appendix G).
    pub fn sample(&mut self, measured: Duration, expected: u64) {
        self.samples += 1;
        self.backoff = 0;
        self.least = Some(self.least.map_or(measured, |least| least.min(measured)));
        if let Some(ticks) = measured.as_nanos().checked_div(self.config.tick.as_nanos()) {
            self.ticks.sample(self.config.in_ticks, ticks);
        }
        self.smoothed.sample_of(measured, expected);
    }

    /// Doubles the timeout after it has fired (RFC 6298, 5.5).
    pub fn back_off(&mut self) {
        self.backoff = (self.backoff + 1).min(32);
        if self.config.in_ticks == TickEstimation::NetBsd && self.backoff >= FORGOTTEN {
            self.ticks.forget();
        }
    }

    /// Takes back the doubling, without a measurement.
    pub fn relax(&mut self) {
        self.backoff = 0;
    }

    /// Begins data after a timeout of a SYN: without a measurement, the timeout is that of long
    /// paths, and no doubling stays (RFC 6298, 5.7).
    pub fn distrust_initial(&mut self) {
        self.backoff = 0;
        self.config.initial = self.config.initial.max(AFTER_SYN_TIMEOUT);
    }

    /// Returns the timeout now.
    #[must_use]
    pub fn timeout(&self) -> Duration {
        let config = &self.config;
        let bounded = |timeout: Duration| timeout.max(config.minimum).min(config.maximum);
        let doubled = |timeout: Duration| {
            let doubled = bounded(timeout).as_nanos().saturating_mul(1 << self.backoff);
            Duration::from_nanos(doubled).min(config.maximum)
        };
        let Some(mean) = self.smoothed.mean() else { return doubled(config.initial) };
        match config.in_ticks {
            TickEstimation::Off => {
                let granularity = config.tick.max(Duration::from_millis(1));
                let floor = if self.adds_least { config.minimum } else { granularity };
                let variation = floor.max(self.smoothed.variation() * 4);
                doubled(mean.saturating_add(variation))
            }
            TickEstimation::Net3 => doubled(config.tick * self.ticks.of_net3()),
            TickEstimation::NetBsd => bounded(config.tick * self.ticks.of_netbsd(self.backoff)),
        }
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

    /// Returns a round trip that ended at `now` as the estimator wants it: one that counts ticks
    /// needs those that fell into it.
    #[must_use]
    pub fn seen(&self, now: Instant, measured: Duration) -> Duration {
        if self.config.in_ticks == TickEstimation::Off {
            return measured;
        }
        self.between(Instant::from_nanos(now.as_nanos().saturating_sub(measured.as_nanos())), now)
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
