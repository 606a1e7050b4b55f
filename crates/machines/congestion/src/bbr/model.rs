//! BBR's model of the path (draft-ietf-ccwg-bbr, sections 2.8 to 2.13 and 5.5).

use windfall_base::{Duration, Instant};

use super::super::Delivery;
use super::PROBE_RTT_INTERVAL;

/// The share that is left of a bound after a round trip with losses.
pub(super) const BETA: f64 = 0.7;
/// The growth of the bandwidth from which on it counts as growth, and the rounds without (section
/// 5.3.1.2).
const GROWTH: f64 = 1.25;
const FLAT_ROUNDS: u32 = 3;
/// Lost pieces in a round trip before startup ends for them (section 5.3.1.3).
const STARTUP_LOSSES: u32 = 6;
/// The life of the least round trip.
const ROUND_TRIP_LIFE: Duration = Duration::from_secs(10);
/// Rounds for which the aggregation of acknowledgments is remembered (section 5.5.9).
const EXTRA_ROUNDS: u64 = 10;

/// A bound that need not be there.
pub(super) trait Unlimited {
    /// Returns the bound, or the greatest value if there is none.
    fn or_unlimited(self) -> u64;
}

impl Unlimited for Option<u64> {
    fn or_unlimited(self) -> u64 {
        self.unwrap_or(u64::MAX)
    }
}

/// The bounds that losses lower.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    bandwidth: Option<f64>,
    short: Option<u64>,
    long: Option<u64>,
}

/// The model of the path.
#[derive(Clone, Debug, Default)]
pub(super) struct Model {
    /// The most that was delivered per second in the last probe and in this one.
    most: [f64; 2],
    /// The bandwidth that recent losses allow.
    short: Option<f64>,
    /// The bytes that may be in flight by recent losses, and by those of the last probe.
    pub(super) bound_short: Option<u64>,
    pub(super) bound_long: Option<u64>,
    pub(super) least_round_trip: Option<Duration>,
    least_at: Instant,
    /// The least round-trip time since the last ProbeRTT.
    recent_round_trip: Option<Duration>,
    pub(super) round_trip_at: Instant,
    /// A round trip ends when something sent after its beginning is delivered.
    round_ends: u64,
    pub(super) is_round_start: bool,
    rounds: u64,
    loss_round_ends: u64,
    is_loss_round_start: bool,
    loses: bool,
    losses: u32,
    lost_from: u64,
    /// The bandwidth and the bytes of the latest round trip.
    bandwidth_lately: f64,
    pub(super) delivered_lately: u64,
    /// The bandwidth stopped to grow: ever, and in this phase.
    pub(super) is_full: bool,
    pub(super) is_full_now: bool,
    full: f64,
    flat_rounds: u32,
    /// Losses now are those of a probe.
    pub(super) samples_probe: bool,
    is_ending_probe: bool,
    /// Bytes that came above what the bandwidth explains, the most of this and the last rounds.
    extra_since: Instant,
    extra_delivered: u64,
    extra: [u64; 2],
    extra_round: u64,
}

impl Model {
    pub(super) fn most_bandwidth(&self) -> f64 {
        self.most[0].max(self.most[1])
    }

    pub(super) fn bandwidth(&self) -> f64 {
        self.most_bandwidth().min(self.short.unwrap_or(f64::INFINITY))
    }

    pub(super) fn extra(&self) -> u64 {
        self.extra[0].max(self.extra[1])
    }

    /// Begins a round trip (section 5.5.1).
    pub(super) fn begin_round(&mut self, sample: &Delivery) {
        self.round_ends = sample.delivered;
    }

    /// Takes a sample; `probes` if the phase looks for more bandwidth.
    pub(super) fn learn(&mut self, sample: &Delivery, probes: bool, window: u64) {
        self.is_loss_round_start = sample.delivered_before >= self.loss_round_ends;
        if self.is_loss_round_start {
            self.loss_round_ends = sample.delivered;
        }
        self.bandwidth_lately = self.bandwidth_lately.max(sample.rate);
        self.delivered_lately =
            self.delivered_lately.max(sample.delivered - sample.delivered_before);
        self.is_round_start = sample.delivered_before >= self.round_ends;
        if self.is_round_start {
            self.begin_round(sample);
            self.rounds += 1;
        }
        if sample.rate >= self.most_bandwidth() || !sample.is_app_limited {
            self.most[1] = self.most[1].max(sample.rate);
        }
        if self.is_loss_round_start && !probes && self.loses {
            let short = self.short.unwrap_or_else(|| self.most_bandwidth());
            self.short = Some(self.bandwidth_lately.max(BETA * short));
            let bound = self.bound_short.unwrap_or(window);
            self.bound_short = Some(self.delivered_lately.max((BETA * bound as f64) as u64));
        }
        self.learn_aggregation(sample, window);
    }

