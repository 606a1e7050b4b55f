//! The pace at which a link takes packets, and repairs that give way to those behind them.

use windfall_base::{Duration, Frame, Instant, SlotTiming};
use windfall_queue::PacketQueue;

/// The weight of the last packet in the pace.
const WEIGHT: f64 = 1.0 / 8.0;

/// The time that a link takes for each byte of the packets that wait for it, repetitions,
/// contention and the turns of others included.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// In seconds; `None` while no packet has waited for another.
    per_byte: Option<f64>,
    /// The last packet, if another one waited when it left: when, and its bytes.
    last: Option<(Instant, usize)>,
    /// The slots in which frames leave the line.
    pub(super) slots: SlotTiming,
    /// When the slots have room again for all that left their queue.
    room: Instant,
    /// When the last packet that is no repair came, and the mean time from one to the next.
    last_came: Option<(Instant, Duration)>,
}

impl Pace {
    /// A packet leaves its queue for the link, and others stay if `others_wait`.
    pub(super) fn leaves(&mut self, now: Instant, len: usize, others_wait: bool) {
        if let Some((since, bytes)) = self.last.take()
            && bytes > 0
        {
            let sample = now.saturating_since(since).as_secs_f64() / bytes as f64;
            let mean = self.per_byte.unwrap_or(sample);
            self.per_byte = Some(mean + (sample - mean) * WEIGHT);
        }
        self.last = others_wait.then_some((now, len));
        self.room = self.room.max(now).saturating_add(self.slots.share(len));
    }

    /// A packet that is no repair leaves its queue, to which it came `at` a time.
    pub(super) fn note_arrival(&mut self, at: Instant) {
        let interval = self.last_came.map_or(Duration::ZERO, |(last, mean)| {
            let sample = at.saturating_since(last);
            if mean.is_zero() { sample } else { mean - mean / 8 + sample / 8 }
        });
        self.last_came = Some((at, interval));
    }

    /// Tells whether a repair that could go now is not to go, since a packet would be late for it:
    /// one that waits behind it and would else arrive in time, or one of its flow that came next.
    /// A packet of this length takes `least` at least until it arrives.
    pub(super) fn gives_way(
        &self,
        now: Instant,
        least: impl Fn(usize) -> Duration,
        repair: &Frame,
        behind: &PacketQueue,
    ) -> bool {
        let air = |len: usize| {
            let known = least(len).saturating_sub(least(0));
            let measured = self.per_byte.map_or(0.0, |it| it * len as f64 * 1e9);
            known.max(Duration::from_nanos(measured as u64)).max(self.slots.share(len))
        };
        let delay = air(repair.payload.len());
        let is_late_for_it = |at: Instant, len: usize, expires: Instant, by: Duration| {
            let arrives = at.saturating_add(least(len).max(air(len)));
            arrives <= expires && expires < arrives.saturating_add(by)
        };
        let mut at = now.max(self.room);
        // Repairs behind it give way in their turn.
        for other in behind.waiting().filter(|other| other.frame.covers.is_none()) {
            let len = other.frame.payload.len();
            // It may wait for a slot whether a repair goes before it or not.
            let by = delay.saturating_add(self.slots.wait);
            if other.expires().is_some_and(|expires| is_late_for_it(at, len, expires, by)) {
                return true;
            }
            at = at.saturating_add(air(len));
        }
        let Some(lifetime) = repair.class.lifetime else { return false };
        let len = repair.payload.len();
        // The next may come at once; that it waits for a slot too counts when one is expected.
        let comes = self.last_came.map_or(now, |(last, interval)| now.max(last + interval));
        let held = at.saturating_add(delay).saturating_since(at.max(comes));
        let by = if held.is_zero() { Duration::ZERO } else { held.saturating_add(self.slots.wait) };
        is_late_for_it(at, len, now.saturating_add(lifetime), delay)
            || is_late_for_it(at.max(comes), len, comes.saturating_add(lifetime), by)
    }
}
