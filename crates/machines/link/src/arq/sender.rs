//! The sender: window, retransmission, and drops.

use std::collections::VecDeque;

use windfall_base::seq::Seq32;
use windfall_base::{DropReason, Duration, Frame, Instant, PacketEvent};
use windfall_wire_link::coded::WindowNumber;
use windfall_wire_link::pipe::{Ack, Probe, UNTOLD};

use super::framer::{Fate, Framer, Reported};
use super::reordering::Reordering;
use super::round_trip::RoundTrip;
use crate::window::{Pulled, Window};

/// On a link without rate and delay an attempt takes no time. If nothing gets through, attempts at
/// the same instant would never end. So the link pauses after this number of attempts.
const ATTEMPTS_AT_ONCE: u32 = 16;
/// The minimum number of transmissions that are remembered while no report arrives.
const LEAST_FLIGHTS: usize = 16_384;
/// The duration of the first pause. Each following one is twice as long until a packet arrives.
const PAUSE: Duration = Duration::from_micros(100);
/// The longest pause: a link that works again is detected within this time.
const LONGEST_PAUSE: Duration = Duration::from_millis(10);
/// The number of pauses without success after which only one packet is tried.
const PATIENT: u32 = 2;

/// Entry `i` of the window: packet `base + i`.
#[derive(Debug)]
struct Place<P> {
    len: usize,
    /// `None` if the packet is settled: acknowledged, dropped, or sent for the only time.
    copy: Option<P>,
}

/// A transmission in flight, which has not been reported.
#[derive(Debug)]
struct Flight {
    order: Seq32,
    /// The packet number; `None` for a probe.
    seq: Option<Seq32>,
    sent: Instant,
}

/// Sends packets until they are acknowledged or given up.
#[derive(Debug)]
pub(crate) struct Sender<F: Framer> {
    pub(crate) framer: F,
    window: Window,
    /// The first packet that is not settled.
    base: Seq32,
    places: VecDeque<Place<F::Packet>>,
    /// Bytes of the packets in `places`.
    bytes: usize,
    /// The number of packets that are not settled.
    open: usize,
    /// Packets to retransmit, or with more parts to send, in order.
    repeats: VecDeque<Seq32>,
    /// The number of the next transmission.
    order: Seq32,
    /// The transmissions in flight, in order and without gaps.
    flights: VecDeque<Flight>,
    /// The sender has dropped packets before this one, so the receiver must not wait for them.
    pass_over: Seq32,
    /// The first packet that the receiver still waits for, according to its last ACK.
    peer_next: Seq32,
    /// The first transmission that carries the current start of the window.
    told_from: Seq32,
    probe_due: bool,
    /// The last transmission was a retransmission or unmeasured, so a probe follows to get its
    /// report.
    urgent: bool,
    round_trip: RoundTrip,
    /// The overtaken transmissions, which may still arrive.
    reordering: Reordering,
    timer: Option<Instant>,
    /// Nothing is sent before this time.
    paused: Option<Instant>,
    /// The number of pauses since a packet last arrived.
    in_vain: u32,
}

impl<F: Framer> Sender<F> {
    pub(crate) fn new(framer: F, window: Window) -> Self {
        let zero = Seq32(0);
        Self {
            framer,
            window,
            base: zero,
            places: VecDeque::new(),
            bytes: 0,
            open: 0,
            repeats: VecDeque::new(),
            order: zero,
            flights: VecDeque::new(),
            pass_over: zero,
            peer_next: zero,
            told_from: zero,
            probe_due: false,
            urgent: false,
            round_trip: RoundTrip::default(),
            reordering: Reordering::default(),
            timer: None,
            paused: None,
            in_vain: 0,
        }
    }

    /// Returns the number of packets of which a copy is kept.
    pub(crate) fn held(&self) -> usize {
        self.open
    }

