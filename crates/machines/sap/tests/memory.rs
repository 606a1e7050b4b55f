//! The law of memory, on messages of all kinds that a hostile peer could send.
//!
//! One test in a program of its own: the memory of all threads is counted.

use std::alloc::System;
use std::net::{Ipv4Addr, SocketAddr};

use bytes::Bytes;
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use windfall_base::{Duration, Instant};
use windfall_sap::{
    ConnectionId, DatagramMeta, Message, Mode, SapConfig, SapEndpoint, SapEvent, Secret,
};
use windfall_testkit::laws::memory::Memory;
use windfall_wire_net::sap::{
    Part, SapAck, SapData, SapHeader, SapKind, SapPacket, SapPing, Span, features, flags,
};

#[global_allocator]
static HEAP: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// The length of the buffer that each datagram shares with others.
const BUFFER: usize = 1 << 16;
/// The number of datagrams of each kind.
const COUNT: usize = 6_000;
/// The bytes that a listener takes without a connection.
const FREE: usize = 64 << 10;
const ENOUGH: usize = 6 << 20;
const MIB: usize = 1 << 20;
/// The flags of a part of an approximate message.
const PARTS: u8 = flags::APPROXIMATE | flags::PART;

fn heap() -> usize {
    let stats = HEAP.stats();
    stats.bytes_allocated - stats.bytes_deallocated
}

/// A listener and a client that has connected to it by hand.
struct Scene {
    end: SapEndpoint,
    now: Instant,
    id: ConnectionId,
    number: u32,
    received: usize,
    before: usize,
}

impl Scene {
    fn new() -> Self {
        let now = Instant::START + Duration::from_secs(100);
        let mut end = SapEndpoint::new(SapConfig::standard(), Secret::new([7; 32]));
        end.listen(true);
        let ping = SapPing {
            connection: 9,
            max_datagram: 1472,
            features: features::PARTS,
            ..SapPing::default()
        };
        let id = ConnectionId(0);
        let mut scene = Self { end, now, id, number: 0, received: 0, before: 0 };
        scene.take(SapKind::Ping, 0, &ping.emit());
        let accept = scene.end.poll_transmit(now).expect("an answer").to_bytes();
        let accept = SapPacket::parse(&accept).expect("a SAP datagram");
        let id = accept.body.first_chunk().expect("an id");
        scene.id = ConnectionId(u32::from_be_bytes(*id));
        scene.take(SapKind::Probe, 0, &[]);
        scene.drain();
        scene.end.accept(scene.id);
        scene.received = 0;
        scene.before = heap();
        scene
    }

    /// Passes a datagram to the listener, as a slice of a buffer that it shares with others.
    fn take(&mut self, kind: SapKind, bits: u8, body: &[u8]) {
        let header =
            SapHeader { kind, flags: bits, exact: 0, connection: self.id.0, number: self.number };
        self.number += 1;
        let bytes = [&header.emit([body, &[]])[..], body].concat();
        self.received += bytes.len();
        let mut buffer = vec![0; BUFFER];
        buffer[..bytes.len()].copy_from_slice(&bytes);
        let meta = DatagramMeta { buffer: BUFFER, ..DatagramMeta::new(([10, 0, 0, 1], 9).into()) };
        let bytes = Bytes::from(buffer).slice(..bytes.len());
        self.end.handle_datagram(self.now, &meta, &bytes);
    }

    /// Sends what is due; everything is lost.
    fn drain(&mut self) {
        while self.end.poll_transmit(self.now).is_some() {}
        while self.end.poll_event().is_some() {}
    }

    fn check(&self, kind: &str) {
        let held = heap().saturating_sub(self.before);
        let charged = self.end.held();
        // The buffers of both directions, and the one message that may exceed them.
        let limit = 10 << 20;
        Memory { received: self.received, held, charged, limit }.check(kind);
    }

    fn run(mut self, kind: &str, mut send: impl FnMut(&mut Self, usize)) {
        for index in 0..COUNT {
            send(&mut self, index);
            if index % 50 == 0 {
                self.drain();
            }
            if index % 500 == 499 {
                self.check(kind);
                self.now += Duration::from_millis(1);
            }
            if self.received > ENOUGH {
                break;
            }
        }
        self.drain();
        self.check(kind);
        // What waited for parts is delivered, or dropped.
        for _ in 0..30 {
            self.now += Duration::from_millis(100);
            self.end.handle_timeout(self.now);
            self.drain();
            self.check(kind);
        }
        let mut read = 0;
        while let Some(message) = self.end.receive(self.now, self.id) {
            read += message.data.len();
        }
        let most = self.received * 8;
        assert!(read <= most, "{kind}: {read} bytes delivered of {} received", self.received);
        self.end.close(self.now, self.id);
        self.drain();
        self.check(kind);
    }
}

