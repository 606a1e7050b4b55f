//! BBR, version 3 (draft-ietf-ccwg-bbr): a model of the path's bandwidth and round trip decides how
//! fast to send and how much may be in flight; losses only bound it where they exceed 2 %.
//!
//! The model of the path is in `model`, the phases of probing are here.

use windfall_base::{Duration, Instant};

use super::{Acknowledged, CongestionController, ControllerFactory, Delivery, Loss, Start};
use model::{Model, Unlimited};

mod model;

/// Gains of the pacing rate and of the window (sections 2.4 and 5.6.1).
const STARTUP_GAIN: f64 = 2.77;
const DRAIN_GAIN: f64 = 0.5;
const WINDOW_GAIN: f64 = 2.0;
/// The least window that keeps a path with delayed acknowledgments going, in segments (section
/// 2.7).
const LEAST_WINDOW: u64 = 4;
/// The share of the rate by which it is paced lower, so that no queue stands (section 5.6.2).
const MARGIN: f64 = 0.99;
/// The interval between probes of the minimum round trip, and their length (section 5.3.4).
const PROBE_RTT_INTERVAL: Duration = Duration::from_secs(5);
const PROBE_RTT_TIME: Duration = Duration::from_millis(200);
/// The most round trips from one probe of the bandwidth to the next (section 5.3.3.5.3).
const MOST_ROUNDS: u64 = 63;

/// The states of section 5.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Startup,
    Drain,
    /// Empties the queue that the last probe may have made.
    Down,
    /// Keeps to the estimate.
    Cruise,
    /// Fills the path for one round trip before the probe.
    Refill,
    /// Probes for more bandwidth.
    Up,
    /// Empties the path to measure its round trip.
    ProbeRtt,
}

/// The congestion controller of draft-ietf-ccwg-bbr; windows are in bytes, rates in bytes per
/// second.
#[derive(Clone, Debug)]
pub(crate) struct Bbr {
    mss: u64,
    initial: u64,
    window: u64,
    /// The window before a recovery or a probe of the round trip.
    saved: u64,
    pacing: f64,
    phase: Phase,
    model: Model,
    /// When the phase began, and how long to wait for the next probe.
    began: Instant,
    probe_wait: Duration,
    rounds_since_probe: u64,
    /// Bytes to be acknowledged for each segment by which a probe raises the bound, those counted,
    /// and the rounds of the probe.
    per_raise: u64,
    counted: u64,
    raises: u32,
    /// When the probe of the round trip may end, and whether a round has passed in it.
    probe_rtt_ends: Option<Instant>,
    has_passed_round: bool,
    /// Bytes delivered when the first and the last of that was sent which the last probe of the
    /// round trip held back: its rate is not that of the path.
    held_back: [u64; 2],
    /// The window follows the delivered data in the first round of a recovery.
    conserves: bool,
    /// The state before the last recovery, in case that was spurious.
    before: Option<Before>,
}

/// The state that a recovery may change, and a spurious one must not (section 5.5.11).
#[derive(Clone, Copy, Debug)]
struct Before {
    phase: Phase,
    bounds: model::Bounds,
}

impl Bbr {
    /// Begins with a window of `initial` segments of `mss` bytes.
    #[must_use]
    pub(crate) fn new(mss: u64, initial: u64) -> Self {
        Self {
            mss,
            initial: initial * mss,
            window: initial * mss,
            saved: 0,
            pacing: 0.0,
            phase: Phase::Startup,
            model: Model::default(),
            began: Instant::START,
            probe_wait: Duration::ZERO,
            rounds_since_probe: 0,
            per_raise: u64::MAX,
            counted: 0,
            raises: 0,
            probe_rtt_ends: None,
            has_passed_round: false,
            held_back: [u64::MAX, 0],
            conserves: false,
            before: None,
        }
    }

    fn remember(&mut self) {
        self.saved = self.saved.max(self.window);
        self.before = Some(Before { phase: self.phase, bounds: self.model.bounds() });
    }

    /// Returns the pace of the initial window, sent in a round trip.
    fn first_pace(&self, round_trip: Duration) -> f64 {
        STARTUP_GAIN * self.initial as f64 / round_trip.as_secs_f64().max(1e-6)
    }

    const fn pacing_gain(&self) -> f64 {
        match self.phase {
            Phase::Startup => STARTUP_GAIN,
            Phase::Drain => DRAIN_GAIN,
            Phase::Down => 0.9,
            Phase::Up => 1.25,
            Phase::Cruise | Phase::Refill | Phase::ProbeRtt => 1.0,
        }
    }

