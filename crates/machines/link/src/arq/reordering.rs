//! The time for which an overtaken transmission may still arrive; zero on a pipe that keeps order.
//! If a transmission arrives after it was declared lost, the sender from then on waits as long
//! before it retransmits, as in TCP (RFC 8985, section 6.2, step 4).

use std::collections::VecDeque;

use windfall_base::seq::Seq32;
use windfall_base::{Duration, Instant};
use windfall_wire_link::pipe::Ack;

/// The number of round trips with losses but without late arrivals, after which the allowance is
/// reset.
const PERSISTENCE: u8 = 16;
/// The number of transmissions that are remembered, as many as at the receiver.
const REMEMBERED: usize = 4_096;
/// The time for which a transmission is remembered after it was declared lost.
const LIFE: Duration = Duration::from_secs(2);
/// The longest allowance. It does not depend on the round-trip time, because reordering inflates
/// that measurement.
const LONGEST: Duration = Duration::from_secs(1);

/// A transmission that was reported missing while a later one arrived.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Overtaken {
    pub(crate) order: Seq32,
    pub(crate) seq: Seq32,
    /// When the transmission was first reported missing.
    since: Instant,
    /// The latest time at which it is declared lost, if its packet has a lifetime.
    latest: Option<Instant>,
    /// It may still arrive. When the allowance is over, it is declared lost.
    is_awaited: bool,
}

impl Overtaken {
    /// Returns when the transmission is declared lost for a given allowance.
    fn due(&self, allowance: Duration) -> Instant {
        let due = self.since + allowance;
        self.latest.map_or(due, |latest| latest.min(due))
    }
}

/// The overtaken transmissions, and the time for which they may still arrive.
#[derive(Debug, Default)]
pub(crate) struct Reordering {
    /// In order of transmission numbers.
    overtaken: VecDeque<Overtaken>,
    allowance: Duration,
    persists: u8,
    /// When a loss last reduced the allowance.
    counted: Instant,
    /// When the next transmission is declared lost.
    next_due: Option<Instant>,
    /// The time `next_due` has passed.
    is_due: bool,
}

impl Reordering {
    /// Records a missing transmission, whose packet is not worth sending after `until`. Returns
    /// `true` if it may still arrive.
    pub(crate) fn miss(
        &mut self,
        now: Instant,
        order: Seq32,
        seq: Seq32,
        until: Option<Instant>,
    ) -> bool {
        if self.overtaken.len() >= REMEMBERED {
            let Some(judged) = self.overtaken.iter().position(|it| !it.is_awaited) else {
                return false;
            };
            self.overtaken.remove(judged);
        }
        // Half of the remaining time is reserved for the retransmission, which may have to wait.
        let latest = until.map(|until| now + until.saturating_since(now) / 2);
        let has_time = latest.is_none_or(|latest| now < latest);
        let is_awaited = self.allowance > Duration::ZERO && has_time;
        let new = Overtaken { order, seq, since: now, latest, is_awaited };
        if is_awaited {
            let due = new.due(self.allowance);
            self.next_due = Some(self.next_due.map_or(due, |next| next.min(due)));
        }
        self.overtaken.push_back(new);
        is_awaited
    }

    /// Removes and returns the transmissions that arrived late according to a report. The report is
    /// the first to cover transmissions from `from` on.
    pub(crate) fn take_late(&mut self, now: Instant, ack: &Ack, from: Seq32) -> Vec<Overtaken> {
        if self.overtaken.is_empty() {
            return Vec::new();
        }
        let mut late = Vec::new();
        for (n, arrived) in ack.arrived.iter().enumerate() {
            let order = ack.first + n as u32;
            if !order.is_before(from) {
                break;
            }
            let place = self.overtaken.binary_search_by(|it| it.order.distance_from(order).cmp(&0));
            if arrived && let Some(it) = place.ok().and_then(|at| self.overtaken.remove(at)) {
                let took = now.saturating_since(it.since);
                self.allow(took.saturating_add(took / 4));
                late.push(it);
            }
        }
        // The receiver no longer waits for these packets: another copy has arrived.
        if self.next_due.is_some() || self.is_due {
            self.overtaken.retain(|it| {
                let has_come = it.is_awaited && it.seq.is_before(ack.next);
                late.extend(has_come.then_some(*it));
                !has_come
            });
        }
        self.forget(now);
        self.find_due();
        late
    }

    /// Removes and returns the transmissions that are declared lost by now, oldest first.
    pub(crate) fn take_lost(
        &mut self,
        now: Instant,
        round_trip: Option<Duration>,
    ) -> Vec<Overtaken> {
        if !self.is_due && self.next_due.is_none_or(|due| now < due) {
            return Vec::new();
        }
        let mut lost = Vec::new();
        for it in &mut self.overtaken {
            if it.is_awaited && it.due(self.allowance) <= now {
                it.is_awaited = false;
                lost.push(*it);
            }
        }
        if !lost.is_empty() {
            self.count_loss(now, round_trip);
        }
        self.is_due = false;
        self.find_due();
        lost
    }

    /// Returns the packets whose overtaken transmissions may still arrive.
    pub(crate) fn awaited(&self) -> impl Iterator<Item = Seq32> {
        self.overtaken.iter().filter(|it| it.is_awaited).map(|it| it.seq)
    }

    pub(crate) const fn poll_timeout(&self) -> Option<Instant> {
        self.next_due
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        self.is_due |= self.next_due.take_if(|due| *due <= now).is_some();
    }

    /// Raises the allowance to at least `time`.
    fn allow(&mut self, time: Duration) {
        self.allowance = self.allowance.max(time.min(LONGEST));
        self.persists = PERSISTENCE;
    }

    /// Counts a loss against the allowance, at most once in a round trip.
    fn count_loss(&mut self, now: Instant, round_trip: Option<Duration>) {
        let round = round_trip.unwrap_or_default().max(self.allowance);
        if now.saturating_since(self.counted) < round {
            return;
        }
        self.counted = now;
        self.persists = self.persists.saturating_sub(1);
        if self.persists == 0 {
            self.allowance = Duration::ZERO;
        }
    }

    fn forget(&mut self, now: Instant) {
        let is_old = |it: &Overtaken| !it.is_awaited && now.saturating_since(it.since) > LIFE;
        while self.overtaken.front().is_some_and(is_old) {
            self.overtaken.pop_front();
        }
    }

    fn find_due(&mut self) {
        let awaited = self.overtaken.iter().filter(|it| it.is_awaited);
        self.next_due = awaited.map(|it| it.due(self.allowance)).min();
    }
}

#[cfg(test)]
mod tests {
    use windfall_wire_link::pipe::Bitmap;

    use super::*;

    #[test]
    fn what_was_overtaken_is_remembered_for_two_seconds() {
        let report = |first: u32| {
            let mut arrived = Bitmap::default();
            assert!(arrived.push(true));
            Ack { next: Seq32(0), first: Seq32(first), arrived, kept: None }
        };
        for (later, is_known) in [(Duration::ZERO, true), (Duration::from_nanos(1), false)] {
            let mut reordering = Reordering::default();
            assert!(!reordering.miss(Instant::START, Seq32(3), Seq32(5), None));
            let now = Instant::START + LIFE + later;
            // A report on another transmission comes first.
            assert!(reordering.take_late(now, &report(9), Seq32(10)).is_empty());
            let late = reordering.take_late(now, &report(3), Seq32(10));
            assert_eq!(late.len(), usize::from(is_known), "{later} later");
        }
    }
}
