//! Carrier sense and backoff: when the medium is idle, and when the station may transmit.

use windfall_base::{Duration, Instant, Probability};
use windfall_wire_link::ieee80211::header::MAX_DURATION;
use windfall_wire_link::ieee80211::{Kind, Timing};

/// The time in which a radio turns from receiving to transmitting and cannot sense the medium
/// (aRxTxTurnaroundTime). Frames that begin within this time before its own collide with it.
///
///
/// The time also covers the offsets between the slots of different stations due to propagation.
const TURNAROUND: Duration = Duration::from_micros(2);

/// The prior of the collision estimate: idle slots assumed before the first is observed.
const UNHEARD: f64 = 32.0;
/// The number of observed slots after which the weight of earlier observations is halved.
const SLOTS: u32 = 1024;

/// A station's view of the medium, and its backoff.
#[derive(Clone, Debug)]
pub(super) struct Access {
    slot: Duration,
    difs: Duration,
    eifs: Duration,
    /// The time from the end of a PS-Poll to the end of its acknowledgement.
    poll_answer: Duration,
    /// The carrier of another station is sensed.
    busy: bool,
    /// The station itself transmits.
    transmitting: bool,
    /// Set while a signal overlaps with the station's own transmission and cannot be decoded.
    deaf: bool,
    /// The radio is switched off.
    asleep: bool,
    /// When the medium fell idle, or the station ended its own frame.
    idle_since: Instant,
    /// The NAV: virtual carrier sense reports the medium busy until then.
    reserved: Instant,
    /// The last reception failed, so EIFS begins when the medium falls idle.
    failed: bool,
    /// The end of the last EIFS.
    eifs_end: Instant,
    /// Backoff slots begin at this time at the earliest.
    not_before: Instant,
    /// The remaining backoff slots; `None` if the backoff has ended.
    backoff: Option<u32>,
    /// The start of an attempt that carrier sense can no longer stop: the radio is already turning.
    committed: Option<Instant>,
    /// Backoff slots in which this station could sense another one begin, and those in which one
    /// began.
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
            eifs_end: Instant::START,
            not_before: Instant::START,
            backoff: None,
            committed: None,
            slots: 0,
            taken: 0,
        }
    }

    /// Estimates the probability that another station begins in the same slot as this one. The
    /// estimate is the share of this station's backoff slots in which another station began.
    ///
    /// Stations draw their backoffs independently. So the last slot of a backoff, in which the
    /// station transmits and senses no other, is like the slots before it (Bianchi 2000).
    pub(super) fn collides(&self) -> Probability {
        let slots = f64::from(self.slots.max(self.taken)) + UNHEARD;
        Probability::new(f64::from(self.taken) / slots).unwrap_or(Probability::ZERO)
    }

    /// Returns when the backoff slots of this idle period begin: after DIFS, EIFS and the NAV.
    fn slots_from(&self) -> Instant {
        let reserved = if self.reserved > self.idle_since {
            self.reserved + self.difs
        } else {
            Instant::START
        };
        (self.idle_since + self.difs).max(self.eifs_end).max(reserved).max(self.not_before)
    }

    /// Returns when a contending station may transmit; `None` while the medium is busy.
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

    /// Suspends the backoff: the carrier of another station appears. A contending station that was
    /// about to transmit still does. A contending station without a backoff draws one, because the
    /// medium did not stay idle for the interframe space.
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

    /// Begins an idle period: the carrier of other stations vanishes.
    pub(super) fn carrier_idle(&mut self, now: Instant) {
        if self.busy {
            self.busy = false;
            self.deaf = self.asleep;
            self.idle_since = self.idle_since.max(now);
            if self.failed {
                self.failed = false;
                self.eifs_end = self.idle_since + self.eifs;
            }
        }
    }

    /// Records whether a reception was an error-free frame.
    ///
    /// After an erroneous frame, EIFS begins when the medium falls idle. It leaves time for the
    /// acknowledgement of that frame, so a later carrier does not prolong it. An error-free frame
    /// ends it (802.11-2020, 10.3.2.3.7).
    pub(super) fn reception(&mut self, good: bool) {
        self.failed = !good;
        if good {
            self.eifs_end = Instant::START;
        }
    }

    /// Updates the NAV from the Duration field, in microseconds, of a frame for another station
    /// that has ended.
    pub(super) fn reserve(&mut self, now: Instant, kind: Kind, duration: u16) {
        let time = match kind {
            // A PS-Poll carries no duration: the NAV covers the ACK that follows (9.2.5.4).
            Kind::PsPoll => self.poll_answer,
            _ if duration <= MAX_DURATION => Duration::from_micros(u64::from(duration)),
            _ => return,
        };
        self.reserved = self.reserved.max(now + time);
    }

    /// Updates the NAV from the first four bytes of an intact frame for another station that has
    /// ended.
    pub(super) fn reserve_by_head(&mut self, now: Instant, head: [u8; 4]) {
        let [code, _, low, high] = head;
        if let Some(kind) = Kind::from_code(code) {
            self.reserve(now, kind, u16::from_le_bytes([low, high]));
        }
    }

    /// Returns `true` if physical and virtual carrier sense report the medium idle.
    pub(super) fn is_idle(&self, now: Instant) -> bool {
        !self.busy && self.reserved <= now
    }

    /// Returns `true` if the NAV is set.
    pub(super) fn is_reserved(&self, now: Instant) -> bool {
        self.reserved > now
    }

    /// Returns `true` if a signal overlaps with the station's own transmission.
    pub(super) fn is_deaf(&self) -> bool {
        self.deaf
    }

    /// Switches the radio off: until `wake`, signals cannot be decoded.
    pub(super) fn sleep(&mut self) {
        self.asleep = true;
        self.deaf = true;
    }

    /// Switches the radio on; a frame that is already on the air cannot be decoded.
    pub(super) fn wake(&mut self) {
        self.asleep = false;
        self.deaf = self.busy;
    }

    /// Returns `true` if no backoff is pending, so only the end of the last signal matters.
    pub(super) fn is_settled(&self) -> bool {
        self.backoff.is_none() && self.committed.is_none() && !self.transmitting && !self.asleep
    }

    /// Returns `true` if a backoff is running: the medium is idle and the backoff is not over.
    pub(super) fn is_counting(&self) -> bool {
        let is_free = !self.busy && !self.transmitting && !self.asleep;
        is_free && self.backoff.is_some() && self.committed.is_none()
    }

    /// Returns `true` if an attempt can no longer be stopped by carrier sense.
    pub(super) fn is_committed(&self) -> bool {
        self.committed.is_some()
    }

    /// Returns `true` if the carrier of another station is sensed.
    pub(super) fn is_busy(&self) -> bool {
        self.busy
    }

    /// Clears the backoff: it has ended, and its attempt begins or is cancelled.
    pub(super) fn spend(&mut self) {
        self.backoff = None;
        self.committed = None;
    }

    /// Suspends the backoff: the station begins to transmit.
    pub(super) fn begin(&mut self, now: Instant) {
        self.freeze(now);
        self.committed = None;
        self.transmitting = true;
        self.deaf = self.busy;
    }

    /// Begins an idle period: the station's own frame has ended. DIFS follows it.
    pub(super) fn end(&mut self, now: Instant) {
        self.transmitting = false;
        self.idle_since = self.idle_since.max(now);
        self.failed = false;
        self.eifs_end = Instant::START;
    }

    /// Starts a new backoff of `slots` slots, which begins at `now` at the earliest.
    pub(super) fn back_off(&mut self, now: Instant, slots: u32) {
        self.committed = None;
        self.not_before = self.not_before.max(now);
        self.wait(slots);
    }

    /// Prepares to contend for a packet. A station without a pending backoff draws one only if the
    /// medium is busy.
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
        // The station itself transmits after the last slot, so it cannot sense another one there.
        self.slots += slots.saturating_sub(1);
        if self.slots > SLOTS {
            (self.slots, self.taken) = (self.slots / 2, self.taken / 2);
        }
    }

    /// Suspends the backoff: subtracts the whole slots that passed idle, and returns their number.
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