    const fn window_gain(&self) -> f64 {
        match self.phase {
            Phase::Up => 2.25,
            Phase::ProbeRtt => 0.5,
            _ => WINDOW_GAIN,
        }
    }

    const fn is_probing_bandwidth(&self) -> bool {
        matches!(self.phase, Phase::Startup | Phase::Refill | Phase::Up)
    }

    const fn cycles(&self) -> bool {
        matches!(self.phase, Phase::Down | Phase::Cruise | Phase::Refill | Phase::Up)
    }

    /// Returns `gain` times what the path holds, with room for what is sent and acknowledged in one
    /// piece (section 5.6.4.2).
    fn inflight(&self, bandwidth: f64, gain: f64) -> u64 {
        let Some(path) = self.path(bandwidth, gain) else { return self.initial };
        let probes = if self.phase == Phase::Up { 2 * self.mss } else { 0 };
        path.max(3 * self.quantum()).max(LEAST_WINDOW * self.mss) + probes
    }

    /// Returns the bytes that fill the path, times `gain`; `None` before the first round trip.
    fn path(&self, bandwidth: f64, gain: f64) -> Option<u64> {
        let round_trip = self.model.least_round_trip?;
        Some((bandwidth * round_trip.as_secs_f64() * gain) as u64)
    }

    /// Returns what leaves in one piece (section 5.6.3).
    fn quantum(&self) -> u64 {
        ((self.pacing / 1_000.0) as u64).clamp(2 * self.mss, 64 << 10)
    }

    /// Updates the model by a delivery-rate sample (section 5.2.3).
    fn learn(&mut self, sample: &Delivery) {
        let probes = self.is_probing_bandwidth();
        self.model.learn(sample, probes, self.window);
        if self.model.is_round_start {
            self.rounds_since_probe += 1;
            self.conserves = false;
        }
        self.model.check_full(sample);
        if self.phase == Phase::Startup {
            self.leave_startup(sample);
        }
        if self.phase == Phase::Drain
            && sample.in_flight <= self.inflight(self.model.bandwidth(), 1.0)
        {
            self.go_down(sample);
        }
        self.cycle(sample);
        self.look_for_round_trip(sample);
        self.model.end(sample);
    }

    fn leave_startup(&mut self, sample: &Delivery) {
        if self.model.loses_too_much(sample) {
            let path = self.inflight(self.model.most_bandwidth(), 1.0);
            self.model.bound_long = Some(path.max(self.model.delivered_lately));
            self.model.is_full = true;
        }
        if self.model.is_full {
            self.phase = Phase::Drain;
        }
    }

    /// Goes through the phases of probing for bandwidth (section 5.3.3).
    fn cycle(&mut self, sample: &Delivery) {
        if !self.model.is_full {
            return;
        }
        self.adapt(sample);
        match self.phase {
            Phase::Down => {
                let bandwidth = self.model.most_bandwidth();
                let path = self.inflight(bandwidth, 1.0);
                if !self.refills(sample) && sample.in_flight <= path.min(self.with_headroom()) {
                    self.phase = Phase::Cruise;
                }
            }
            Phase::Cruise => _ = self.refills(sample),
            Phase::Refill if self.model.is_round_start => self.go_up(sample),
            Phase::Up => {
                if sample.limited && self.model.bound_long.is_some_and(|bound| self.window >= bound)
                {
                    // The bound limits, not the path.
                    self.model.watch_full(sample);
                } else if self.model.is_full_now {
                    self.go_down(sample);
                }
            }
            _ => {}
        }
    }

    /// Adapts the bound of what may be in flight to what a probe shows (section 5.5.9).
    fn adapt(&mut self, sample: &Delivery) {
        self.model.end_probe(sample, self.cycles());
        if sample.loses_too_much() {
            if self.model.samples_probe {
                self.note_too_much(sample, sample.sent_in_flight);
            }
            return;
        }
        let Some(bound) = self.model.bound_long else { return };
        self.model.bound_long = Some(bound.max(sample.sent_in_flight));
        if self.phase == Phase::Up && sample.limited && self.window >= bound {
            self.counted += sample.newly_delivered;
            let raise = self.counted / self.per_raise;
            self.counted -= raise * self.per_raise;
            self.model.bound_long = Some(bound.max(sample.sent_in_flight) + raise * self.mss);
            if self.model.is_round_start {
                self.raise_slope();
            }
        }
    }

    fn raise_slope(&mut self) {
        let growth = self.mss << self.raises.min(30);
        self.raises = (self.raises + 1).min(30);
        self.per_raise = (self.window * self.mss / growth).max(1);
    }

