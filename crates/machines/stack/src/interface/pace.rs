//! The service rate of a link, by which repair packets give way to packets that would be late.

use windfall_base::{Duration, Frame, Instant, SlotTiming};
use windfall_queue::PacketQueue;

/// The weight of the last packet in the moving average.
const WEIGHT: f64 = 1.0 / 8.0;

/// The service time of a link for each byte of a backlogged queue. It includes retransmissions,
/// contention and the transmissions of other stations.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// In seconds; `None` while no packet has waited for another.
    per_byte: Option<f64>,
    /// The departure time and the bytes of the last packet, if another one was waiting then.
    last: Option<(Instant, usize)>,
    /// The slots in which frames leave the line.
    pub(super) slots: SlotTiming,
    /// The time at which the slots will have carried all dequeued bytes.
    room: Instant,
    /// The arrival time of the last packet that is no repair, and the mean interarrival time.
    last_came: Option<(Instant, Duration)>,
}

impl Pace {
    /// Records that a packet leaves its queue for the link. `others_wait` says whether others stay.
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

    /// Records that a packet other than a repair, enqueued at time `at`, leaves its queue.
    pub(super) fn note_arrival(&mut self, at: Instant) {
        let interval = self.last_came.map_or(Duration::ZERO, |(last, mean)| {
            let sample = at.saturating_since(last);
            if mean.is_zero() { sample } else { mean - mean / 8 + sample / 8 }
        });
        self.last_came = Some((at, interval));
    }

    /// Returns whether a repair packet must not be sent now because it would make another packet
    /// late: one that waits behind it, or the next one expected of its flow. `least` is the minimum
    /// transit time of a packet of this length.
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
        // Repair packets behind it are checked when they leave.
        for other in behind.waiting().filter(|other| other.frame.covers.is_none()) {
            let len = other.frame.payload.len();
            // The packet may have to wait for a slot even without the repair.
            let by = delay.saturating_add(self.slots.wait);
            if other.expires().is_some_and(|expires| is_late_for_it(at, len, expires, by)) {
                return true;
            }
            at = at.saturating_add(air(len));
        }
        let Some(lifetime) = repair.class.lifetime else { return false };
        let len = repair.payload.len();
        // The next packet may arrive at once. Its wait for a slot counts only if a packet is
        // expected.
        let comes = self.last_came.map_or(now, |(last, interval)| now.max(last + interval));
        let held = at.saturating_add(delay).saturating_since(at.max(comes));
        let by = if held.is_zero() { Duration::ZERO } else { held.saturating_add(self.slots.wait) };
        is_late_for_it(at, len, now.saturating_add(lifetime), delay)
            || is_late_for_it(at.max(comes), len, comes.saturating_add(lifetime), by)
    }
}