/// A message, or a part of one.
fn data(number: usize, part: Option<(usize, usize)>, spans: &[(u16, u16)], len: usize) -> Vec<u8> {
    let part = part.map(|(offset, total)| Part { offset: offset as u32, total: total as u32 });
    let spans = spans.iter().map(|(start, len)| Span { start: *start, len: *len }).collect();
    let head = SapData { stream: 0, number: number as u32, part, spans };
    [&head.emit()[..], &vec![7; len]].concat()
}

/// Sends messages in one datagram each, in turn and out of turn.
fn send_whole_messages() {
    for len in [0, 1, 100, 1_400] {
        Scene::new().run(&format!("precise messages of {len} bytes"), |scene, index| {
            scene.take(SapKind::Data, 0, &data(index, None, &[], len));
        });
        Scene::new().run(
            &format!("precise messages of {len} bytes out of turn"),
            |scene, index| {
                scene.take(SapKind::Data, 0, &data(index + 1, None, &[], len));
            },
        );
        Scene::new().run(
            &format!("every second precise message of {len} bytes"),
            |scene, index| {
                scene.take(SapKind::Data, 0, &data(2 * index + 1, None, &[], len));
            },
        );
        Scene::new().run(&format!("approximate messages of {len} bytes"), |scene, index| {
            scene.take(SapKind::Data, flags::APPROXIMATE, &data(index, None, &[], len));
        });
        Scene::new().run(&format!("repairs of {len} bytes"), |scene, index| {
            let spans = [(0, len as u16)];
            scene.take(SapKind::Data, flags::REPAIRED, &data(index, None, &spans, len));
        });
    }
}

/// Sends parts of messages, with and without gaps.
fn send_parts() {
    for len in [1, 40, 1_300] {
        Scene::new().run(&format!("precise parts of {len} bytes in a row"), |scene, index| {
            let part = Some((index % 700 * len, MIB));
            scene.take(SapKind::Data, flags::PART, &data(index / 700, part, &[], len));
        });
        Scene::new().run(&format!("precise parts of {len} bytes with gaps"), |scene, index| {
            let part = Some((1 + index % 500 * (len + 1), MIB));
            scene.take(SapKind::Data, flags::PART, &data(index / 500, part, &[], len));
        });
        Scene::new().run(&format!("the first {len} bytes of precise messages"), |scene, index| {
            let part = Some((0, MIB));
            scene.take(SapKind::Data, flags::PART, &data(index, part, &[], len));
        });
        Scene::new().run(&format!("the last {len} bytes of precise messages"), |scene, index| {
            let part = Some((MIB - len, MIB));
            scene.take(SapKind::Data, flags::PART, &data(index, part, &[], len));
        });
        Scene::new().run(&format!("approximate parts of {len} bytes"), |scene, index| {
            let part = Some((index % 500 * (len + 1), MIB));
            scene.take(SapKind::Data, PARTS, &data(index / 500, part, &[], len));
        });
        Scene::new().run(&format!("one of {len} bytes of each message"), |scene, index| {
            let part = Some((MIB - len, MIB));
            scene.take(SapKind::Data, PARTS, &data(index, part, &[], len));
        });
        Scene::new().run(&format!("just enough of {len} bytes"), |scene, index| {
            let part = Some((0, 8 * len));
            scene.take(SapKind::Data, PARTS, &data(index, part, &[], len));
        });
    }
}

/// Sends parts that overlap, or that belong to messages too long for the buffer.
fn send_strange_parts() {
    // Each part brings one new byte, and overlaps all others.
    Scene::new().run("overlapping precise parts", |scene, index| {
        let part = Some((10_000 + index % 3_000, MIB));
        scene.take(SapKind::Data, flags::PART, &data(index / 3_000, part, &[], 1_000));
    });
    Scene::new().run("overlapping precise parts, the last one first", |scene, index| {
        let part = Some((10_000 - index % 3_000, MIB));
        scene.take(SapKind::Data, flags::PART, &data(index / 3_000, part, &[], 1_000));
    });
    for total in [4 * MIB, MIB + 1, u32::MAX as usize] {
        Scene::new().run(&format!("parts of messages of {total} bytes"), |scene, index| {
            let bits = if index % 2 == 0 { flags::PART } else { PARTS };
            scene.take(SapKind::Data, bits, &data(index, Some((0, total)), &[], 1_000));
        });
    }
}