    /// Notes that `in_flight` was too much for the path (section 5.5.10.2).
    fn note_too_much(&mut self, sample: &Delivery, in_flight: u64) {
        self.model.samples_probe = false;
        if !sample.is_app_limited {
            let target = self.inflight(self.model.bandwidth(), 1.0).min(self.window);
            self.model.bound_long = Some(in_flight.max((target as f64 * model::BETA) as u64));
        }
        if self.phase == Phase::Up {
            self.go_down(sample);
        }
    }

    fn with_headroom(&self) -> u64 {
        self.model.bound_long.map_or(u64::MAX, |bound| {
            let headroom = ((bound as f64 * 0.15) as u64).max(self.mss);
            bound.saturating_sub(headroom).max(LEAST_WINDOW * self.mss)
        })
    }

    fn go_down(&mut self, sample: &Delivery) {
        self.model.forget_lately();
        // Flows that share a path must not probe in step: the low bits of the time tell them apart.
        let chance = sample.now.as_nanos().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        self.rounds_since_probe = chance & 1;
        self.probe_wait = Duration::from_millis(2_000 + (chance >> 1) % 1_000);
        self.per_raise = u64::MAX;
        self.began = sample.now;
        self.model.begin_probe_end(sample);
        self.phase = Phase::Down;
    }

    /// Begins the next probe if it is time (section 5.3.3.5); returns whether it is.
    fn refills(&mut self, sample: &Delivery) -> bool {
        let waited = sample.now.saturating_since(self.began) >= self.probe_wait;
        let target = self.inflight(self.model.bandwidth(), 1.0).min(self.window);
        let like_reno = self.rounds_since_probe >= (target / self.mss).min(MOST_ROUNDS);
        if waited || like_reno {
            self.model.forget_short_term();
            (self.raises, self.counted) = (0, 0);
            self.model.begin_round(sample);
            self.phase = Phase::Refill;
        }
        waited || like_reno
    }

    fn go_up(&mut self, sample: &Delivery) {
        self.model.samples_probe = true;
        self.model.begin_round(sample);
        self.model.watch_full(sample);
        self.began = sample.now;
        self.phase = Phase::Up;
        self.raise_slope();
    }

    /// Looks for the least round trip with an almost empty path (section 5.3.4); it interrupts
    /// every other phase, a startup that takes long too, which goes on afterwards.
    fn look_for_round_trip(&mut self, sample: &Delivery) {
        let is_stale = self.model.learn_round_trip(sample);
        if self.phase != Phase::ProbeRtt && is_stale && sample.in_flight > 0 {
            self.phase = Phase::ProbeRtt;
            self.saved = self.saved.max(self.window);
            self.probe_rtt_ends = None;
            self.held_back[0] = sample.delivered;
            self.model.begin_probe_end(sample);
        }
        if self.phase != Phase::ProbeRtt {
            return;
        }
        self.held_back[1] = sample.delivered + sample.in_flight;
        match self.probe_rtt_ends {
            None if sample.in_flight <= self.probe_rtt_window() => {
                self.probe_rtt_ends = Some(sample.now.saturating_add(PROBE_RTT_TIME));
                self.has_passed_round = false;
                self.model.begin_round(sample);
            }
            None => {}
            Some(ends) => {
                self.has_passed_round |= self.model.is_round_start;
                if self.has_passed_round && sample.now > ends {
                    self.model.round_trip_at = sample.now;
                    self.window = self.window.max(core::mem::take(&mut self.saved));
                    self.model.forget_short_term();
                    self.resume(sample);
                }
            }
        }
    }

    fn resume(&mut self, sample: &Delivery) {
        if self.model.is_full {
            self.go_down(sample);
            self.phase = Phase::Cruise;
        } else {
            self.phase = Phase::Startup;
        }
    }

    fn probe_rtt_window(&self) -> u64 {
        // Without room for pieces of offloading, since the queue is to drain (section 5.3.4.3).
        let half = self.path(self.model.bandwidth(), 0.5).unwrap_or(self.initial);
        half.max(LEAST_WINDOW * self.mss)
    }

    /// Sets rate and window from the model (section 5.6).
    fn control(&mut self, sample: &Delivery) {
        let rate = self.pacing_gain() * self.model.bandwidth() * MARGIN;
        if self.model.is_full || rate > self.pacing {
            self.pacing = rate;
        }
        self.window = self.window.saturating_sub(sample.newly_lost).max(self.mss);
        if self.conserves {
            self.window = self.window.max(sample.in_flight + sample.newly_delivered);
        } else {
            let gain = self.window_gain();
            let most = self.inflight(self.model.bandwidth(), gain) + self.model.extra();
            if self.model.is_full {
                self.window = (self.window + sample.newly_delivered).min(most);
            } else if self.window < most || sample.delivered < self.initial {
                self.window += sample.newly_delivered;
            }
            self.window = self.window.max(LEAST_WINDOW * self.mss);
        }
        self.bound_window();
    }

