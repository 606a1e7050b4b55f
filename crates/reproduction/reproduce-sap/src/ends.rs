//! Two programs in the office that use SAP, or TCP for comparison.

use core::net::{Ipv4Addr, SocketAddr};
use core::num::NonZeroU8;
use std::sync::Arc;

use windfall_base::{
    Class, Duration, Frame, Input, Instant, Node, Payload, Port, RxVector, Seed, Stream,
};
use windfall_network::{Network, NetworkConfig};
use windfall_sap::{DatagramMeta, Message, MessageKind, Mode, SapEndpoint, Secret};
use windfall_tcp::{Listener, Lookup, SegmentMeta, TcpEndpoint};
use windfall_wire_net::udplite::Coverage;
use windfall_wire_net::{
    Addresses, Ecn, Ipv4Packet, Ipv4Repr, Protocol, UdpLitePacket, UdpLiteRepr, udplite,
};

use super::office::{Office, calm};

/// The number of frames per second that each other network offers, and their length in bytes.
pub(super) const OFFERED: f64 = 40.0;
const FOREIGN: usize = 1_000;
/// The number of packets that the sender's device queues.
const WAITING: usize = 32;
/// The port of both programs.
const PORT: u16 = 5_004;

fn ip(end: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, 1 + end as u8)
}

fn address(end: usize) -> SocketAddr {
    SocketAddr::from((ip(end), PORT))
}

/// The protocol under test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProtocolUnderTest {
    /// SAP, approximate messages of the paper profile.
    Approximate,
    /// SAP, precise messages of the standard profile.
    Precise,
    /// SAP, precise messages of the paper profile.
    Paper,
    /// Windfall's TCP, without Nagle's delay.
    Tcp,
}

/// One end of the protocol under test.
enum End {
    Sap(Box<SapEndpoint>, Option<windfall_sap::ConnectionId>),
    Tcp(Box<TcpEndpoint>, Option<windfall_tcp::ConnectionHandle>),
}

/// Received records: the time, the number and the bytes of each.
pub(super) type Records = Vec<(Instant, u32, Vec<u8>)>;

/// Sender and receiver in the office, with the other networks.
pub(super) struct Pair {
    network: Network,
    /// The ports of the two programs.
    ports: [Port; 2],
    /// Pairs of ports: packets that leave the first one enter the second.
    relays: Vec<(Port, Port)>,
    /// Packets that the first relay has forwarded.
    pub(super) passed: Vec<Payload>,
    pub(super) now: Instant,
    protocol: ProtocolUnderTest,
    ends: [End; 2],
    /// The random stream of the other networks, and the time of each one's next frame.
    others: Stream,
    next: Vec<Instant>,
    /// The number of frames per second that each other network offers from now on.
    pub(super) offered: f64,
    /// The length of a record in bytes, and the received part of the next one over TCP.
    record: usize,
    stream: Vec<u8>,
    /// The part of a record that TCP has not accepted.
    unsent: Vec<u8>,
    pub(super) received: Records,
    /// The exact data sent before approximate records.
    pub(super) described: Vec<u8>,
    /// Makes approximate frames request delivery despite damage.
    welcome: bool,
    ended: bool,
}

impl Pair {
    /// Connects the two ends; `None` if they do not reach each other within half a minute.
    pub(super) fn connected(
        office: Office,
        protocol: ProtocolUnderTest,
        record: usize,
        seed: u64,
    ) -> Option<Self> {
        let office =
            Office { accept_damaged: protocol == ProtocolUnderTest::Approximate, ..office };
        Self::over(&calm::network(office), protocol, record, seed)
    }

    /// Connects the first two stations of another network.
    pub(super) fn over(
        network: &NetworkConfig,
        protocol: ProtocolUnderTest,
        record: usize,
        seed: u64,
    ) -> Option<Self> {
        Self::between([Port(0), Port(1)], Vec::new(), network, protocol, record, seed)
    }

    /// Connects two ports, of a network in which `relays` join others.
    pub(super) fn between(
        ports: [Port; 2],
        relays: Vec<(Port, Port)>,
        network: &NetworkConfig,
        protocol: ProtocolUnderTest,
        record: usize,
        seed: u64,
    ) -> Option<Self> {
        let network = Network::build(network, Seed(seed)).expect("the network can be");
        let pairs = (network.interfaces().count() - relays.len()) / 2 - 1;
        let mut pair = Self {
            network,
            ports,
            relays,
            passed: Vec::new(),
            now: Instant::START,
            protocol,
            ends: [0, 1].map(|end| End::new(protocol, end, seed)),
            others: Stream::new(Seed(seed), "others"),
            next: vec![Instant::START; pairs],
            offered: OFFERED,
            record,
            stream: Vec::new(),
            unsent: Vec::new(),
            received: Records::new(),
            described: Vec::new(),
            welcome: true,
            ended: false,
        };
        for _ in 0..6 {
            pair.ends[0].connect(pair.now);
            let patience = pair.now + Duration::from_secs(5);
            while pair.now < patience {
                pair.run(pair.now + Duration::from_millis(1));
                if pair.ends[0].is_open() {
                    return Some(pair);
                }
            }
        }
        None
    }