/// Sends requests, acknowledgements and messages of many streams.
fn send_others() {
    Scene::new().run("requests for repair", |scene, index| {
        scene.take(SapKind::Repair, 0, &data(index, None, &[(0, 1_000)], 0));
    });
    Scene::new().run("messages of many streams", |scene, index| {
        let mut body = data(0, None, &[], 10);
        body[..2].copy_from_slice(&(index as u16).to_be_bytes());
        scene.take(SapKind::Data, 0, &body);
    });
    for kind in [SapKind::Probe, SapKind::Challenge, SapKind::Response, SapKind::Accept] {
        Scene::new().run(&format!("{kind:?}"), |scene, _| scene.take(kind, 0, &[7; 8]));
    }
    Scene::new().run("acknowledgements with gaps", |scene, index| {
        scene.number += index as u32 % 3;
        scene.take(SapKind::Probe, 0, &[]);
    });
}

/// The number of clients of a crowd.
const CROWD: u32 = 3_000;

/// The deed of each client of a crowd.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Deed {
    /// It asks for a connection and does not answer.
    Asks,
    /// It answers, and is silent from then on.
    Opens,
    /// It sends a message, which the application reads.
    Sends,
    /// The application sends a message, and the client acknowledges what it gets.
    Reads,
    /// The application closes the connection, which the client does not answer.
    Leaves,
    /// It sends messages of many streams, exact and approximate ones, all of which are read.
    Spreads,
    /// It leaves numbers of packets out.
    Skips,
    /// It sends messages that are not read.
    Fills,
}

const DEEDS: [Deed; 8] = [
    Deed::Asks,
    Deed::Opens,
    Deed::Sends,
    Deed::Reads,
    Deed::Leaves,
    Deed::Spreads,
    Deed::Skips,
    Deed::Fills,
];

/// A listener and many clients, each at an address of its own.
struct Crowd {
    end: SapEndpoint,
    now: Instant,
    before: usize,
    sent: usize,
}

impl Crowd {
    fn new(memory_total: usize) -> Self {
        let now = Instant::START + Duration::from_secs(100);
        let config = SapConfig::standard().with(|it| it.memory_total = memory_total);
        let mut end = SapEndpoint::new(config, Secret::new([7; 32]));
        end.listen(true);
        Self { end, now, before: heap(), sent: 0 }
    }

    fn address(client: u32) -> SocketAddr {
        (Ipv4Addr::from_bits(0x0a00_0000 + client), 9).into()
    }

    /// Passes a datagram to the listener; returns its first answer.
    fn take(
        &mut self,
        from: SocketAddr,
        (kind, bits): (SapKind, u8),
        (connection, number): (u32, u32),
        body: &[u8],
    ) -> Option<Bytes> {
        let header = SapHeader { kind, flags: bits, exact: 0, connection, number };
        let bytes: Bytes = [&header.emit([body, &[]])[..], body].concat().into();
        self.sent += bytes.len();
        self.end.handle_datagram(self.now, &DatagramMeta::new(from), &bytes);
        let answer = self.end.poll_transmit(self.now).map(|it| it.to_bytes());
        self.drain();
        answer
    }

    fn drain(&mut self) {
        while self.end.poll_transmit(self.now).is_some() {}
        while let Some((id, event)) = self.end.poll_event() {
            if matches!(event, SapEvent::Closed(_)) {
                self.end.close(self.now, id);
            }
        }
        self.end.take_changed().for_each(drop);
        while self.end.poll_transmit(self.now).is_some() {}
    }

