//! When the medium is free: carrier, reservations, gaps and slots.

use windfall_base::{Duration, Instant, Probability};
use windfall_wire_link::ieee80211::header::MAX_DURATION;
use windfall_wire_link::ieee80211::{Kind, Timing};

/// A radio that turns from receiving to transmitting cannot sense the medium: frames that begin
/// within this time before its own collide with it.
///
/// It also covers the slot offsets between stations due to propagation.
const TURNAROUND: Duration = Duration::from_micros(2);

/// Slots in which no station began, before the first that a station counts.
const UNHEARD: f64 = 32.0;
/// Slots after which the weight of earlier observations is halved.
const SLOTS: u32 = 1024;

/// A station's view of the medium, and its backoff.
#[derive(Clone, Debug)]
pub(super) struct Access {
    slot: Duration,
    difs: Duration,
    eifs: Duration,
    /// The time from the end of a PS-Poll to that of its acknowledgement.
    poll_answer: Duration,
    /// Others are heard.
    busy: bool,
    /// The station itself transmits.
    transmitting: bool,
    /// Set while a signal overlaps with the station's own transmission and cannot be decoded.
    deaf: bool,
    /// The radio is switched off.
    asleep: bool,
    /// When the medium fell idle, or the station ended its own frame.
    idle_since: Instant,
    /// The medium is reserved until then.
    reserved: Instant,
    /// The last reception failed, so that the gap is the extended one.
    failed: bool,
    /// No slot counts before this.
    not_before: Instant,
    /// Slots still to wait once slots count; `None` if the last backoff has run out.
    backoff: Option<u32>,
    /// An attempt that can no longer be held back.
    committed: Option<Instant>,
    /// Slots of its backoffs after which others could be heard to begin, and those after which they
    /// did.
    slots: u32,
    taken: u32,
}

impl Access {
    pub(super) fn new(timing: Timing, poll_answer: Duration) -> Self {
        Self {
            slot: timing.slot,
            difs: timing.difs(),
            eifs: timing.eifs(),
            poll_answer,
            busy: false,
            transmitting: false,
            deaf: false,
            asleep: false,
            idle_since: Instant::START,
            reserved: Instant::START,
            failed: false,
            not_before: Instant::START,
            backoff: None,
            committed: None,
            slots: 0,
            taken: 0,
        }
    }

    /// The chance that another station begins in the slot in which this one does, by the share of
    /// the slots of its own backoffs in which others began.
    ///
    /// Stations draw their backoffs independently, so the last slot of a backoff, in which the
    /// station itself begins and hears no other, is like those before it (Bianchi 2000).
    pub(super) fn collides(&self) -> Probability {
        let slots = f64::from(self.slots.max(self.taken)) + UNHEARD;
        Probability::new(f64::from(self.taken) / slots).unwrap_or(Probability::ZERO)
    }

    /// When the slots of this idle period begin to count.
    fn slots_from(&self) -> Instant {
        let gap = if self.failed { self.eifs } else { self.difs };
        let reserved = if self.reserved > self.idle_since {
            self.reserved + self.difs
        } else {
            Instant::START
        };
        (self.idle_since + gap).max(reserved).max(self.not_before)
    }

    /// When a contending station may begin; `None` while that is unknown.
    pub(super) fn attempt_at(&self) -> Option<Instant> {
        if self.transmitting {
            return None;
        }
        let free = !self.busy;
        self.committed.or_else(|| {
            let slots = u64::from(self.backoff.unwrap_or(0));
            free.then(|| self.slots_from() + self.slot.saturating_mul(slots))
        })
    }

    /// The carrier of others appears. A station that `contends` and was about to begin will; one
    /// that would have begun without a backoff, had the gap stayed idle, draws one.
    pub(super) fn carrier_busy(
        &mut self,
        now: Instant,
        contends: bool,
        draw: impl FnOnce() -> u32,
    ) {
        if self.busy {
            return;
        }
        if contends {
            self.committed = self.attempt_at().filter(|at| *at <= now + TURNAROUND);
            if self.committed.is_none() && self.backoff.is_none() {
                self.wait(draw());
            }
        }
        let slots = self.freeze(now);
        if slots > 0 && self.backoff.is_some() {
            self.taken += 1;
        }
        self.busy = true;
        self.deaf = self.transmitting || self.asleep;
    }

    /// The carrier of others vanishes.
    pub(super) fn carrier_idle(&mut self, now: Instant) {
        if self.busy {
            self.busy = false;
            self.deaf = self.asleep;
            self.idle_since = self.idle_since.max(now);
        }
    }

    /// A reception ended, with a frame that could be read or without.
    pub(super) fn reception(&mut self, good: bool) {
        self.failed = !good;
    }

