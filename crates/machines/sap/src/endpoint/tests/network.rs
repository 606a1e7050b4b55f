//! Two endpoints and an impaired network between them.

use std::collections::BTreeMap;

use windfall_base::{Probability, Seed, Stream};

use super::super::*;
use crate::message::Mode;

/// The impairments of the network.
#[derive(Clone, Copy, Debug)]
pub(super) struct Impairments {
    /// The fraction of datagrams that are lost.
    pub(super) loss: f64,
    /// The fraction of those to `A` that are lost besides.
    pub(super) loss_to_a: f64,
    /// The fraction of datagrams with inverted bits, which no lower layer detects.
    pub(super) damage: f64,
    /// The number of bytes at the front that are never damaged.
    pub(super) intact_prefix: usize,
    /// The fraction of datagrams that arrive twice.
    pub(super) duplication: f64,
    /// The fraction of datagrams that are delayed by up to 20 ms.
    pub(super) reordering: f64,
    /// The fraction of datagrams that overtake the others, which take this much longer.
    pub(super) overtaking: (f64, Duration),
    /// The length above which datagrams are lost.
    pub(super) mtu: usize,
    /// The link, if it has a rate and repeats what it damages.
    pub(super) link: Option<Link>,
}

/// A link that repeats damaged datagrams until they arrive intact, in order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    /// Bytes per second.
    pub(super) rate: f64,
    /// The time until it repeats a datagram.
    pub(super) repeats: Duration,
    /// It passes damaged copies up.
    pub(super) accepts_damaged: bool,
}

pub(super) const CLEAN: Impairments = Impairments {
    loss: 0.0,
    loss_to_a: 0.0,
    damage: 0.0,
    intact_prefix: 0,
    duplication: 0.0,
    reordering: 0.0,
    overtaking: (0.0, Duration::ZERO),
    mtu: 65_535,
    link: None,
};

/// The delay of the path in one direction.
pub(super) const DELAY: Duration = Duration::from_millis(5);
pub(super) const SECOND: Duration = Duration::from_secs(1);

pub(super) const A: usize = 0;
pub(super) const B: usize = 1;

pub(super) fn address(end: usize) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, end as u8 + 1], 4000))
}

/// Two endpoints, of which `B` listens.
pub(super) struct Network {
    pub(super) ends: [SapEndpoint; 2],
    pub(super) impairments: Impairments,
    pub(super) now: Instant,
    /// The address of `A` as `B` sees it.
    pub(super) outside: SocketAddr,
    /// Arrival time, receiver, sender and bytes of each datagram.
    in_flight: BTreeMap<(Instant, u64), (usize, SocketAddr, Bytes)>,
    sent: u64,
    /// The times at which the link to each end is free, and has delivered what it took.
    free: [(Instant, Instant); 2],
    stream: Stream,
    /// The events of each end.
    pub(super) events: [Vec<(ConnectionId, SapEvent)>; 2],
    /// Every datagram sent, with its sender.
    pub(super) log: Vec<(usize, OutgoingDatagram)>,
}

impl Network {
    pub(super) fn new(config: SapConfig, impairments: Impairments, seed: u64) -> Self {
        let mut ends =
            [1, 2].map(|key| SapEndpoint::new(config, Secret::new([key ^ seed as u8; 32])));
        ends[B].listen(true);
        Self {
            ends,
            impairments,
            now: Instant::START + Duration::from_secs(100),
            outside: address(A),
            in_flight: BTreeMap::new(),
            sent: 0,
            free: [(Instant::START, Instant::START); 2],
            stream: Stream::new(Seed(seed), "path"),
            events: [Vec::new(), Vec::new()],
            log: Vec::new(),
        }
    }

    /// Two connected endpoints, and the names that they have for their connection.
    pub(super) fn connected(
        config: SapConfig,
        impairments: Impairments,
        seed: u64,
    ) -> (Self, [ConnectionId; 2]) {
        let mut network = Self::new(config, CLEAN, seed);
        let a = network.ends[A].connect(network.now, address(B));
        network.run(Duration::from_millis(100));
        let b = network.accepted().expect("it was accepted");
        network.impairments = impairments;
        (network, [a, b])
    }

    /// The connection that was accepted last.
    pub(super) fn accepted(&self) -> Option<ConnectionId> {
        let accepted = |event: &SapEvent| matches!(event, SapEvent::Accepted { .. });
        self.events[B].iter().rev().find(|(_, event)| accepted(event)).map(|(id, _)| *id)
    }

    pub(super) fn happened(&self, end: usize, event: &SapEvent) -> bool {
        self.events[end].iter().any(|(_, other)| other == event)
    }

    fn chance(&mut self, p: f64) -> bool {
        self.stream.chance(Probability::new(p).expect("a probability"))
    }

    /// Drains both ends.
    pub(super) fn drain(&mut self) {
        self.transmit();
        for end in &self.ends {
            let due = end.poll_timeout();
            assert!(due.is_none_or(|(at, _)| at > self.now), "{due:?} is not in the future");
        }
    }

    /// Sends the datagrams of both ends, and loses some.
    fn transmit(&mut self) {
        for end in [A, B] {
            for round in 0.. {
                assert!(round < 100_000, "an endpoint sends without end");
                let Some(transmit) = self.ends[end].poll_transmit(self.now) else { break };
                self.fly(1 - end, &transmit);
                self.log.push((end, transmit));
            }
            while let Some(event) = self.ends[end].poll_event() {
                self.events[end].push(event);
            }
        }
    }