    fn bound_window(&mut self) {
        if self.phase == Phase::ProbeRtt {
            self.window = self.window.min(self.probe_rtt_window());
        }
        let long = match self.phase {
            Phase::Down | Phase::Refill | Phase::Up => self.model.bound_long.unwrap_or(u64::MAX),
            Phase::Cruise | Phase::ProbeRtt => self.with_headroom(),
            Phase::Startup | Phase::Drain => u64::MAX,
        };
        let bound = long.min(self.model.bound_short.or_unlimited());
        self.window = self.window.min(bound.max(LEAST_WINDOW * self.mss));
    }
}

/// Makes controllers of BBR.
pub(crate) struct BbrFactory;

impl ControllerFactory for BbrFactory {
    fn name(&self) -> &'static str {
        "bbr"
    }

    fn source(&self) -> &'static str {
        "draft-ietf-ccwg-bbr"
    }

    fn linux_name(&self) -> Result<&'static str, &'static str> {
        Ok("bbr")
    }

    fn start(&self, start: &Start) -> Box<dyn CongestionController> {
        Box::new(Bbr::new(start.mss, start.initial_window))
    }
}

impl CongestionController for Bbr {
    fn window(&self) -> u64 {
        self.window
    }

    /// There is none.
    fn threshold(&self) -> u64 {
        u64::MAX
    }

    fn on_acknowledged(&mut self, _: &Acknowledged) {}

    /// The pace of startup never falls below its first one (sections 5.6.2 and 5.2.1).
    fn on_first_round_trip(&mut self, round_trip: Duration) {
        if self.pacing == 0.0 {
            self.pacing = self.first_pace(round_trip);
        }
    }

    fn on_delivery(&mut self, sample: &Delivery) {
        let [first, last] = self.held_back;
        let is_held_back = (first..=last).contains(&sample.delivered_before);
        let sample = Delivery { is_app_limited: sample.is_app_limited || is_held_back, ..*sample };
        self.learn(&sample);
        self.control(&sample);
    }

    fn on_lost(&mut self, sample: &Delivery) {
        self.model.note_loss(sample);
        if self.model.samples_probe && sample.loses_too_much() {
            self.note_too_much(sample, sample.sent_in_flight);
        }
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.remember();
        self.window = (loss.in_network + self.mss).max(LEAST_WINDOW * self.mss).min(self.window);
        self.conserves = true;
    }

    /// The draft leaves marks open: one bounds what is in flight as a round trip with losses does,
    /// until the next probe.
    fn on_mark(&mut self, _: &Loss) {
        let bound = self.window.min(self.model.bound_short.or_unlimited());
        self.model.bound_short = Some((model::BETA * bound as f64) as u64);
        self.bound_window();
    }

    fn on_recovered(&mut self) {
        self.window = self.window.max(core::mem::take(&mut self.saved));
        self.conserves = false;
    }

    fn on_timeout(&mut self, loss: &Loss, first: bool) {
        // One within a recovery belongs to the reduction that began it.
        if first && self.saved == 0 {
            self.remember();
        }
        self.saved = self.saved.max(self.window);
        self.window = loss.in_network + self.mss;
    }

    fn on_spurious_timeout(&mut self) {
        self.on_recovered();
        let Some(Before { phase, bounds }) = self.before.take() else { return };
        self.model.loosen(&bounds);
        if self.phase == Phase::ProbeRtt || self.phase == phase {
            return;
        }
        if phase == Phase::Startup {
            self.model.is_full = false;
            self.phase = phase;
        } else if phase == Phase::Up {
            self.model.samples_probe = true;
            self.phase = phase;
            self.raise_slope();
        }
    }

    fn on_idle(&mut self) {}

    fn limit(&mut self, window: u64) {
        self.window = self.window.min(window).max(self.mss);
    }

    fn set_mss(&mut self, mss: u64) {
        self.mss = mss;
    }

    fn pacing_rate(&self, smoothed: Option<Duration>) -> Option<f64> {
        let nominal = || self.first_pace(smoothed.unwrap_or(Duration::from_millis(1)));
        Some(if self.pacing > 0.0 { self.pacing } else { nominal() })
    }

    fn is_model(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests;
