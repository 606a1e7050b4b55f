//! Two programs in the office that use SAP, or TCP for comparison.

use core::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use windfall_base::{Duration, Frame, Input, Instant, Node, Payload, Port, RxVector, Seed, Stream};
use windfall_mac::wifi::radio::State;
use windfall_network::{Network, NetworkConfig, Recording};
use windfall_sap::{DatagramMeta, Message, MessageKind, Mode, SapEndpoint, Secret};
use windfall_tcp::{Listener, Lookup, SegmentMeta, TcpEndpoint};
use windfall_wire_net::udplite::Coverage;
use windfall_wire_net::{
    Addresses, Ecn, Ipv4Packet, Ipv4Repr, Protocol, UdpLitePacket, UdpLiteRepr, udplite,
};

use super::frames::Frames;
use super::office::{Office, Other};

/// The number of packets that the sender's device queues.
const WAITING: usize = 32;
/// The number of packets in an interface, so that an access point has room for those of a dozing
/// station.
const HELD: u64 = 48;
/// The data length of a message of the paper's profile in bytes.
const PAPER_MESSAGE: usize = 1_024;
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

/// The mutation of the figures that compare approximate SAP with TCP.
pub(super) const MUTATION: &str = "approximate messages are sent as precise ones";

impl ProtocolUnderTest {
    /// Returns the protocol; with [`MUTATION`], the precise one in place of the approximate one.
    pub(super) fn unless_mutated(self, is_mutated: bool) -> Self {
        if is_mutated && self == Self::Approximate { Self::Paper } else { self }
    }
}

/// One end of the protocol under test.
enum End {
    Sap(Box<SapEndpoint>, Option<windfall_sap::ConnectionId>),
    Tcp(Box<TcpEndpoint>, Option<windfall_tcp::ConnectionHandle>),
}

/// Received records: the time, the number and the bytes of each.
pub(super) type Records = Vec<(Instant, u32, Vec<u8>)>;