    /// Returns whether the sender's device accepts a packet without waiting.
    pub(super) fn has_room(&self) -> bool {
        self.takes(0)
    }

    /// Returns whether the device of `end` accepts a packet, since systems block a program instead
    /// of overflowing its device.
    fn takes(&self, end: usize) -> bool {
        self.waiting(end) < WAITING
    }

    /// Returns the number of packets in the device of `end`.
    pub(super) fn waiting(&self, end: usize) -> usize {
        let device = self.network.interface_at(self.ports[end]).expect("each has a device");
        self.network.queue_len(device).0
    }

    /// Makes the link discard damaged frames, as without SAP.
    pub(super) fn discard_damaged(&mut self) {
        self.welcome = false;
    }

    /// Sends `data` exactly, before all records; returns whether it arrived within `patience`.
    pub(super) fn describe(&mut self, data: &[u8], patience: Duration) -> bool {
        let until = self.now + patience;
        if let End::Sap(sap, Some(id)) = &mut self.ends[0] {
            // It is the first message, so there is room.
            let _ = sap.send(*id, &Message::new(Mode::Precise, data.to_vec()));
        }
        let is_flushed = |end: &End| matches!(end, End::Sap(sap, Some(id)) if sap.is_flushed(*id));
        while !is_flushed(&self.ends[0]) && self.now < until {
            self.run(self.now + Duration::from_millis(1));
        }
        is_flushed(&self.ends[0])
    }

    /// Sends a record if there is room; returns whether it was accepted.
    pub(super) fn send(&mut self, record: &[u8]) -> bool {
        let mode = match self.protocol {
            ProtocolUnderTest::Approximate => Mode::Approximate { protected: 0 },
            _ => Mode::Precise,
        };
        let taken = match &mut self.ends[0] {
            End::Sap(sap, Some(id)) => sap.send(*id, &Message::new(mode, record.to_vec())).is_ok(),
            End::Tcp(tcp, Some(id)) => {
                let taken = self.unsent.is_empty();
                if taken {
                    self.unsent.extend_from_slice(record);
                }
                let len = tcp.write(*id, &self.unsent).unwrap_or(0);
                self.unsent.drain(..len);
                taken
            }
            _ => false,
        };
        self.exchange();
        taken
    }

    /// Finishes the connection, after TCP has accepted the last record.
    pub(super) fn finish(&mut self) {
        for _ in 0..10_000 {
            if self.unsent.is_empty() {
                break;
            }
            self.run(self.now + Duration::from_millis(1));
            self.send(&[]);
        }
        match &mut self.ends[0] {
            End::Sap(sap, Some(id)) => sap.finish(*id),
            End::Tcp(tcp, Some(id)) => drop(tcp.shutdown(*id)),
            _ => {}
        }
        self.exchange();
    }

    /// Returns whether the receiver has reached the end.
    pub(super) fn is_over(&self) -> bool {
        self.ended
    }

    /// Advances the time to `until`.
    pub(super) fn run(&mut self, until: Instant) {
        self.exchange();
        loop {
            let timers = [0, 1].into_iter().filter(|end| self.takes(*end));
            let timers = timers.filter_map(|end| self.ends[end].poll_timeout());
            let network = self.network.poll_timeout().map(|(at, _)| at);
            let others = self.next.iter().copied();
            let due = timers.chain(network).chain(others).min();
            let Some(due) = due.filter(|due| *due <= until) else {
                self.now = until;
                return;
            };
            self.now = due.max(self.now);
            self.disturb();
            self.network.handle_timeout(self.now);
            let now = self.now;
            self.ends.iter_mut().for_each(|end| end.handle_timeout(now));
            self.exchange();
        }
    }

    /// Sends the frames of the other networks that are due.
    fn disturb(&mut self) {
        for pair in 0..self.next.len() {
            if self.next[pair] <= self.now {
                let pause = -(1.0 - self.others.unit()).ln() / self.offered;
                self.next[pair] = self.now + Duration::from_secs_f64(pause);
                self.give(Port(2 + 2 * pair as u16), Frame::packet(vec![0; FOREIGN]));
            }
        }
    }

