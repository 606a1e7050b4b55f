//! The sending rate: pacing, and delivery-rate samples for algorithms that model the path.

use windfall_base::{Duration, Instant};
use windfall_congestion::Delivery;

use super::Connection;
use crate::recovery::{Sample, Snapshot, Totals};
use crate::timers::Timer;

/// The most that leaves in one piece although segments are paced, as time at the rate: a timer for
/// each segment would cost a fast sender more than the segments (draft-ietf-ccwg-bbr, section
/// 5.6.3).
const PIECE: Duration = Duration::from_millis(1);
/// The pacing rate of an algorithm without one of its own, in windows per round trip: more than
/// one, so that the window is the limit.
const PACE_IN_SLOW_START: f64 = 2.0;
const PACE: f64 = 1.2;

impl Connection {
    /// Returns the rate at which segments leave, in bytes per second, if they are paced.
    fn pacing_rate(&self) -> Option<f64> {
        let smoothed = self.rtt.smoothed();
        let own = self.congestion.pacing_rate(smoothed);
        if own.is_some() || !self.config.pacing {
            return own;
        }
        let window = self.congestion.window();
        let in_slow_start = window < self.congestion.threshold() / 2;
        let pace = if in_slow_start { PACE_IN_SLOW_START } else { PACE };
        let round_trip = smoothed?.as_secs_f64();
        (round_trip > 0.0).then(|| pace * window as f64 / round_trip)
    }

    /// Returns whether pacing delays the next segment, and sets the timer for it.
    pub(super) fn is_held_back(&mut self, now: Instant) -> bool {
        if !self.sender.is_paced {
            return false;
        }
        let free_at = self.sender.free_at;
        if now >= free_at {
            self.sender.waits = false;
        } else if free_at >= now.saturating_add(PIECE) {
            self.sender.waits = true;
        }
        if self.sender.waits {
            self.timers.set(Timer::Pacing, free_at);
        }
        self.sender.waits
    }

    /// Counts `bytes` that leave against the pace.
    pub(super) fn note_pace(&mut self, now: Instant, bytes: u64) {
        if self.sender.is_paced
            && let Some(rate) = self.pacing_rate()
        {
            let nanos = bytes as f64 / rate.max(1.0) * 1e9;
            let begins = self.sender.free_at.max(now);
            self.sender.free_at = begins.saturating_add(Duration::from_nanos(nanos as u64));
        }
    }

    /// Gives the delivery-rate sample of an acknowledgment to an algorithm that models the path.
    pub(super) fn report_delivery_rate(&mut self, now: Instant, limited: bool) {
        if !self.congestion.is_model() {
            return;
        }
        let in_flight = self.recovery.in_flight(&self.flow());
        let mut newly_lost = 0;
        for loss in self.recovery.take_marked() {
            newly_lost += loss.len;
            let then = &loss.then;
            let totals = loss.totals;
            let it = Delivery { newly_lost, ..delivery(now, then, totals, in_flight, limited) };
            self.congestion.on_lost(&it);
        }
        let least = self.rtt.least();
        let Some((sample, totals)) = self.recovery.take_rate(now, least) else { return };
        let Sample { rate, then, newly_delivered, round_trip } = sample;
        let it = delivery(now, &then, totals, in_flight, limited);
        let it = Delivery { rate, newly_delivered, newly_lost, round_trip, ..it };
        self.congestion.on_delivery(&it);
    }

    /// Notes that the application has nothing more to send although the window would let it.
    pub(super) fn note_app_limited(&mut self) {
        let flow = self.flow();
        if self.congestion.is_model()
            && self.sender.data_end() - flow.nxt.min(self.sender.data_end()) < flow.mss
            && self.recovery.in_flight(&flow) < self.congestion.window()
        {
            self.recovery.note_app_limited(&flow);
        }
    }
}

/// Returns the delivery since a segment left with the snapshot `then`.
fn delivery(
    now: Instant,
    then: &Snapshot,
    totals: Totals,
    in_flight: u64,
    limited: bool,
) -> Delivery {
    Delivery {
        now,
        rate: 0.0,
        delivered: totals.delivered,
        delivered_before: then.delivered,
        newly_delivered: 0,
        newly_lost: 0,
        lost: totals.lost,
        lost_since: totals.lost - then.lost,
        sent_in_flight: then.in_flight,
        in_flight,
        is_app_limited: then.is_app_limited,
        limited,
        round_trip: None,
    }
}