    pub(crate) fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        let overdue = self.timer.map(|at| (at, "link report overdue"));
        let paused = self.paused.map(|at| (at, "link pauses"));
        let overtaken = self.reordering.poll_timeout().map(|at| (at, "link frame overtaken"));
        [overdue, paused, overtaken].into_iter().flatten().min()
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        self.paused = self.paused.filter(|until| now < *until);
        self.reordering.handle_timeout(now);
        if self.timer.is_some_and(|due| due <= now) {
            self.timer = None;
            self.round_trip.back_off();
            self.probe_due = true;
        }
    }

    /// Returns the next frame with a packet: a retransmission, or a new packet if the window is
    /// open.
    pub(crate) fn poll_packet(
        &mut self,
        now: Instant,
        events: &mut VecDeque<PacketEvent>,
        mut pull: impl FnMut() -> Option<Pulled>,
    ) -> Option<Frame> {
        for lost in self.reordering.take_lost(now, self.round_trip.mean()) {
            self.settle(lost.seq, lost.order, Reported::Lost, events);
        }
        if self.paused.is_some_and(|until| now < until) || self.awaits_trial() {
            return None;
        }
        loop {
            let is_full =
                self.places.len() >= self.window.packets || self.bytes >= self.window.bytes;
            let seq = match self.repeats.pop_front() {
                Some(seq) => seq,
                None if is_full => return None,
                None => self.begin(pull()?),
            };
            let frame = self.transmit(now, seq, events);
            if frame.is_some() {
                return frame;
            }
        }
    }

    /// Adds a packet to the window.
    fn begin(&mut self, pulled: Pulled) -> Seq32 {
        let packet = self.framer.begin(pulled);
        let seq = self.base + self.places.len() as u32;
        let len = F::len(&packet);
        self.bytes += len;
        self.open += 1;
        self.places.push_back(Place { len, copy: Some(packet) });
        seq
    }

    /// Returns the next probe.
    pub(crate) fn poll_probe(&mut self, now: Instant) -> Option<Frame> {
        let untold = self.peer_is_behind() && self.told_from == self.order;
        let in_doubt = self.urgent && self.open > 0;
        if !self.probe_due && !untold && !in_doubt {
            return None;
        }
        let (header, trailer) = Probe { base: self.base, order: self.order }.encode();
        self.note_flight(now, None);
        Some(Frame::control(header, trailer))
    }

    /// Handles an ACK. Returns `false` if it is invalid.
    pub(crate) fn take_ack(
        &mut self,
        now: Instant,
        ack: &Ack,
        events: &mut VecDeque<PacketEvent>,
    ) -> bool {
        let end = ack.first + ack.arrived.len() as u32;
        let top = self.base + self.places.len() as u32;
        if self.order.is_before(end) || top.is_before(ack.next) {
            return false;
        }
        if self.peer_next.is_before(ack.next) {
            self.peer_next = ack.next;
        }
        let from = self.flights.front().map_or(self.order, |flight| flight.order);
        for late in self.reordering.take_late(now, ack, from) {
            self.in_vain = 0;
            self.settle(late.seq, late.order, Reported::Whole, events);
        }
        let kept = |at: usize| ack.kept.as_ref().and_then(|kept| kept.iter().nth(at));
        let mut fates = ack.arrived.iter().enumerate();
        let mut at = ack.first;
        while self.flights.front().is_some_and(|flight| flight.order.is_before(end))
            && let Some(flight) = self.flights.pop_front()
        {
            let is_told = !flight.order.is_before(ack.first);
            let reported = if !is_told {
                // Earlier ACKs were lost. The receiver has the packets for which it no longer
                // waits.
                let arrived = flight.seq.is_some_and(|seq| seq.is_before(ack.next));
                if arrived { Reported::Whole } else { Reported::Lost }
            } else {
                let skip = flight.order.distance_from(at) as usize;
                at = flight.order.next();
                match fates.nth(skip) {
                    Some((_, true)) => Reported::Whole,
                    Some((at, false)) if kept(at) == Some(true) => Reported::Kept,
                    _ => Reported::Lost,
                }
            };
            if reported != Reported::Lost && flight.seq.is_some() {
                self.in_vain = 0;
            }
            if flight.order.next() == end {
                self.round_trip.sample(now.saturating_since(flight.sent));
            }
            if let Some(seq) = flight.seq {
                if flight.sent == now && reported != Reported::Whole {
                    self.pause_after_many(now, seq);
                }
                let is_missing = is_told
                    && reported == Reported::Lost
                    && !self.framer.has_heard_of(flight.order);
                if is_missing {
                    let until = self.copy(seq).and_then(|copy| F::latest_start(copy));
                    if self.reordering.miss(now, flight.order, seq, until) {
                        continue;
                    }
                }
                self.settle(seq, flight.order, reported, events);
            }
        }
        if self.flights.is_empty() {
            self.told_from = self.order;
        }
        self.set_timer(now);
        true
    }

    /// Pauses if a packet was sent repeatedly without success at the same instant.
    fn pause_after_many(&mut self, now: Instant, seq: Seq32) {
        let attempts = self.copy(seq).map_or(0, |copy| F::attempts(copy));
        let is_paused = self.paused.is_some_and(|until| now < until);
        if attempts > 0 && attempts.is_multiple_of(ATTEMPTS_AT_ONCE) && !is_paused {
            let pause = PAUSE.saturating_mul(1 << self.in_vain.min(16));
            self.paused = Some(now + pause.min(LONGEST_PAUSE));
            self.in_vain += 1;
        }
    }

    /// Returns `true` if nothing has arrived for so long that only one packet is tried, and it is
    /// in flight.
    fn awaits_trial(&self) -> bool {
        let is_open = |seq: Option<Seq32>| {
            let seq = seq.map(|seq| seq.distance_from(self.base));
            let place = seq.and_then(|place| usize::try_from(place).ok());
            place.and_then(|at| self.places.get(at)).is_some_and(|place| place.copy.is_some())
        };
        let sent = self.flights.iter().map(|flight| flight.seq);
        let mut under_way = sent.chain(self.reordering.awaited().map(Some));
        self.in_vain >= PATIENT && under_way.any(is_open)
    }

    /// Handles the outcome of one transmission of a packet.
    fn settle(
        &mut self,
        seq: Seq32,
        order: Seq32,
        reported: Reported,
        events: &mut VecDeque<PacketEvent>,
    ) {
        let Some(copy) = copy(&mut self.places, self.base, seq) else {
            if reported != Reported::Whole && self.pass_over.is_before(seq.next()) {
                self.pass_over = seq.next();
            }
            return;
        };
        match self.framer.settle(copy, order, reported) {
            Fate::Open => {}
            Fate::Done => {
                events.push_back(F::acknowledged(copy));
                self.forget(seq);
            }
            //= S3.12
            Fate::UsedUp => self.give_up(seq, DropReason::RetryLimit, events),
            Fate::Again => {
                let at = self.repeats.partition_point(|other| other.is_before(seq));
                if self.repeats.get(at) != Some(&seq) {
                    self.repeats.insert(at, seq);
                }
            }
        }
    }

    fn give_up(&mut self, seq: Seq32, reason: DropReason, events: &mut VecDeque<PacketEvent>) {
        if let Some(copy) = self.copy(seq) {
            events.push_back(F::dropped(copy, reason));
        }
        if self.pass_over.is_before(seq.next()) {
            self.pass_over = seq.next();
        }
        self.forget(seq);
    }

    /// Drops the copy of a packet, and advances the window over settled packets.
    fn forget(&mut self, seq: Seq32) {
        let place = seq.distance_from(self.base) as usize;
        if self.places.get_mut(place).and_then(|place| place.copy.take()).is_some() {
            self.open -= 1;
        }
        while self.places.front().is_some_and(|place| place.copy.is_none())
            && let Some(place) = self.places.pop_front()
        {
            self.bytes -= place.len;
            self.base = self.base.next();
            self.told_from = self.order;
        }
    }

    /// Returns the copy of packet `seq`; `None` if the packet is settled.
    fn copy(&mut self, seq: Seq32) -> Option<&mut F::Packet> {
        copy(&mut self.places, self.base, seq)
    }

    /// Sends the next attempt of a packet, or drops the packet if its lifetime has ended.
    fn transmit(
        &mut self,
        now: Instant,
        seq: Seq32,
        events: &mut VecDeque<PacketEvent>,
    ) -> Option<Frame> {
        let settled = u16::try_from(seq.distance_from(self.base)).unwrap_or(UNTOLD);
        let number = WindowNumber { seq, order: self.order, settled };
        let copy = copy(&mut self.places, self.base, seq)?;
        let Some(frame) = self.framer.frame(now, copy, number, events) else {
            self.give_up(seq, DropReason::Expired, events);
            return None;
        };
        let again = F::attempts(copy) > 1;
        let more = F::wants_more(copy);
        self.note_flight(now, Some(seq));
        if settled == UNTOLD && self.told_from == number.order {
            self.told_from = self.order;
        }
        self.urgent = again || !self.round_trip.is_measured();
        if more {
            self.repeats.push_front(seq);
        }
        if !frame.kept {
            self.forget(seq);
        }
        Some(frame)
    }

    fn note_flight(&mut self, now: Instant, seq: Option<Seq32>) {
        // Without ACKs, the records of packets that are sent only once would accumulate.
        if self.flights.len() > 2 * self.window.packets.max(LEAST_FLIGHTS)
            && let Some(seq) = self.flights.front().map(|flight| flight.seq)
            && seq.is_none_or(|seq| self.copy(seq).is_none())
        {
            self.flights.pop_front();
        }
        self.flights.push_back(Flight { order: self.order, seq, sent: now });
        self.order = self.order.next();
        self.probe_due = false;
        self.urgent = false;
        self.set_timer(now);
    }

    fn peer_is_behind(&self) -> bool {
        self.peer_next.is_before(self.pass_over) && self.peer_next.is_before(self.base)
    }

    /// Sets the timeout for the report of the last transmission, if a packet depends on it.
    fn set_timer(&mut self, now: Instant) {
        let depends = self.open > 0 || self.peer_is_behind();
        let last = self.flights.back().filter(|_| depends);
        let wait = self.round_trip.patience();
        // If the timeout has already passed when a report arrives, the next report is probably on
        // its way.
        self.timer = last.map(|last| last.sent.saturating_add(wait).max(now + wait / 2));
    }
}

/// Returns the copy of packet `seq` in a window that begins with `base`; `None` if it is settled.
fn copy<P>(places: &mut VecDeque<Place<P>>, base: Seq32, seq: Seq32) -> Option<&mut P> {
    let place = usize::try_from(seq.distance_from(base)).ok()?;
    places.get_mut(place)?.copy.as_mut()
}

#[cfg(test)]
mod tests;
