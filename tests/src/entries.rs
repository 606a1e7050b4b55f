//! One function for every parser, that takes any bytes and must not panic.
//!
//! The fuzz targets and the replay of the kept corpus call the same functions, so whatever a fuzzer
//! once found is tried again in every test run. What is more than parsing is checked too: getters
//! do not panic, and what a `Repr` read it writes back so that it reads the same.

mod applied;
mod circuit;
mod coded;
mod protected;
mod repairs;
mod reports;
mod rtp;
mod serial;
mod tcp_state;
mod web;

use core::net::SocketAddr;
use core::num::{NonZeroU8, NonZeroU64};

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use windfall_base::{
    Duration, Frame, Input, Instant, Ledger, MemoryBudget, Node, Payload, Port, Probability, Rate,
    RxVector, Seed,
};
use windfall_conformance::Conformance;
use windfall_files::packet_script::Script;
use windfall_files::traces::error_trace::ErrorTrace;
use windfall_files::traces::rate_trace::RateTrace;
use windfall_link::policy::{Cost, PolicyChoice, PolicyKind};
use windfall_link::{Arq, Coding, Framing, PipeConfig};
use windfall_mac::Address;
use windfall_mac::wavelan::{Idle, WavelanTiming};
use windfall_scenario::Scenario;
use windfall_stack::host::{AppId, Host, HostConfig};
use windfall_stack::interface::{Interface, InterfaceConfig, LinkLayerConfig};
use windfall_stack::socket_api::{SocketCommand, SocketId, Transport};
use windfall_stack::{WavelanConfig, WavelanPeer, WavelanRole};
use windfall_tcp::{Listener, Lookup, SegmentMeta, TcpEndpoint};
use windfall_trace::convert::{self, LossTiming, MediumFrames, SequenceColumn};
use windfall_trace::fit::{Fit, FitLevel, Steps};
use windfall_trace::statistics::Statistics;
use windfall_view::layers::{LayerLog, LogWindow};
use windfall_wire_net::sap::{SapAccept, SapAck, SapData, SapPacket, SapPing, SapRepair};
use windfall_wire_net::segment::{Description, Merger, cut};
use windfall_wire_net::{
    CarrierPacket, Icmpv4Packet, Icmpv4Repr, Icmpv6Packet, Icmpv6Repr, IpPacket, Ipv4Packet,
    Ipv4Repr, Ipv6Packet, Ipv6Repr, TcpPacket, TcpRepr, UdpLitePacket, UdpLiteRepr, UdpPacket,
    UdpRepr, ipv6, tcp,
};

pub use applied::applied;
pub use circuit::{mnp, rlp, trau};
pub use coded::{coded, policy};
pub use protected::protected;
pub use repairs::repairs;
pub use reports::reports;
pub use rtp::rtp;
pub use serial::ppp;
pub use tcp_state::tcp_state;
pub use web::{body_control, sap_offer};

/// The longest input that makes sense to try: the longest IP packet.
pub const LONGEST: usize = 65_535;