/// The two ends in a network, and who else sends in it.
pub(super) struct Ends {
    /// The ports of the two programs.
    pub(super) ports: [Port; 2],
    /// Pairs of ports: packets that leave the first one enter the second.
    pub(super) relays: Vec<(Port, Port)>,
    /// The traffic of the other networks, whose ports follow those of the first two stations.
    pub(super) others: Vec<Other>,
}

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
    /// The random stream of the other networks, and each one's traffic with the time of its next
    /// packet.
    pauses: Stream,
    others: Vec<(Other, Instant)>,
    /// The frames of the two stations, if they are observed.
    pub(super) frames: Option<Frames>,
    /// The length of a record in bytes, and the received part of the next one over TCP.
    record: usize,
    stream: Vec<u8>,
    /// The part of a record that TCP has not accepted.
    unsent: Vec<u8>,
    pub(super) received: Records,
    /// The exact data sent before approximate records.
    pub(super) described: Vec<u8>,
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
        let accepts = protocol == ProtocolUnderTest::Approximate;
        Self::accepting(office, protocol, accepts, record, seed)
    }

    /// Connects the two ends; `accepts` tells whether their links pass up damaged frames.
    pub(super) fn accepting(
        office: Office,
        protocol: ProtocolUnderTest,
        accepts: bool,
        record: usize,
        seed: u64,
    ) -> Option<Self> {
        let office = Office { accept_damaged: accepts, ..office };
        let air = Ends { ports: [Port(0), Port(1)], relays: Vec::new(), others: office.others() };
        let begins = Instant::START + office.settles_in();
        Self::between(air, begins, &office.network(), protocol, record, seed)
    }

    /// Connects the first two stations of another network, in which no other station sends.
    pub(super) fn over(
        network: &NetworkConfig,
        protocol: ProtocolUnderTest,
        record: usize,
        seed: u64,
    ) -> Option<Self> {
        let pipe = Ends { ports: [Port(0), Port(1)], relays: Vec::new(), others: Vec::new() };
        Self::between(pipe, Instant::START, network, protocol, record, seed)
    }

    /// Connects two ports from `begins` on.
    pub(super) fn between(
        ends: Ends,
        begins: Instant,
        network: &NetworkConfig,
        protocol: ProtocolUnderTest,
        record: usize,
        seed: u64,
    ) -> Option<Self> {
        let network = Network::build(network, Seed(seed)).expect("the network can be");
        let Ends { ports, relays, others } = ends;
        let mut pair = Self {
            network,
            ports,
            relays,
            passed: Vec::new(),
            now: Instant::START,
            protocol,
            ends: [0, 1].map(|end| End::new(protocol, end, record, seed)),
            pauses: Stream::new(Seed(seed), "others"),
            others: others.into_iter().map(|other| (other, Instant::START)).collect(),
            frames: None,
            record,
            stream: Vec::new(),
            unsent: Vec::new(),
            received: Records::new(),
            described: Vec::new(),
            ended: false,
        };
        pair.run(begins);
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
        let device = self.network.interface_at(self.ports[end]).expect("each has a device");
        self.waiting(end) < WAITING && self.network.ledger(device).in_flight() < HELD
    }

    /// Observes frames with packets of at least `least` bytes from now on.
    pub(super) fn observe(&mut self, least: usize) {
        self.network.record(Recording { events: true, packets: true });
        self.frames = Some(Frames::new(least));
    }

    /// Returns how long the radio of `end` has been in a state.
    pub(super) fn radio(&self, port: Port, state: State) -> Duration {
        let device = self.network.interface_at(port).expect("each has a device");
        self.network.airtime(device, self.now).map_or(Duration::ZERO, |time| time.of(state))
    }

    /// Returns the number of packets in the device of `end`.
    pub(super) fn waiting(&self, end: usize) -> usize {
        let device = self.network.interface_at(self.ports[end]).expect("each has a device");
        self.network.queue_len(device).0
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
            let others = self.others.iter().map(|(_, next)| *next);
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
        for pair in 0..self.others.len() {
            let (other, next) = self.others[pair];
            if next <= self.now {
                let pause = -(1.0 - self.pauses.unit()).ln() / other.per_second;
                self.others[pair].1 = self.now + Duration::from_secs_f64(pause);
                self.give(Port(2 + 2 * pair as u16), Frame::packet(vec![0; other.bytes]));
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
                    && let Some(frame) = self.ends[end].poll_packet(self.now, end)
                {
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
                    self.give(to, Frame::packet(packet));
                    idle = false;
                }
            }
            while let Some(event) = self.network.poll_event() {
                self.frames.iter_mut().for_each(|frames| frames.count(&event));
            }
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
    fn new(protocol: ProtocolUnderTest, end: usize, record: usize, seed: u64) -> Self {
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
                let paper = windfall_sap::SapConfig::paper();
                // Larger packets are an experiment of section 3.3: the paper's own have 1 KB.
                let max_datagram = paper.max_datagram + record.saturating_sub(PAPER_MESSAGE);
                paper.with(|it| {
                    it.base_datagram = max_datagram;
                    it.max_datagram = max_datagram;
                })
            }
            // The frames of the office are at most this long.
            _ => windfall_sap::SapConfig::standard().with(|it| {
                it.max_datagram = 1_472;
                it.connect_timeout = Duration::from_secs(5);
            }),
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

    /// Returns the next packet, without a class: the interface recognises approximate ones.
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
                Some(Frame::packet(packet(end, Protocol::UDP_LITE, &[&datagram])))
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
                let arrival = SegmentMeta {
                    addresses: packet.addresses(),
                    ecn: Ecn::default(),
                    missing: 0,
                    lost_before: 0,
                };
                let segment = Payload::from(packet.payload().to_vec());
                // A segment with a failed checksum or without a connection is dropped and counted
                // there.
                let _ = tcp.handle_segment(now, &arrival, &segment);
            }
        }
    }
}

fn tcp_config() -> Arc<windfall_tcp::TcpConfig> {
    Arc::new(windfall_tcp::TcpConfig::default().with(|it| it.nagle = false))
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