    /// Lets one client do what it does; returns its connection, if it has opened one.
    fn act(&mut self, client: u32, deed: Deed) -> Option<ConnectionId> {
        let from = Self::address(client);
        let mut ping = SapPing {
            connection: 9,
            max_datagram: 65_400,
            features: features::PARTS,
            ..SapPing::default()
        };
        let answer = self.take(from, (SapKind::Ping, 0), (0, 0), &ping.emit());
        let mut answer = answer?;
        if let Ok(retry) = SapPacket::parse(&answer)
            && retry.header.kind == SapKind::Retry
        {
            ping.token = retry.body;
            answer = self.take(from, (SapKind::Ping, 0), (0, 1), &ping.emit())?;
        }
        let accept = SapPacket::parse(&answer).expect("a SAP datagram");
        if accept.header.kind != SapKind::Accept || deed == Deed::Asks {
            return None;
        }
        let id = u32::from_be_bytes(*accept.body.first_chunk().expect("an id"));
        self.take(from, (SapKind::Probe, 0), (id, 2), &[]);
        self.end.peer(ConnectionId(id))?;
        self.end.accept(ConnectionId(id));
        match deed {
            Deed::Asks | Deed::Opens => {}
            Deed::Sends => {
                _ = self.take(from, (SapKind::Data, 0), (id, 3), &data(0, None, &[], 100));
                while self.end.receive(self.now, ConnectionId(id)).is_some() {}
            }
            Deed::Reads => {
                let message = Message::new(Mode::Precise, vec![7; 1000]);
                let _ = self.end.send(ConnectionId(id), &message);
                self.drain();
                let ack =
                    SapAck { largest: 5, room: 1 << 20, runs: vec![(0, 4)], ..SapAck::default() };
                self.take(from, (SapKind::Ack, 0), (id, 3), &ack.emit());
            }
            Deed::Leaves => self.end.close(self.now, ConnectionId(id)),
            Deed::Spreads => {
                for number in 0..64 {
                    let mut body = data(0, None, &[], 10);
                    body[1] = number;
                    let place = (id, 3 + u32::from(number));
                    self.take(from, (SapKind::Data, flags::APPROXIMATE), place, &body);
                    let place = (id, 70 + u32::from(number));
                    self.take(from, (SapKind::Data, 0), place, &body);
                }
                while self.end.receive(self.now, ConnectionId(id)).is_some() {}
            }
            Deed::Skips => (0..200).for_each(|number| {
                self.take(from, (SapKind::Probe, 0), (id, 4 + 2 * number), &[]);
            }),
            Deed::Fills => (0..5).for_each(|number| {
                let body = data(number as usize, None, &[], 1_000);
                self.take(from, (SapKind::Data, flags::APPROXIMATE), (id, 3 + number), &body);
            }),
        }
        self.drain();
        Some(ConnectionId(id))
    }

    fn check(&self, kind: &str) {
        let held = heap().saturating_sub(self.before);
        let charged = self.end.held();
        let all = self.end.len();
        assert!(
            held <= charged + FREE,
            "{kind}: {all} connections hold {held} bytes and are charged {charged}"
        );
    }
}

/// Lets many clients connect that send little or nothing.
fn send_almost_nothing() {
    for deed in DEEDS {
        let kind = format!("{deed:?}");
        let mut crowd = Crowd::new(256 << 20);
        let count = if deed == Deed::Spreads || deed == Deed::Skips { 500 } else { CROWD };
        for client in 0..count {
            crowd.act(client, deed);
            if client % 500 == 499 {
                crowd.check(&kind);
            }
        }
        for _ in 0..4 {
            crowd.now += Duration::from_millis(300);
            crowd.end.handle_timeout(crowd.now);
            crowd.drain();
            crowd.check(&kind);
        }
    }
}

/// Lets more clients connect than the memory has room for, one for each deed in turn.
fn exceed_the_memory() {
    const TOTAL: usize = 8 << 20;
    for deeds in [&DEEDS[..], &[Deed::Asks], &[Deed::Opens], &[Deed::Leaves], &[Deed::Fills]] {
        let mut crowd = Crowd::new(TOTAL);
        let busy = crowd.act(0, Deed::Opens).expect("there is room");
        let mut entered = 0;
        for client in 1..=6_000_u32 {
            crowd.now += Duration::from_millis(2);
            crowd.end.handle_timeout(crowd.now);
            crowd.drain();
            let place = (busy.0, 2 + client);
            crowd.take(Crowd::address(0), (SapKind::Probe, 0), place, &[]);
            let deed = deeds[client as usize % deeds.len()];
            // Whoever finds no room asks again.
            let open = (0..4).find_map(|_| crowd.act(client, deed));
            entered += u32::from(open.is_some());
            let kind = format!("{deeds:?}, client {client}");
            let held = heap().saturating_sub(crowd.before);
            assert!(held <= TOTAL + FREE, "{kind}: {held} bytes held of {TOTAL}");
            crowd.check(&kind);
        }
        let asking = deeds.iter().filter(|deed| **deed == Deed::Asks).count();
        let expected = 6_000 * (deeds.len() - asking) as u32 / deeds.len() as u32;
        assert!(entered * 10 >= expected * 9, "{deeds:?}: {entered} of {expected} were let in");
        assert!(crowd.end.is_open(busy), "{deeds:?}: a connection in use gave way to idle ones");
    }
}

#[test]
fn what_is_held_is_charged_and_bounded_by_what_has_arrived() {
    send_almost_nothing();
    exceed_the_memory();
    send_whole_messages();
    send_parts();
    send_strange_parts();
    send_others();
}