    fn fly(&mut self, to: usize, transmit: &OutgoingDatagram) {
        if transmit.to != [self.outside, address(B)][to] {
            return;
        }
        let Impairments { loss, damage, intact_prefix, duplication, reordering, mtu, link, .. } =
            self.impairments;
        let to_a = Some(self.impairments.loss_to_a).filter(|loss| to == A && *loss > 0.0);
        if let Some(link) = link {
            return self.cross(to, transmit, link);
        }
        for _ in 0..=u8::from(self.chance(duplication)) {
            let mut bytes = transmit.to_bytes().to_vec();
            let lost = self.chance(loss) || to_a.is_some_and(|loss| self.chance(loss));
            if lost || bytes.len() > mtu {
                continue;
            }
            if self.chance(damage) && intact_prefix < bytes.len() {
                self.damage(&mut bytes);
            }
            let extra = if self.chance(reordering) { self.stream.below(20_000) } else { 0 };
            let (overtaking, longer) = self.impairments.overtaking;
            let is_held = overtaking > 0.0 && !self.chance(overtaking);
            let longer = if is_held { longer } else { Duration::ZERO };
            self.arrive(self.now + DELAY + longer + Duration::from_micros(extra), to, bytes);
        }
    }

    fn arrive(&mut self, at: Instant, to: usize, bytes: Vec<u8>) {
        self.sent += 1;
        let from = [address(B), self.outside][to];
        self.in_flight.insert((at, self.sent), (to, from, bytes.into()));
    }

    /// Inverts some bits behind the intact prefix.
    fn damage(&mut self, bytes: &mut [u8]) {
        let prefix = self.impairments.intact_prefix;
        for _ in 0..=self.stream.below(8) {
            let range = 8 * (bytes.len() - prefix) as u64;
            let bit = 8 * prefix + self.stream.below(range) as usize;
            bytes[bit / 8] ^= 0x80 >> (bit % 8);
        }
    }

    /// Returns when the link to `end` has sent everything.
    pub(super) fn link_is_free(&self, end: usize) -> Instant {
        self.free[end].0
    }

    /// Sends a datagram over a link that repeats it until it is intact.
    fn cross(&mut self, to: usize, transmit: &OutgoingDatagram, link: Link) {
        let bytes = transmit.to_bytes().to_vec();
        let takes = Duration::from_secs_f64(bytes.len() as f64 / link.rate);
        let (mut free, delivered) = self.free[to];
        free = free.max(self.now) + takes;
        while self.impairments.intact_prefix < bytes.len() && self.chance(self.impairments.damage) {
            if link.accepts_damaged {
                let mut copy = bytes.clone();
                self.damage(&mut copy);
                self.arrive(free + DELAY, to, copy);
            }
            free = free + link.repeats + takes;
        }
        let at = delivered.max(free + DELAY);
        self.free[to] = (free, at);
        self.arrive(at, to, bytes);
    }

    /// Lets time pass.
    pub(super) fn run(&mut self, span: Duration) {
        let end = self.now + span;
        self.drain();
        loop {
            let timers = self.ends.iter().filter_map(|end| Some(end.poll_timeout()?.0));
            let next =
                self.in_flight.keys().next().map(|key| key.0).into_iter().chain(timers).min();
            let Some(next) = next.filter(|next| *next <= end) else { break };
            self.now = next;
            while let Some(entry) = self.in_flight.first_entry().filter(|it| it.key().0 <= next) {
                let (to, from, bytes) = entry.remove();
                self.ends[to].handle_datagram(next, &DatagramMeta::new(from), &bytes);
                self.transmit();
            }
            self.ends.iter_mut().for_each(|end| end.handle_timeout(next));
            self.drain();
        }
        self.now = end;
    }

    /// Sends a message from an end, which has room for it.
    pub(super) fn send(&mut self, end: usize, id: ConnectionId, mode: Mode, data: &[u8]) {
        let message = Message::new(mode, Bytes::copy_from_slice(data));
        self.ends[end].send(id, &message).expect("there is room");
        self.drain();
    }

    /// Makes each end believe that its peer predates messages in parts.
    pub(super) fn send_whole_messages(&mut self, ids: [ConnectionId; 2]) {
        for (end, id) in self.ends.iter_mut().zip(ids) {
            end.connections.get_mut(&id.0).expect("it is open").forbid_parts();
        }
    }

    /// Everything that waits at an end.
    pub(super) fn receive(&mut self, end: usize, id: ConnectionId) -> Vec<Received> {
        let mut received = Vec::new();
        while let Some(message) = self.ends[end].receive(self.now, id) {
            received.push(message);
        }
        self.drain();
        received
    }

    /// The datagrams of this kind that an end has sent.
    pub(super) fn sent(&self, end: usize, kind: SapKind) -> Vec<OutgoingDatagram> {
        let of_kind = |transmit: &OutgoingDatagram| {
            SapPacket::parse(&transmit.to_bytes()).is_ok_and(|packet| packet.header.kind == kind)
        };
        let ours = self.log.iter().filter(|(by, it)| *by == end && of_kind(it));
        ours.map(|(_, it)| it.clone()).collect()
    }
}