    fn learn_aggregation(&mut self, sample: &Delivery, window: u64) {
        let passed = sample.now.saturating_since(self.extra_since).as_secs_f64();
        let mut expected = (self.bandwidth() * passed) as u64;
        if self.extra_delivered <= expected {
            (self.extra_delivered, self.extra_since, expected) = (0, sample.now, 0);
        }
        self.extra_delivered += sample.newly_delivered;
        let extra = self.extra_delivered.saturating_sub(expected).min(window);
        let life = if self.is_full { EXTRA_ROUNDS } else { 1 };
        if self.rounds >= self.extra_round + life {
            (self.extra, self.extra_round) = ([self.extra[1], 0], self.rounds);
        }
        self.extra[1] = self.extra[1].max(extra);
    }

    /// Ends the account of a sample.
    pub(super) fn end(&mut self, sample: &Delivery) {
        if self.is_loss_round_start {
            self.bandwidth_lately = sample.rate;
            self.delivered_lately = sample.delivered - sample.delivered_before;
            (self.loses, self.losses, self.lost_from) = (false, 0, sample.lost);
        }
    }

    pub(super) const fn bounds(&self) -> Bounds {
        let bandwidth = self.short;
        let short = self.bound_short;
        let long = self.bound_long;
        Bounds { bandwidth, short, long }
    }

    /// Takes back what losses have lowered since `before`: there were none (section 5.5.11).
    pub(super) fn loosen(&mut self, before: &Bounds) {
        (self.loses, self.losses) = (false, 0);
        (self.full, self.flat_rounds, self.is_full_now) = (0.0, 0, false);
        self.short = self.short.zip(before.bandwidth).map(|(now, then)| now.max(then));
        self.bound_short = self.bound_short.zip(before.short).map(|(now, then)| now.max(then));
        self.bound_long = self.bound_long.zip(before.long).map(|(now, then)| now.max(then));
    }

    pub(super) fn note_loss(&mut self, sample: &Delivery) {
        if !self.loses {
            self.loss_round_ends = sample.delivered;
        }
        self.loses = true;
        self.losses += 1;
    }

    /// Returns whether a round trip of startup lost more than the path can bear.
    pub(super) fn loses_too_much(&self, sample: &Delivery) -> bool {
        let lost = sample.lost.saturating_sub(self.lost_from) as f64;
        let share = lost / (lost + self.delivered_lately as f64);
        self.is_loss_round_start
            && self.losses >= STARTUP_LOSSES
            && share > super::super::MAX_LOSS_RATE
    }

    /// Looks whether the bandwidth still grows (section 5.3.1.2).
    pub(super) fn check_full(&mut self, sample: &Delivery) {
        if self.is_full_now || !self.is_round_start || sample.is_app_limited {
            return;
        }
        if sample.rate >= self.full * GROWTH {
            return self.watch_full(sample);
        }
        self.flat_rounds += 1;
        self.is_full_now = self.flat_rounds >= FLAT_ROUNDS;
        self.is_full |= self.is_full_now;
    }

    /// Begins to watch from here on whether the bandwidth grows.
    pub(super) fn watch_full(&mut self, sample: &Delivery) {
        (self.full, self.flat_rounds, self.is_full_now) = (sample.rate, 0, false);
    }

    pub(super) fn forget_lately(&mut self) {
        (self.bandwidth_lately, self.delivered_lately, self.loses) = (0.0, 0, false);
    }

    pub(super) fn forget_short_term(&mut self) {
        (self.short, self.bound_short) = (None, None);
    }

    /// Notes that the probe is over, and that its last samples come within a round trip.
    pub(super) fn begin_probe_end(&mut self, sample: &Delivery) {
        self.is_ending_probe = true;
        self.begin_round(sample);
    }

    /// After that round trip the bandwidth of the probe before the last is forgotten.
    pub(super) fn end_probe(&mut self, sample: &Delivery, cycles: bool) {
        if self.is_ending_probe && self.is_round_start {
            self.is_ending_probe = false;
            self.samples_probe = false;
            if cycles && !sample.is_app_limited && self.most[1] > 0.0 {
                self.most = [self.most[1], 0.0];
            }
        }
    }

    /// Takes a round trip; returns whether the least one has not been seen for long (section
    /// 5.3.4.3).
    pub(super) fn learn_round_trip(&mut self, sample: &Delivery) -> bool {
        let since = |at| sample.now.saturating_since(at);
        let is_stale =
            self.recent_round_trip.is_some() && since(self.round_trip_at) > PROBE_RTT_INTERVAL;
        let Some(round_trip) = sample.round_trip else { return is_stale };
        if is_stale || self.recent_round_trip.is_none_or(|recent| round_trip < recent) {
            (self.recent_round_trip, self.round_trip_at) = (Some(round_trip), sample.now);
        }
        let is_old = since(self.least_at) > ROUND_TRIP_LIFE;
        let recent = self.recent_round_trip;
        if is_old || self.least_round_trip.is_none() || recent < self.least_round_trip {
            (self.least_round_trip, self.least_at) = (recent, self.round_trip_at);
        }
        is_stale
    }
}

#[cfg(test)]
mod tests;
