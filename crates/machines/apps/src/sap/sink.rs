//! Receives messages of the senders here, and measures their loss, their damage and their age.

use std::collections::{BTreeMap, VecDeque};

use core::net::SocketAddr;

use windfall_base::{Duration, Instant, Seed};
use windfall_sap::{
    CloseReason, ConnectionId, Inspector, Integrity, MessageKind, Received, SapConfig, SapEvent,
    Tolerance,
};
use windfall_stack::socket_api::{
    Application, Measured, MessageArrival, SocketCommand, SocketError, SocketEvent,
};

use super::carrier::Carrier;
use super::contents::Contents;
use crate::arrivals::{ArrivalOrder, Arrivals};
use crate::pattern::Wrong;
use crate::quantiles::Quantiles;
use crate::spread::Spread;

/// The configuration of a receiver of messages.
#[derive(Clone, Debug, PartialEq)]
pub struct SapSinkConfig {
    /// The address at which it listens.
    pub local: SocketAddr,
    /// The parameters of its endpoint.
    pub sap: SapConfig,
    /// The greatest bit error rate that it accepts in approximate messages; worse ones are
    /// requested again. Any if `None`.
    pub tolerance: Option<f64>,
    /// The age above which a message counts as late.
    pub lifetime: Option<Duration>,
    /// Which of the receivers of a run it is, for random numbers of its own.
    pub number: u64,
}

/// Accepts every connection, and checks each bit of what arrives.
#[derive(Debug)]
pub struct SapSink {
    config: SapSinkConfig,
    contents: Contents,
    carrier: Carrier,
    peers: BTreeMap<ConnectionId, Peer>,
    tally: Tally,
    /// Messages for the record.
    arrived: VecDeque<MessageArrival>,
}

/// A connection that was accepted.
struct Peer {
    approximate: Arrivals,
    inspector: Inspector,
    finished: bool,
}

impl core::fmt::Debug for Peer {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Peer").field("finished", &self.finished).finish_non_exhaustive()
    }
}

/// The counts and times of a receiver.
#[derive(Clone, Debug, Default)]
struct Tally {
    accepted: u64,
    finished: u64,
    failed: u64,
    received: u64,
    bytes: u64,
    lost: u64,
    reordered: u64,
    late: u64,
    marked: u64,
    damaged: u64,
    incomplete: u64,
    missing_bytes: u64,
    requested: u64,
    wrong: Wrong,
    ages: Spread,
    age_quantiles: Quantiles,
    gaps: Spread,
    first: Option<Instant>,
    last: Option<Instant>,
    /// When the last connection ended that had not finished.
    broken: Option<Instant>,
    /// Bytes of the first message: they arrived before the measured time.
    first_bytes: u64,
}

impl SapSink {
    /// A receiver that does what `config` says and expects the contents of `seed`.
    #[must_use]
    pub fn new(config: SapSinkConfig, seed: Seed) -> Self {
        let random = Carrier::random(seed, "sap-sink", config.number);
        let mut carrier = Carrier::new(config.sap, config.local, random);
        carrier.endpoint.listen(true);
        let peers = BTreeMap::new();
        let tally = Tally::default();
        let arrived = VecDeque::new();
        Self { contents: Contents::new(seed), carrier, peers, tally, arrived, config }
    }

    fn handle_sap(&mut self, now: Instant, id: ConnectionId, event: &SapEvent) {
        match event {
            SapEvent::Accepted { .. } => self.accept(id),
            SapEvent::Readable => self.read(now, id),
            SapEvent::Finished { approximate } => {
                self.read(now, id);
                self.finish(now, id, *approximate);
            }
            SapEvent::Closed(reason) => {
                self.read(now, id);
                self.forget(now, id, *reason);
            }
            _ => {}
        }
    }

    fn accept(&mut self, id: ConnectionId) {
        self.carrier.endpoint.accept(id);
        self.tally.accepted += 1;
        let mut inspector = Inspector::default();
        let accepts =
            |bit_errors| Tolerance { bit_errors, loss: true, in_order: false, protected: 0 };
        inspector.set_tolerance(self.config.tolerance.map(accepts));
        let approximate = Arrivals::default();
        self.peers.insert(id, Peer { approximate, inspector, finished: false });
    }