    fn give(&mut self, port: Port, frame: Frame) {
        self.network.handle_input(self.now, port, Input::Frame(frame, RxVector::wired(self.now)));
    }

    /// Carries packets between programs and devices until there are none.
    fn exchange(&mut self) {
        loop {
            let mut idle = true;
            for end in [0, 1] {
                while self.takes(end)
                    && let Some(mut frame) = self.ends[end].poll_packet(self.now, end)
                {
                    frame.class.accept_damaged =
                        frame.class.accept_damaged.map(|accept| accept && self.welcome);
                    self.give(self.ports[end], frame);
                    idle = false;
                }
            }
            while let Some((port, outgoing)) = self.network.poll_transmit(self.now) {
                self.network.handle_input(self.now, port, Input::TransmissionDone);
                if let Some(end) = self.ports.iter().position(|end| *end == port) {
                    self.ends[end].handle_packet(self.now, &outgoing.frame.payload);
                    idle = false;
                } else if let Some((_, to)) = self.relays.iter().find(|(from, _)| *from == port) {
                    let to = *to;
                    let packet = outgoing.frame.payload;
                    if port == self.relays[0].0 {
                        self.passed.push(packet.clone());
                    }
                    self.give(to, packet_with_class(packet));
                    idle = false;
                }
            }
            while self.network.poll_event().is_some() {}
            self.take();
            if idle {
                return;
            }
        }
    }

    /// Receives the records that have arrived.
    fn take(&mut self) {
        let now = self.now;
        match &mut self.ends[1] {
            End::Sap(sap, id) => {
                while let Some((of, event)) = sap.poll_event() {
                    match event {
                        windfall_sap::SapEvent::Accepted { .. } => *id = Some(of),
                        windfall_sap::SapEvent::Finished { .. } => self.ended = true,
                        _ => {}
                    }
                }
                while let Some(message) = id.and_then(|id| sap.receive(now, id)) {
                    let approximate = self.protocol == ProtocolUnderTest::Approximate;
                    match message.kind {
                        MessageKind::Precise if approximate => self.described.extend(&message.data),
                        _ => self.received.push((now, message.number, message.data.to_vec())),
                    }
                }
            }
            End::Tcp(tcp, id) => {
                while let Some((of, event)) = tcp.poll_event() {
                    *id = Some(of);
                    self.ended |= event == windfall_tcp::TcpEvent::PeerFinished;
                }
                while let Some(id) = *id
                    && let Ok(Some(data)) = tcp.read(id, 1 << 16)
                    && !data.is_empty()
                {
                    self.stream.extend_from_slice(&data);
                }
                for record in self.stream.chunks_exact(self.record) {
                    let number = self.received.len() as u32;
                    self.received.push((now, number, record.to_vec()));
                }
                let whole = self.stream.len() / self.record * self.record;
                self.stream.drain(..whole);
            }
        }
    }
}

impl End {
    fn new(protocol: ProtocolUnderTest, end: usize, seed: u64) -> Self {
        if protocol == ProtocolUnderTest::Tcp {
            let mut tcp = TcpEndpoint::new(Seed(seed), &end.to_string(), Lookup::Hashed);
            if end == 1 {
                let listener = Listener::new(tcp_config());
                tcp.listen(address(1), listener).expect("the port is free");
            }
            return Self::Tcp(Box::new(tcp), None);
        }
        let config = match protocol {
            ProtocolUnderTest::Paper | ProtocolUnderTest::Approximate => {
                windfall_sap::SapConfig::paper()
            }
            // The frames of the office are at most this long.
            _ => windfall_sap::SapConfig {
                max_datagram: 1_472,
                connect_timeout: Duration::from_secs(5),
                ..windfall_sap::SapConfig::standard()
            },
        };
        let mut secret = [end as u8; 32];
        secret[..8].copy_from_slice(&seed.to_be_bytes());
        let mut sap = SapEndpoint::new(config, Secret::new(secret));
        sap.listen(end == 1);
        Self::Sap(Box::new(sap), None)
    }

    fn connect(&mut self, now: Instant) {
        match self {
            Self::Sap(sap, id) => *id = Some(sap.connect(now, address(1))),
            Self::Tcp(tcp, id @ None) => {
                *id = tcp.connect(now, address(0), address(1), tcp_config()).ok();
            }
            Self::Tcp(..) => {}
        }
    }

