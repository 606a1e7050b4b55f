//! How long an overtaken transmission may still arrive: not at all on a pipe that keeps order. If a
//! report shows that a transmission arrived after it had been declared lost, the sender waits as
//! long from then on before it retransmits, as TCP does (RFC 8985, section 6.2, step 4).

use std::collections::VecDeque;

use windfall_base::seq::Seq32;
use windfall_base::{Duration, Instant};
use windfall_wire_link::pipe::Ack;

/// Round trips with losses, and with nothing that came late, after which the sender waits no more.
const PERSISTENCE: u8 = 16;
/// Transmissions that are remembered: the receiver remembers as many.
const REMEMBERED: usize = 4_096;
/// The time for which they are remembered once they count as lost.
const LIFE: Duration = Duration::from_secs(2);
/// The longest wait. The round trip is no measure of it: where many overtake, it is theirs.
const LONGEST: Duration = Duration::from_secs(1);

/// A transmission that did not come in its turn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Overtaken {
    pub(crate) order: Seq32,
    pub(crate) seq: Seq32,
    /// When it was first reported missing.
    since: Instant,
    /// The latest moment at which it counts as lost, if its packet has a lifetime.
    latest: Option<Instant>,
    /// It may still come. After the allowance it counts as lost.
    is_awaited: bool,
}

impl Overtaken {
    /// Returns when it counts as lost that is given such a time.
    fn due(&self, allowance: Duration) -> Instant {
        let due = self.since + allowance;
        self.latest.map_or(due, |latest| latest.min(due))
    }
}

/// The transmissions that did not come in their turn, and the time that they are given.
#[derive(Debug, Default)]
pub(crate) struct Reordering {
    /// In the order of their numbers.
    overtaken: VecDeque<Overtaken>,
    allowance: Duration,
    persists: u8,
    /// When a loss last counted against the allowance.
    counted: Instant,
    /// When the next of them counts as lost.
    next_due: Option<Instant>,
    /// That time has come.
    is_due: bool,
}

impl Reordering {
    /// Notes that a transmission is missing, whose packet is not worth sending after `until`;
    /// returns whether it may still come.
    pub(crate) fn miss(
        &mut self,
        now: Instant,
        [order, seq]: [Seq32; 2],
        until: Option<Instant>,
    ) -> bool {
        if self.overtaken.len() >= REMEMBERED {
            let Some(judged) = self.overtaken.iter().position(|it| !it.is_awaited) else {
                return false;
            };
            self.overtaken.remove(judged);
        }
        // Half of the remaining time is for the retransmission, which may have to wait.
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

    /// Removes the transmissions that a report shows to have arrived late; the report is the first
    /// to cover those from `from` on.
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
        // The receiver no longer waits for these: a copy of them has come.
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

    /// Removes the transmissions that count as lost by now, oldest first.
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

    /// Returns the packets that may still come.
    pub(crate) fn awaited(&self) -> impl Iterator<Item = Seq32> {
        self.overtaken.iter().filter(|it| it.is_awaited).map(|it| it.seq)
    }

    pub(crate) const fn poll_timeout(&self) -> Option<Instant> {
        self.next_due
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        self.is_due |= self.next_due.take_if(|due| *due <= now).is_some();
    }

    /// Lets overtaken transmissions take at least as much time from now on.
    fn allow(&mut self, time: Duration) {
        self.allowance = self.allowance.max(time.min(LONGEST));
        self.persists = PERSISTENCE;
    }

    /// Counts a loss against the allowance, once in a round trip.
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
