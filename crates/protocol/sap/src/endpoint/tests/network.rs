//! Two endpoints and a network between them that is as bad as a test wants.

use std::collections::BTreeMap;

use windfall_base::{Probability, Seed, Stream};

use super::super::*;
use crate::message::Mode;

/// How bad the network is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Weather {
    /// Datagrams that vanish.
    pub(super) loss: f64,
    /// Datagrams with inverted bits, which reach the endpoint as if no checksum below had looked.
    pub(super) damage: f64,
    /// Bytes at the front that escape damage.
    pub(super) spared: usize,
    /// Datagrams that arrive twice.
    pub(super) doubled: f64,
    /// Datagrams that come up to 20 ms later than the others.
    pub(super) late: f64,
    /// Longer datagrams vanish.
    pub(super) mtu: usize,
}

pub(super) const FAIR: Weather =
    Weather { loss: 0.0, damage: 0.0, spared: 0, doubled: 0.0, late: 0.0, mtu: 65_535 };

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
    pub(super) weather: Weather,
    pub(super) now: Instant,
    /// When each datagram arrives, where, from whom, and what it is.
    flying: BTreeMap<(Instant, u64), (usize, SocketAddr, Bytes)>,
    sent: u64,
    stream: Stream,
    /// What happened at each end.
    pub(super) events: [Vec<(ConnectionId, SapEvent)>; 2],
    /// Every datagram sent, and by whom.
    pub(super) log: Vec<(usize, OutgoingDatagram)>,
}

impl Network {
    pub(super) fn new(config: SapConfig, weather: Weather, seed: u64) -> Self {
        let mut ends =
            [1, 2].map(|key| SapEndpoint::new(config, Secret::new([key ^ seed as u8; 32])));
        ends[B].listen(true);
        Self {
            ends,
            weather,
            now: Instant::START + Duration::from_secs(100),
            flying: BTreeMap::new(),
            sent: 0,
            stream: Stream::new(Seed(seed), "weather"),
            events: [Vec::new(), Vec::new()],
            log: Vec::new(),
        }
    }

    /// Two connected endpoints, and the names that they have for their connection.
    pub(super) fn connected(
        config: SapConfig,
        weather: Weather,
        seed: u64,
    ) -> (Self, [ConnectionId; 2]) {
        let mut network = Self::new(config, FAIR, seed);
        let a = network.ends[A].connect(network.now, address(B));
        network.run(Duration::from_millis(100));
        let b = network.accepted().expect("it was accepted");
        network.weather = weather;
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

    /// What both ends have to send flies or vanishes.
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
        let Weather { loss, damage, spared, doubled, late, mtu } = self.weather;
        for _ in 0..=u8::from(self.chance(doubled)) {
            let mut bytes = transmit.to_bytes().to_vec();
            if self.chance(loss) || bytes.len() > mtu {
                continue;
            }
            if self.chance(damage) && spared < bytes.len() {
                for _ in 0..=self.stream.below(8) {
                    let range = 8 * (bytes.len() - spared) as u64;
                    let bit = 8 * spared + self.stream.below(range) as usize;
                    bytes[bit / 8] ^= 0x80 >> (bit % 8);
                }
            }
            let extra = if self.chance(late) { self.stream.below(20_000) } else { 0 };
            let at = self.now + DELAY + Duration::from_micros(extra);
            self.sent += 1;
            self.flying.insert((at, self.sent), (to, address(1 - to), bytes.into()));
        }
    }

    /// Lets time pass.
    pub(super) fn run(&mut self, span: Duration) {
        let end = self.now + span;
        self.drain();
        loop {
            let timers = self.ends.iter().filter_map(|end| Some(end.poll_timeout()?.0));
            let next = self.flying.keys().next().map(|key| key.0).into_iter().chain(timers).min();
            let Some(next) = next.filter(|next| *next <= end) else { break };
            self.now = next;
            while let Some(entry) = self.flying.first_entry().filter(|it| it.key().0 <= next) {
                let (to, from, bytes) = entry.remove();
                self.ends[to].handle_datagram(next, from, &bytes, true);
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