    /// A frame for another station, which has ended, reserves the medium for the microseconds of
    /// its duration field.
    pub(super) fn reserve(&mut self, now: Instant, kind: Kind, duration: u16) {
        let time = match kind {
            // A PS-Poll carries no duration: the NAV covers the ACK that follows (9.2.5.4).
            Kind::PsPoll => self.poll_answer,
            _ if duration <= MAX_DURATION => Duration::from_micros(u64::from(duration)),
            _ => return,
        };
        self.reserved = self.reserved.max(now + time);
    }

    /// A frame for another station has ended that came through whole, of which the first bytes are
    /// known.
    pub(super) fn reserve_by_head(&mut self, now: Instant, head: [u8; 4]) {
        let [code, _, low, high] = head;
        if let Some(kind) = Kind::from_code(code) {
            self.reserve(now, kind, u16::from_le_bytes([low, high]));
        }
    }

    /// Returns `true` if no station is heard and none has reserved the medium.
    pub(super) fn is_idle(&self, now: Instant) -> bool {
        !self.busy && self.reserved <= now
    }

    /// Returns `true` if the medium is reserved by others.
    pub(super) fn is_reserved(&self, now: Instant) -> bool {
        self.reserved > now
    }

    /// Returns `true` if a signal overlaps with the station's own transmission.
    pub(super) fn is_deaf(&self) -> bool {
        self.deaf
    }

    /// The radio is switched off: signals until it is on again are unknown.
    pub(super) fn sleep(&mut self) {
        self.asleep = true;
        self.deaf = true;
    }

    /// The radio is on again; a frame already on the air stays undecodable to its end.
    pub(super) fn wake(&mut self) {
        self.asleep = false;
        self.deaf = self.busy;
    }

    /// Returns `true` if no backoff is left, so that only the last signal matters.
    pub(super) fn is_settled(&self) -> bool {
        self.backoff.is_none() && self.committed.is_none() && !self.transmitting && !self.asleep
    }

    /// Returns `true` if a backoff runs out unless others are heard, of whom none is heard now.
    pub(super) fn is_counting(&self) -> bool {
        let is_free = !self.busy && !self.transmitting && !self.asleep;
        is_free && self.backoff.is_some() && self.committed.is_none()
    }

    /// Returns `true` if an attempt can no longer be held back.
    pub(super) fn is_committed(&self) -> bool {
        self.committed.is_some()
    }

    /// Returns `true` if others are heard.
    pub(super) fn is_busy(&self) -> bool {
        self.busy
    }

    /// The backoff has run out, and the attempt it was for begins, or is forgone.
    pub(super) fn spend(&mut self) {
        self.backoff = None;
        self.committed = None;
    }

    /// The station begins a frame of its own.
    pub(super) fn begin(&mut self, now: Instant) {
        self.freeze(now);
        self.committed = None;
        self.transmitting = true;
        self.deaf = self.busy;
    }

    /// The station's own frame has ended.
    pub(super) fn end(&mut self, now: Instant) {
        self.transmitting = false;
        self.idle_since = self.idle_since.max(now);
        self.failed = false;
    }

    /// A new backoff of `slots`, none of which counts before `now`.
    pub(super) fn back_off(&mut self, now: Instant, slots: u32) {
        self.committed = None;
        self.not_before = self.not_before.max(now);
        self.wait(slots);
    }

    /// There is something to send. A station whose backoff has run out need not draw another
    /// unless the medium is in use.
    pub(super) fn want(&mut self, now: Instant, draw: impl FnOnce() -> u32) {
        if !self.transmitting && !self.busy {
            self.freeze(now);
        }
        if self.backoff.is_none() && (self.transmitting || !self.is_idle(now)) {
            self.wait(draw());
        }
    }

    /// Waits for `slots` slots.
    fn wait(&mut self, slots: u32) {
        self.backoff = Some(slots);
        // Behind the last one the station itself begins.
        self.slots += slots.saturating_sub(1);
        if self.slots > SLOTS {
            (self.slots, self.taken) = (self.slots / 2, self.taken / 2);
        }
    }

    /// Stops the countdown: whole slots that passed idle are done. Returns how many.
    fn freeze(&mut self, now: Instant) -> u32 {
        if self.busy || self.transmitting {
            return 0;
        }
        let from = self.slots_from();
        let Some(idle) = (now + TURNAROUND).as_nanos().checked_sub(from.as_nanos()) else {
            return 0;
        };
        let slots = u32::try_from(idle / self.slot.as_nanos()).unwrap_or(u32::MAX);
        self.backoff =
            self.backoff.and_then(|left| left.checked_sub(slots)).filter(|left| *left > 0);
        self.not_before = from + self.slot.saturating_mul(u64::from(slots));
        slots
    }
}