/// The name of an entry, and its function.
pub type Entry = (&'static str, fn(&[u8]));

/// Every entry, by the name of its fuzz target and of its folder in the corpus.
pub const ENTRIES: [Entry; 36] = [
    ("ip", ip),
    ("tcp", tcp),
    ("udp", udp),
    ("udplite", udplite),
    ("carrier", carrier),
    ("sap", sap),
    ("rtp", rtp),
    ("icmp", icmp),
    ("pipe_header", pipe_header),
    ("radio_header", radio_header),
    ("ieee80211", ieee80211),
    ("coded", coded),
    ("pcapng", pcapng),
    ("error_trace", error_trace),
    ("event_log", event_log),
    ("rate_trace", rate_trace),
    ("foreign_trace", foreign_trace),
    ("scenario", scenario),
    ("interface", interface),
    ("host", host),
    ("connection", connection),
    ("tcp_state", tcp_state),
    ("segments", segments),
    ("quantities", quantities),
    ("packet_script", packet_script),
    ("rlp", rlp),
    ("trau", trau),
    ("mnp", mnp),
    ("ppp", ppp),
    ("sap_offer", sap_offer),
    ("body_control", body_control),
    ("repairs", repairs),
    ("reports", reports),
    ("protected", protected),
    ("policy", policy),
    ("applied", applied),
];

/// An IP packet of either version, and whatever it carries.
pub fn ip(bytes: &[u8]) {
    let Ok(packet) = IpPacket::new(bytes) else { return };
    let _ = packet.hop_limit();
    let missing = packet.missing();
    let total = packet.total_len();
    assert_eq!(missing, total.saturating_sub(bytes.len()));
    if let Ok(carried) = packet.carried() {
        tcp(carried.bytes);
        udp(carried.bytes);
        udplite(carried.bytes);
        icmp(carried.bytes);
    }
    match packet {
        IpPacket::V4(packet) => {
            let _ = (packet.checksum_holds(), packet.options(), packet.payload());
            if let Ok(repr) = Ipv4Repr::parse(&packet) {
                let mut buffer = vec![0; repr.header_len()];
                repr.emit(&mut buffer);
                let again = Ipv4Packet::new(&buffer).expect("what was written can be read");
                assert!(again.checksum_holds());
                assert_eq!(Ipv4Repr::parse(&again).as_ref(), Ok(&repr));
            }
        }
        IpPacket::V6(packet) => {
            let _ = (packet.upper(), packet.payload(), packet.flow_label());
            let repr = Ipv6Repr::parse(&packet);
            let mut buffer = vec![0; ipv6::HEADER_LEN];
            repr.emit(&mut buffer);
            let again = Ipv6Packet::new(&buffer).expect("what was written can be read");
            assert_eq!(Ipv6Repr::parse(&again), repr);
        }
    }
}

/// A TCP segment with its options.
pub fn tcp(bytes: &[u8]) {
    let Ok(packet) = TcpPacket::new(bytes) else { return };
    let kinds = tcp::CorruptionKinds::default();
    let lenient = TcpRepr::parse_lenient(&packet, &kinds);
    if let Ok(repr) = TcpRepr::parse(&packet, &kinds) {
        assert_eq!(repr, lenient);
        // A repeated or unknown option may leave no room for the padding of the others.
        if let Ok(header) = repr.emit(&kinds) {
            let again = TcpPacket::new(&header).expect("what was written can be read");
            assert_eq!(TcpRepr::parse(&again, &kinds), Ok(repr));
        }
    }
    let _ = tcp::corruption::find_crc(packet.header(), &kinds);
}

/// A UDP datagram.
pub fn udp(bytes: &[u8]) {
    let Ok(packet) = UdpPacket::new(bytes) else { return };
    let _ = (packet.payload(), packet.missing(), UdpRepr::parse(&packet));
}

/// A UDP-Lite datagram.
pub fn udplite(bytes: &[u8]) {
    let Ok(packet) = UdpLitePacket::new(bytes) else { return };
    assert!(packet.covered() <= bytes.len());
    let _ = (packet.payload(), UdpLiteRepr::parse(&packet));
}

/// The datagram of UDP in which UDP-Lite travels.
pub fn carrier(bytes: &[u8]) {
    let Ok(packet) = CarrierPacket::new(bytes) else { return };
    assert!(packet.coverage().bytes_of(bytes.len()) <= bytes.len());
    let _ = (packet.payload(), packet.is_partly_covered(), packet.is_whole());
}

/// A SAP datagram: as it stands, and sent to an endpoint that listens, its checks put right.
pub fn sap(bytes: &[u8]) {
    let from = SocketAddr::from(([10, 0, 0, 1], 4000));
    let bytes = Bytes::copy_from_slice(bytes);
    let mut datagrams = vec![bytes.clone()];
    if let Ok(packet) = SapPacket::parse(&bytes) {
        let (exact, rest) = (packet.exact(), packet.body.slice(packet.exact().len()..));
        let mended = [&packet.header.emit([&exact, &[]])[..], &exact, &rest].concat();
        let again = SapPacket::parse(&mended.clone().into()).expect("what was written is read");
        assert!(again.intact);
        assert_eq!(again.body, packet.body);
        datagrams.push(mended.into());
        let _ = (SapPing::parse(&exact), SapAccept::parse(&exact), SapAck::parse(&exact));
        let _ = (SapData::parse(&exact, 0), SapRepair::parse(&exact, packet.header.flags));
    }
    let now = Instant::START + Duration::from_secs(100);
    for key in [None, Some(windfall_sap::SharedKey::new([2; 32]))] {
        let mut endpoint = windfall_sap::SapEndpoint::new(
            windfall_sap::SapConfig::standard(),
            windfall_sap::Secret::new([1; 32]),
        );
        key.into_iter().for_each(|key| endpoint.set_key(key));
        endpoint.listen(true);
        for datagram in &datagrams {
            endpoint.handle_datagram(now, &windfall_sap::DatagramMeta::new(from), datagram);
            let mut answered = 0;
            while let Some(answer) = endpoint.poll_transmit(now) {
                answered += answer.len();
            }
            assert!(answered <= datagram.len(), "a stranger gets no more than he gave");
        }
    }
}

/// An ICMP message of either version.
pub fn icmp(bytes: &[u8]) {
    if let Ok(packet) = Icmpv4Packet::new(bytes) {
        let _ = (packet.is_error(), packet.data(), Icmpv4Repr::parse(&packet));
    }
    if let Ok(packet) = Icmpv6Packet::new(bytes) {
        let _ = (packet.is_error(), packet.data(), Icmpv6Repr::parse(&packet));
    }
}

/// The header of a frame of the pipe, whose last four bytes are its trailer, or of a polled one.
pub fn pipe_header(bytes: &[u8]) {
    let (header, trailer) = bytes.split_at(bytes.len().saturating_sub(4));
    let _ = windfall_wire_link::pipe::Header::parse(header, trailer);
    let _ = windfall_wire_link::pipe::Header::parse(bytes, &[]);
    let _ = windfall_wire_link::wavelan::Head::parse(bytes);
}

/// The headers before a unit on the polled radio: the poll, the head of coded blocks, a report.
pub fn radio_header(bytes: &[u8]) {
    if let Ok((_, len)) = windfall_wire_link::wavelan::Head::parse(bytes) {
        assert!(len <= bytes.len());
    }
    let _ = windfall_wire_link::coded::Head::parse(bytes);
    let _ = windfall_wire_link::coded::Report::parse(bytes);
}

/// A frame of 802.11 behind a radiotap header, and each body that a management frame may have.
pub fn ieee80211(bytes: &[u8]) {
    use windfall_wire_link::ieee80211::management::{
        AssociationRequest, AssociationResponse, Authentication, Beacon,
    };
    use windfall_wire_link::ieee80211::{Code, Header, Radiotap, Report, snap};
    let frame = match Radiotap::parse(bytes) {
        Ok((radiotap, len)) => {
            assert_eq!(Radiotap::parse(&radiotap.encode()).map(|(again, _)| again), Ok(radiotap));
            &bytes[len..]
        }
        Err(_) => bytes,
    };
    let body = match Header::parse(frame) {
        Ok(header) => {
            let mut again = Default::default();
            header.encode(&mut again);
            assert_eq!(again[..], frame[..header.kind.header_len()]);
            &frame[header.kind.header_len()..]
        }
        Err(_) => frame,
    };
    let _ = snap::parse(body);
    let _ = Code::marked(body);
    if let Some(report) = body.first_chunk() {
        assert_eq!(Report::parse(*report).encode(), *report);
    }
    for code in Code::ALL {
        if let Some(blocks) = code.blocks(body.len()) {
            assert!(blocks * code.parity() < body.len());
        }
    }
    if let Ok(beacon) = Beacon::parse(body) {
        let _ = Beacon::parse(&beacon.encode());
    }
    if let Ok(request) = AssociationRequest::parse(body, bytes.len().is_multiple_of(2)) {
        assert_eq!(
            AssociationRequest::parse(&request.encode(), request.leaves.is_some()),
            Ok(request)
        );
    }
    if let Ok(answer) = AssociationResponse::parse(body) {
        assert!(AssociationResponse::parse(&answer.encode()).is_ok());
    }
    let _ = Authentication::parse(body);
}

/// A capture file.
pub fn pcapng(bytes: &[u8]) {
    let _ = windfall_files::pcapng::read::read(&Bytes::copy_from_slice(bytes));
}

/// An error trace; one that can be read is written and read back.
pub fn error_trace(bytes: &[u8]) {
    match ErrorTrace::from_bytes(bytes) {
        Ok(trace) => {
            assert_eq!(ErrorTrace::from_bytes(trace.to_text().as_bytes()).as_ref(), Ok(&trace));
            trace.sample_hits(3, 1_000, |bit| assert!(bit < 1_000));
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// An event log; one that can be read is measured and drawn.
pub fn event_log(bytes: &[u8]) {
    let Ok(text) = core::str::from_utf8(bytes) else { return };
    match LayerLog::read(text, &mut MemoryBudget::default()) {
        Ok(log) => {
            let _ = log.measures_table(LogWindow::ALL);
            let _ = log.view(0, LogWindow::ALL).to_svg();
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// A scenario file; one that can be read is written and read back.
pub fn scenario(bytes: &[u8]) {
    let Ok(text) = core::str::from_utf8(bytes) else { return };
    match Scenario::parse("fuzz.toml", text) {
        Ok(scenario) => {
            let written = scenario.to_toml();
            let again = Scenario::parse("again.toml", &written);
            assert_eq!(again.as_ref(), Ok(&scenario), "{written}");
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// A script of packets, and the TCP that it is played against.
pub fn packet_script(bytes: &[u8]) {
    let Ok(text) = core::str::from_utf8(bytes) else { return };
    match text.parse::<Script>() {
        Ok(script) => drop(Conformance::default().run(&script)),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// Quantities as people write them; what can be read is written so that it reads the same.
pub fn quantities(bytes: &[u8]) {
    let Ok(text) = core::str::from_utf8(bytes) else { return };
    if let Ok(rate) = text.parse::<Rate>() {
        assert_eq!(rate.to_string().parse(), Ok(rate));
    }
    if let Ok(time) = text.parse::<Duration>() {
        assert_eq!(time.to_string().parse(), Ok(time));
    }
    if let Ok(probability) = text.parse::<Probability>() {
        assert_eq!(probability.to_string().parse(), Ok(probability));
    }
    let _ = text.parse::<Seed>();
}

/// A rate trace of mahimahi or netem-trace; one that can be read lets something pass.
pub fn rate_trace(bytes: &[u8]) {
    let Ok(text) = core::str::from_utf8(bytes) else { return };
    for read in [RateTrace::from_mahimahi, RateTrace::from_netem_json, RateTrace::from_netem_toml] {
        match read(text) {
            Ok(trace) => assert!(trace.mean_bps() > 0.0 && trace.period() > Duration::ZERO),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
}

/// The sequence numbers of 802.11, in the first column.
const SEQUENCE: SequenceColumn =
    SequenceColumn { column: NonZeroU64::MIN, modulo: NonZeroU64::new(4096) };

/// The error traces of other programs, and the measurements of a trace.
pub fn foreign_trace(bytes: &[u8]) {
    let Ok(text) = core::str::from_utf8(bytes) else { return };
    // Few frames fall into any time that one can write.
    let timing = LossTiming { interval: Duration::from_secs(36_000), seed: Seed(1) };
    let budget = MemoryBudget::default();
    let path = ("0".to_owned(), "1".to_owned());
    let rate = Rate::from_mbps(24).expect("above 0");
    let medium = MediumFrames { path, count: 20, length: 500, rate, seed: Seed(1) };
    let read = [
        convert::from_loss_list(text, &mut budget.clone()),
        convert::from_devourer(text, &mut budget.clone()),
        convert::from_netem(text, timing, &mut budget.clone()),
        convert::from_sequence(text, SEQUENCE, &mut budget.clone()),
        convert::from_wmediumd(text, &medium, &mut budget.clone()),
        ErrorTrace::from_text(text).map_err(Into::into),
    ];
    for trace in read.into_iter().flatten() {
        assert!(!Statistics::of(&trace).to_text().is_empty());
        for level in [FitLevel::Loss, FitLevel::Frame, FitLevel::Bit] {
            if let Ok(Ok(fit)) = Steps::of(&trace, level).map(|steps| Fit::of(&steps)) {
                assert!(fit.full.model.p.get() <= 1.0, "{fit:?}");
            }
        }
        let _ = convert::to_netem(&trace, timing.interval);
    }
}

/// The segments of a kernel with their description, cut into packets and merged again.
pub fn segments(bytes: &[u8]) {
    let Some((description, packet)) = bytes.split_first_chunk() else { return };
    let Ok(description) = Description::parse(description) else { return };
    let mut packets = Vec::new();
    if cut(&description, BytesMut::from(packet), &mut packets).is_err() {
        return assert!(packets.is_empty());
    }
    let given: usize = packets.iter().map(Payload::len).sum();
    let mut merger = Merger::new();
    let mut merged = Vec::new();
    for packet in packets {
        merged.extend(merger.push(packet, true));
    }
    merged.extend(merger.flush());
    let taken: usize = merged.iter().flat_map(|it| &it.slices).map(Bytes::len).sum();
    // Only headers that are the same for all are left out.
    assert!(taken <= given);
}

/// Coded frames on a pipe.
const CODING: Coding = Coding {
    policy: PolicyChoice::Named(PolicyKind::Flex),
    padded: false,
    cost: Cost { per_frame: Duration::from_nanos(60), per_byte: Duration::from_nanos(1) },
};

/// Packets and frames at an interface; the first byte chooses how it is built.
pub fn interface(bytes: &[u8]) {
    let Some((&choice, rest)) = bytes.split_first() else { return };
    let arq = [Arq::None, Arq::Persistent, Arq::Attempts(NonZeroU8::MIN)];
    let kind = usize::from(choice) % 9 / 3;
    let arq = arq[usize::from(choice) % 3];
    let accept_damaged = choice & 0x80 != 0;
    let combine = choice & 0x20 != 0;
    let [hub, station] = [Address(1), Address(2)];
    let members = vec![WavelanPeer { address: station, behind: Vec::new() }];
    let role = match kind {
        1 => WavelanRole::Coordinator { members, idle: Idle::default() },
        _ => WavelanRole::Station { coordinator: hub },
    };
    let address = if kind == 1 { hub } else { station };
    let timing = WavelanTiming::WAVELAN;
    let link = match kind {
        0 => {
            let coding = (choice & 0x40 != 0).then_some(CODING);
            LinkLayerConfig::Pipe(PipeConfig {
                arq,
                accept_damaged,
                combine,
                increments: choice & 0x10 != 0,
                coding,
                ..PipeConfig::default()
            })
        }
        _ => LinkLayerConfig::Wavelan(WavelanConfig {
            address,
            role,
            framing: Framing::Plain { arq, accept_damaged, combine },
            timing,
            rate: windfall_mac::wavelan::WAVELAN_RATE,
        }),
    };
    let config = InterfaceConfig { link, ..InterfaceConfig::default() };
    let mut interface = Interface::new(config, Seed(0), "fuzz");
    feed(&mut interface, rest, Interface::ledger);
}

/// Packets at the two devices of a host that forwards.
pub fn host(bytes: &[u8]) {
    let interface = |addresses: [&str; 2], mtu| {
        let prefix = |text: &str| text.parse().expect("a prefix");
        windfall_ip::IpInterfaceConfig { addresses: addresses.map(prefix).to_vec(), mtu }
    };
    let interfaces = vec![
        interface(["10.0.0.2/24", "fd00::2/64"], 1_500),
        interface(["10.1.0.1/24", "fd01::1/64"], 1_280),
    ];
    let internet =
        windfall_ip::IpConfig { forwarding: true, interfaces, ..windfall_ip::IpConfig::default() };
    let mut host = Host::new(HostConfig { internet, ..HostConfig::default() }, Seed(0));
    for (number, transport) in [Transport::Udp, Transport::Echo].into_iter().enumerate() {
        let local = "0.0.0.0:5000".parse().expect("an address");
        let open = SocketCommand::Open { socket: SocketId(number as u32), transport, local };
        host.handle_command(Instant::START, AppId(0), open);
    }
    let socket = SocketId(2);
    let transport = Transport::Tcp;
    let local = "0.0.0.0:5000".parse().expect("an address");
    let open = SocketCommand::Open { socket, transport, local };
    host.handle_command(Instant::START, AppId(0), open);
    host.handle_command(Instant::START, AppId(0), SocketCommand::Listen { socket });
    feed(&mut host, bytes, Host::ledger);
}

/// A whole TCP connection, each of whose segments meets the fate that the next byte says:
/// delivered, lost, doubled, held back, or one bit inverted. What arrives is what was sent, up to a
/// point.
pub fn connection(bytes: &[u8]) {
    let config = Arc::new(tcp_state::config_of(bytes.first().copied().unwrap_or(0)));
    let [near, far] = ["10.0.0.1:0", "10.0.0.2:80"].map(|at| at.parse().expect("an address"));
    let mut ends = ["near", "far"].map(|name| TcpEndpoint::new(Seed(0), name, Lookup::Hashed));
    ends[1].listen(far, Listener::new(Arc::clone(&config))).expect("a free port");
    let mut now = Instant::START;
    let id = ends[0].connect(now, near, far, config).expect("a free port");
    let data: Vec<u8> = (0..40_000_u32).map(|i| (i >> 3) as u8).collect();
    ends[0].write(id, &data).expect("an open connection");
    ends[0].shutdown(id).expect("an open connection");
    let mut fates = bytes.iter();
    let mut held = Vec::new();
    let mut received = Vec::new();
    for _ in 0..bytes.len() + 1_000 {
        for (from, end) in ends.iter_mut().enumerate() {
            while let Some(transmit) = end.poll_transmit(now) {
                let fate = fates.next().copied().unwrap_or(0);
                let addresses = transmit.addresses;
                let ecn = transmit.ecn;
                let arrival = SegmentMeta { addresses, ecn, missing: 0, lost_before: 0 };
                let mut frame = Frame::packet(transmit.payload());
                if fate % 8 == 4 {
                    frame.invert(&[u32::from(fate >> 3) * 53 % (frame.len() as u32 * 8)]);
                }
                let copies = match fate % 8 {
                    1 => 0,
                    2 => 2,
                    _ => 1,
                };
                held.extend((0..copies).map(|_| (1 - from, arrival, frame.payload.clone())));
            }
        }
        let late = held.len() > 1 && fates.next().is_some_and(|fate| fate % 8 == 3);
        if held.is_empty() {
            let wakeups = ends.iter().filter_map(TcpEndpoint::poll_timeout).map(|(at, _)| at);
            let Some(next) = wakeups.min() else { break };
            now = now.max(next);
            ends.iter_mut().for_each(|end| end.handle_timeout(now));
            continue;
        }
        let (to, arrival, payload) = held.remove(usize::from(late));
        let _ = ends[to].handle_segment(now, &arrival, &payload);
        while let Some((id, _)) = ends[1].poll_event() {
            while let Ok(Some(data)) = ends[1].read(id, 1_000) {
                received.extend_from_slice(&data);
            }
        }
        while ends[0].poll_event().is_some() {}
    }
    assert!(data.starts_with(&received), "{} bytes arrived, not those sent", received.len());
}

/// Cuts the bytes into frames (a port, a length, as many bytes) and gives them to a node.
fn feed<N: Node>(node: &mut N, mut rest: &[u8], account: impl Fn(&N) -> Ledger) {
    let mut now = Instant::START;
    while let [port, length, tail @ ..] = rest {
        let (frame, tail) = tail.split_at(tail.len().min(usize::from(*length)));
        rest = tail;
        now += Duration::from_micros(100);
        let (header, payload) = frame.split_at(frame.len().min(usize::from(port >> 1) % 60));
        let mut frame = Frame::packet(payload.to_vec());
        frame.header.extend(header.iter().copied());
        let port = Port(u16::from(port & 1));
        node.handle_input(now, port, Input::Frame(frame, RxVector::wired(now)));
        while let Some((port, _)) = node.poll_transmit(now) {
            node.handle_input(now, port, Input::TransmissionDone);
        }
        if node.poll_timeout().is_some_and(|(at, _)| at <= now) {
            node.handle_timeout(now);
        }
        assert!(account(node).balances());
    }
}