    fn is_open(&mut self) -> bool {
        match self {
            Self::Sap(sap, id) => id.is_some_and(|id| sap.is_open(id)),
            Self::Tcp(tcp, _) => {
                let mut open = false;
                while let Some((_, event)) = tcp.poll_event() {
                    open |= event == windfall_tcp::TcpEvent::Connected;
                }
                open
            }
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        match self {
            Self::Sap(sap, _) => sap.poll_timeout().map(|(at, _)| at),
            Self::Tcp(tcp, _) => tcp.poll_timeout().map(|(at, _)| at),
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        match self {
            Self::Sap(sap, _) => sap.handle_timeout(now),
            Self::Tcp(tcp, _) => tcp.handle_timeout(now),
        }
    }

    /// Returns the next packet, in a frame of the class that SAP's sender requests.
    fn poll_packet(&mut self, now: Instant, end: usize) -> Option<Frame> {
        match self {
            Self::Sap(sap, _) => {
                let transmit = sap.poll_transmit(now)?;
                let coverage = Coverage::requested(transmit.coverage());
                let addresses = Addresses::V4 { src: ip(end), dst: ip(1 - end) };
                let header = UdpLiteRepr { src_port: PORT, dst_port: PORT, coverage };
                let data = transmit.to_bytes();
                let mut datagram = vec![0; udplite::HEADER_LEN];
                header.emit(&mut datagram, &addresses, &data);
                datagram.extend_from_slice(&data);
                let packet = Payload::from(packet(end, Protocol::UDP_LITE, &[&datagram]));
                Some(packet_with_class(packet))
            }
            Self::Tcp(tcp, _) => {
                let transmit = tcp.poll_transmit(now)?;
                let packet = packet(end, Protocol::TCP, &transmit.payload().slices());
                Some(Frame::packet(packet))
            }
        }
    }

    fn handle_packet(&mut self, now: Instant, payload: &Payload) {
        let bytes = payload.to_bytes();
        let Ok(packet) = Ipv4Packet::new(&bytes) else { return };
        if !packet.checksum_holds() {
            return;
        }
        match self {
            Self::Sap(sap, _) => {
                let Ok(datagram) = UdpLitePacket::new(packet.payload()) else { return };
                let Addresses::V4 { src, .. } = packet.addresses() else { return };
                let from = SocketAddr::from((src, datagram.src_port()));
                let held = datagram.checksum_holds(&packet.addresses());
                let meta = DatagramMeta { covered_intact: held, ..DatagramMeta::new(from) };
                sap.handle_datagram(now, &meta, &datagram.payload().to_vec().into());
            }
            Self::Tcp(tcp, _) => {
                let arrival =
                    SegmentMeta { addresses: packet.addresses(), ecn: Ecn::default(), missing: 0 };
                let segment = Payload::from(packet.payload().to_vec());
                // A segment with a failed checksum or without a connection is dropped and counted
                // there.
                let _ = tcp.handle_segment(now, &arrival, &segment);
            }
        }
    }
}

fn packet_with_class(packet: Payload) -> Frame {
    let class = class_of(&packet);
    Frame::packet(packet).with_class(class)
}

/// Returns the class of a packet: approximate ones have one attempt and accept damage (S0.7, S0.8).
fn class_of(packet: &Payload) -> Class {
    let bytes = packet.to_bytes();
    let packet = Ipv4Packet::new(&bytes).ok().filter(|it| it.protocol() == Protocol::UDP_LITE);
    let approximate = packet.is_some_and(|packet| {
        let datagram = packet.payload();
        UdpLitePacket::new(datagram)
            .is_ok_and(|lite| lite.coverage().bytes_of(datagram.len()) < datagram.len())
    });
    if !approximate {
        return Class::default();
    }
    let attempts = Some(NonZeroU8::MIN);
    Class { attempts, accept_damaged: Some(true), ..Class::default() }
}

fn tcp_config() -> Arc<windfall_tcp::TcpConfig> {
    Arc::new(windfall_tcp::TcpConfig { nagle: false, ..windfall_tcp::TcpConfig::default() })
}

/// Builds an IPv4 packet from one end to the other.
fn packet(from: usize, protocol: Protocol, parts: &[&[u8]]) -> Vec<u8> {
    let len = parts.iter().map(|part| part.len()).sum();
    let header = Ipv4Repr::new(ip(from), ip(1 - from), protocol, len).expect("it is short");
    let mut bytes = vec![0; header.header_len()];
    header.emit(&mut bytes);
    parts.iter().for_each(|part| bytes.extend_from_slice(part));
    bytes
}
