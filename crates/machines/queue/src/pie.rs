//! Proportional integral controller enhanced: drops arrivals at random, the more the longer the
//! queue's delay is and the faster it grows (RFC 8033).

use windfall_base::{Duration, Instant, Stream};

use crate::management::PieConfig;

/// The weight of the delay's distance from the target, per second.
const ALPHA: f64 = 0.125;
/// The weight of the delay's growth, per second.
const BETA: f64 = 1.25;
/// Below this number of bytes nothing is dropped: two packets of the mean length of the RFC.
const SHORT: usize = 2 * 256;
/// The greatest probability with which packets are marked instead of dropped.
const MARKED_UP_TO: f64 = 0.1;
/// After this number of updates without a packet the probability has decayed to nothing.
const FORGOTTEN: u64 = 2_048;
/// Below each probability the controller's steps are divided so (RFC 8033, section 4.2).
const SCALES: [(f64, f64); 6] =
    [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (1e-2, 8.0), (1e-1, 2.0)];
/// Between these sums of probabilities since the last drop, chance decides (RFC 8033, section 5.4).
const CHANCE: core::ops::Range<f64> = 0.85..8.5;

/// The state of a queue under this controller.
#[derive(Clone, Debug)]
pub(crate) struct Pie {
    config: PieConfig,
    random: Stream,
    probability: f64,
    /// The sum of the probabilities since the last drop.
    sum: f64,
    /// The delay at the last update.
    delay: Duration,
    /// The rest of the burst allowance.
    burst: Duration,
    /// The next update.
    next: Instant,
}

impl Pie {
    pub(crate) fn new(config: PieConfig, random: Stream) -> Self {
        Self {
            config,
            random,
            probability: 0.0,
            sum: 0.0,
            delay: Duration::ZERO,
            burst: config.burst,
            next: Instant::START + config.update,
        }
    }

    /// Makes the updates that are due at `now`; `head` is since when the packet at the head, which
    /// has been there since the last call, waits.
    pub(crate) fn update(&mut self, now: Instant, head: Option<Instant>) {
        let update = self.config.update;
        let due = now.saturating_since(self.next).as_nanos() / update.as_nanos().max(1);
        if due > FORGOTTEN {
            self.next += update * (due - FORGOTTEN);
        }
        while self.next <= now {
            let delay = head.map_or(Duration::ZERO, |since| self.next.saturating_since(since));
            self.step(delay);
            self.next += update;
        }
    }

    /// One update of the probability (RFC 8033, section 4.2).
    fn step(&mut self, delay: Duration) {
        let now = delay.as_secs_f64();
        let old = self.delay.as_secs_f64();
        let target = self.config.target.as_secs_f64();
        let scale = SCALES.iter().find(|(below, _)| self.probability < *below);
        let step = (ALPHA * (now - target) + BETA * (now - old)) / scale.map_or(1.0, |it| it.1);
        // A great probability grows slowly.
        let step = if self.probability >= 0.1 { step.min(0.02) } else { step };
        self.probability = (self.probability + step).clamp(0.0, 1.0);
        if delay.is_zero() && self.delay.is_zero() {
            self.probability *= 0.98;
        }
        self.delay = delay;
        self.burst = self.burst.saturating_sub(self.config.update);
        if self.probability < 1e-9 && now < target / 2.0 && old < target / 2.0 {
            self.probability = 0.0;
            self.burst = self.config.burst;
        }
    }

    /// Decides whether an arriving packet signals congestion to its sender, and whether a mark is
    /// enough; `waiting` bytes are before it.
    pub(crate) fn judge(&mut self, waiting: usize) -> Option<CanMark> {
        let half = self.config.target / 2;
        let is_calm = self.delay < half && self.probability < 0.2;
        if !self.burst.is_zero() || is_calm || waiting <= SHORT {
            return None;
        }
        if self.probability <= 0.0 {
            self.sum = 0.0;
            return None;
        }
        self.sum += self.probability;
        let is_hit = self.random.unit() < self.probability;
        if self.sum < CHANCE.start || (self.sum < CHANCE.end && !is_hit) {
            return None;
        }
        self.sum = 0.0;
        Some(CanMark(self.config.ecn && self.probability <= MARKED_UP_TO))
    }
}

/// Tells that the sender is to slow down, and whether a mark is enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CanMark(pub(crate) bool);

#[cfg(test)]
mod tests;