    /// Takes every message that has arrived.
    fn read(&mut self, now: Instant, id: ConnectionId) {
        while let Some(received) = self.carrier.endpoint.receive(now, id) {
            let Some(peer) = self.peers.get_mut(&id) else { continue };
            if received.kind == MessageKind::Approximate
                && peer.approximate.note(received.number.into()) == ArrivalOrder::Late
            {
                self.tally.reordered += 1;
            }
            if let Some(request) = peer.inspector.push(received) {
                self.tally.requested += 1;
                let stream = request.stream;
                let number = request.number;
                // A connection that has ended repairs nothing.
                let asked = self.carrier.endpoint.repair(id, stream, number, &request.ranges);
                if asked.is_err() {
                    peer.inspector.give_up();
                }
            }
            self.deliver(now, id);
        }
    }

    /// Takes the messages that wait for no repair.
    fn deliver(&mut self, now: Instant, id: ConnectionId) {
        let Some(peer) = self.peers.get_mut(&id) else { return };
        while let Some(received) = peer.inspector.pop() {
            if received.kind != MessageKind::Repair {
                let arrival = arrival(now, &received, &self.contents, &mut self.tally.wrong.bits);
                self.tally.take(now, &arrival, self.config.lifetime);
                self.arrived.push_back(arrival);
            }
        }
    }

    /// The peer has sent all, and this many approximate messages.
    fn finish(&mut self, now: Instant, id: ConnectionId, approximate: u32) {
        let Some(peer) = self.peers.get_mut(&id) else { return };
        peer.finished = true;
        peer.inspector.give_up();
        let lost = u64::from(approximate).saturating_sub(peer.approximate.distinct());
        self.tally.lost += lost;
        self.tally.finished += 1;
        self.deliver(now, id);
        self.carrier.endpoint.close(now, id);
    }

    /// A connection has ended.
    fn forget(&mut self, now: Instant, id: ConnectionId, reason: CloseReason) {
        if let Some(peer) = self.peers.get_mut(&id) {
            peer.inspector.give_up();
            if !peer.finished {
                self.tally.lost += peer.approximate.missing();
                self.tally.broken = Some(now);
            }
            self.tally.failed += u64::from(!peer.finished && reason != CloseReason::Closed);
        }
        self.deliver(now, id);
        self.peers.remove(&id);
        self.carrier.endpoint.close(now, id);
    }
}

/// Compares a message with the sent one, and adds its bit errors to those of others.
fn arrival(
    now: Instant,
    received: &Received,
    contents: &Contents,
    wrong_bits: &mut u64,
) -> MessageArrival {
    let number = received.number.into();
    let checked = contents.check(number, &received.data, &received.missing);
    *wrong_bits += checked.wrong.bits;
    MessageArrival {
        number,
        precise: received.kind == MessageKind::Precise,
        len: received.data.len(),
        age: checked.due.filter(|due| *due <= now).map(|due| now - due),
        wrong_bytes: checked.wrong.bytes,
        missing: checked.missing,
        marked: matches!(received.integrity, Integrity::Suspect(_)),
    }
}

impl Tally {
    fn take(&mut self, now: Instant, arrival: &MessageArrival, lifetime: Option<Duration>) {
        let MessageArrival { len, age, wrong_bytes, missing, marked, .. } = *arrival;
        self.note_arrival(now, len as u64 - missing);
        self.marked += u64::from(marked);
        self.damaged += u64::from(wrong_bytes > 0);
        self.incomplete += u64::from(missing > 0);
        self.missing_bytes += missing;
        self.wrong.bytes += wrong_bytes;
        let Some(age) = age else { return };
        self.late += u64::from(lifetime.is_some_and(|lifetime| age > lifetime));
        self.ages.add(age.as_secs_f64());
        self.age_quantiles.add(age);
    }

    fn note_arrival(&mut self, now: Instant, len: u64) {
        self.received += 1;
        self.bytes += len;
        match self.last.replace(now) {
            Some(last) => self.gaps.add(now.saturating_since(last).as_secs_f64()),
            None => (self.first, self.first_bytes) = (Some(now), len),
        }
    }

    /// Bits of data per second from the first arrival to the last, if there are two of them, or to
    /// `end`, at which a connection was open or broke: one that stalled carried nothing meanwhile.
    fn goodput(&self, end: Option<Instant>) -> Option<f64> {
        let (first, last) = self.first.zip(self.last).filter(|(first, last)| last > first)?;
        let last = end.map_or(last, |end| end.max(last));
        Some(((self.bytes - self.first_bytes) * 8) as f64 / (last - first).as_secs_f64())
    }

    fn report(&self, end: Option<Instant>) -> Vec<(&'static str, Measured)> {
        let [least, most] =
            [self.ages.least(), self.ages.most()].map(|it: Option<f64>| it.unwrap_or_default());
        let age = |share| self.age_quantiles.at(share).map(|age| age.clamp(least, most)).into();
        vec![
            ("accepted", self.accepted.into()),
            ("finished", self.finished.into()),
            ("received", self.received.into()),
            ("received_bytes", self.bytes.into()),
            ("reordered", self.reordered.into()),
            ("late", self.late.into()),
            ("marked_damaged", self.marked.into()),
            ("damaged", self.damaged.into()),
            ("bit_errors", self.wrong.bits.into()),
            ("byte_errors", self.wrong.bytes.into()),
            ("incomplete", self.incomplete.into()),
            ("missing_bytes", self.missing_bytes.into()),
            ("repairs_requested", self.requested.into()),
            ("goodput_bps", self.goodput(end).into()),
            ("age_min_seconds", self.ages.least().into()),
            ("age_mean_seconds", self.ages.mean().into()),
            ("age_p50_seconds", age(0.5)),
            ("age_p90_seconds", age(0.9)),
            ("age_p99_seconds", age(0.99)),
            ("age_max_seconds", self.ages.most().into()),
            ("gap_min_seconds", self.gaps.least().into()),
            ("gap_mean_seconds", self.gaps.mean().into()),
            ("gap_max_seconds", self.gaps.most().into()),
            ("gap_sd_seconds", self.gaps.deviation().into()),
            ("failed", self.failed.into()),
        ]
    }
}

impl Application for SapSink {
    fn handle_event(&mut self, now: Instant, event: SocketEvent) {
        self.carrier.handle_event(now, &event);
        // A port that a bit error has changed is closed, and SAP notices a peer that has gone.
        let is_own = |error| !matches!(error, SocketError::PortClosed | SocketError::Unreachable);
        if let SocketEvent::Failed { error, .. } = event {
            self.tally.failed += u64::from(is_own(error));
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.carrier.endpoint.handle_timeout(now);
    }

    fn poll_command(&mut self, now: Instant) -> Option<SocketCommand> {
        loop {
            if let Some(command) = self.carrier.poll_command(now) {
                return Some(command);
            }
            let (id, event) = self.carrier.endpoint.poll_event()?;
            self.handle_sap(now, id, &event);
        }
    }

    fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        if !self.carrier.is_opened() {
            return Some((Instant::START, "open"));
        }
        Some((self.carrier.endpoint.deadline()?, "sap"))
    }

    fn poll_message(&mut self) -> Option<MessageArrival> {
        self.arrived.pop_front()
    }

    fn report(&self, now: Instant) -> Vec<(&'static str, Measured)> {
        let open = self.peers.values().filter(|peer| !peer.finished);
        let end = open.clone().next().map(|_| now).or(self.tally.broken);
        let mut report = self.tally.report(end);
        let missing: u64 = open.map(|peer| peer.approximate.missing()).sum();
        report.push(("lost", (self.tally.lost + missing).into()));
        report.push(("truncated_bytes", self.carrier.truncated.into()));
        report.extend(self.carrier.drops());
        report
    }
}
