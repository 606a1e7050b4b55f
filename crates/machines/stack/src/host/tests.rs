use ipnet::IpNet;
use windfall_base::{Check, Damage, Frame, Payload, RxVector, Stream, Tag};
use windfall_ip::{IpEventKind, IpInterfaceConfig, RouteEntry};
use windfall_testkit::laws;

use super::*;
use crate::socket_api::Transport;

mod processor;

const NOW: Instant = Instant::from_nanos(1_000);
const APP: AppId = AppId(0);
const SOCKET: SocketId = SocketId(0);
const LITE: Transport = Transport::UdpLite { send_coverage: 12, min_coverage: None };

fn prefix(text: &str) -> IpNet {
    text.parse().expect("a prefix")
}

fn interface(addresses: &[&str], mtu: usize) -> IpInterfaceConfig {
    IpInterfaceConfig { addresses: addresses.iter().map(|text| prefix(text)).collect(), mtu }
}

fn config(interfaces: Vec<IpInterfaceConfig>, routes: &[(&str, usize)]) -> HostConfig {
    let route =
        |(to, interface): &(&str, usize)| RouteEntry { to: prefix(to), interface: *interface };
    HostConfig {
        internet: windfall_ip::IpConfig {
            forwarding: interfaces.len() > 1,
            interfaces,
            routes: routes.iter().map(route).collect(),
            ..windfall_ip::IpConfig::default()
        },
        ..HostConfig::default()
    }
}

/// Hosts in a row, each joined to the next; what passes between them can be changed.
struct Row {
    hosts: Vec<Host>,
    /// Packets that passed, and where from.
    passed: Vec<(usize, Payload)>,
    damage: fn(&mut Frame),
}

impl Row {
    /// Two hosts with an address of each family.
    fn pair() -> Self {
        let near = config(vec![interface(&["10.0.0.1/24", "fd00::1/64"], 1500)], &[]);
        let far = config(vec![interface(&["10.0.0.2/24", "fd00::2/64"], 1500)], &[]);
        Self::new(vec![near, far])
    }

    /// A host, two routers and a host; the middle link is narrow.
    fn line(mtu: usize) -> Self {
        let default = [("0.0.0.0/0", 0), ("::/0", 0)];
        let wide = |addresses: &[&str]| interface(addresses, 1500);
        Self::new(vec![
            config(vec![wide(&["10.0.0.1/24", "fd00::1/64"])], &default),
            config(
                vec![
                    wide(&["10.0.0.254/24", "fd00::ff/64"]),
                    interface(&["10.1.0.1/24", "fd01::1/64"], mtu),
                ],
                &[("10.2.0.0/24", 1), ("fd02::/64", 1)],
            ),
            config(
                vec![
                    interface(&["10.1.0.2/24", "fd01::2/64"], mtu),
                    wide(&["10.2.0.254/24", "fd02::ff/64"]),
                ],
                &[("10.0.0.0/24", 0), ("fd00::/64", 0)],
            ),
            config(vec![wide(&["10.2.0.1/24", "fd02::1/64"])], &default),
        ])
    }

    fn new(configs: Vec<HostConfig>) -> Self {
        let hosts = configs.into_iter().map(|config| Host::new(config, Seed(1))).collect();
        Self { hosts, passed: Vec::new(), damage: |_| {} }
    }

    fn open(&mut self, host: usize, transport: Transport, local: &str) -> SocketEvent {
        let local = local.parse().expect("an address");
        let open = SocketCommand::Open { socket: SOCKET, transport, local };
        self.hosts[host].handle_command(NOW, APP, open);
        self.hosts[host].poll_socket_event().expect("an answer").1
    }

    fn send(&mut self, host: usize, to: &str, data: &[u8]) {
        let data = Bytes::copy_from_slice(data);
        let to = to.parse().expect("an address");
        let send = SocketCommand::Send { socket: SOCKET, to, data };
        self.hosts[host].handle_command(NOW, APP, send);
        self.run();
    }

    /// Lets packets pass until none is left; accounts must balance all the time.
    fn run(&mut self) {
        let mut idle = false;
        while !idle {
            idle = true;
            for from in 0..self.hosts.len() {
                while let Some((port, outgoing)) = self.hosts[from].poll_transmit(NOW) {
                    idle = false;
                    let right = from == 0 || port == Port(1);
                    let to = if right { from + 1 } else { from - 1 };
                    let port = if right { Port(0) } else { Port((to > 0).into()) };
                    let mut frame = outgoing.frame;
                    frame.tag = Some(Tag(self.passed.len() as u64));
                    self.passed.push((from, frame.payload.clone()));
                    (self.damage)(&mut frame);
                    let input = Input::Frame(frame, RxVector::wired(NOW));
                    self.hosts[to].handle_input(NOW, port, input);
                    assert!(self.hosts[to].ledger().balances());
                    assert!(self.hosts[from].ledger().balances());
                }
            }
        }
    }

    fn events(&mut self, host: usize) -> Vec<SocketEvent> {
        core::iter::from_fn(|| self.hosts[host].poll_socket_event()).map(|(_, e)| e).collect()
    }

    fn received(&mut self, host: usize) -> Vec<(Bytes, Damage)> {
        let events = self.events(host).into_iter();
        events
            .filter_map(|event| match event {
                SocketEvent::Received { data, damage, .. } => Some((data, damage)),
                _ => None,
            })
            .collect()
    }

    fn dropped(&self, host: usize, reason: DropReason) -> u64 {
        self.hosts[host].ledger().drops.of(reason)
    }
}

#[test]
fn datagrams_cross_over_both_families_and_transports() {
    for transport in [Transport::Udp, LITE] {
        for (local, to) in [("0.0.0.0:0", "10.0.0.2:9"), ("[::]:0", "[fd00::2]:9")] {
            let mut row = Row::pair();
            row.open(0, transport, local);
            row.open(1, transport, if local.starts_with('0') { "0.0.0.0:9" } else { "[::]:9" });
            row.send(0, to, b"some data");
            let received = row.received(1);
            assert_eq!(received.len(), 1);
            assert_eq!(received[0].0, b"some data"[..]);
            assert!(!received[0].1.is_damaged());
        }
    }
}

#[test]
fn an_echo_comes_back_by_itself() {
    for (local, to) in [("0.0.0.0:7", "10.0.0.2:0"), ("[::]:7", "[fd00::2]:0")] {
        let mut row = Row::pair();
        row.open(0, Transport::Echo, local);
        row.send(0, to, b"one");
        row.send(0, to, b"two");
        let received = row.received(0);
        assert_eq!([&received[0].0[..], &received[1].0[..]], [b"one", b"two"]);
        assert!(row.events(1).is_empty());
    }
}

#[test]
fn a_closed_port_is_reported() {
    for transport in [Transport::Udp, LITE] {
        for (local, to) in [("10.0.0.1:0", "10.0.0.2:9"), ("[fd00::1]:0", "[fd00::2]:9")] {
            let mut row = Row::pair();
            row.open(0, transport, local);
            row.send(0, to, b"x");
            let error = SocketError::PortClosed;
            assert_eq!(row.events(0), [SocketEvent::Failed { socket: SOCKET, error }]);
            assert_eq!(row.dropped(1, DropReason::NoListener), 1);
        }
    }
}

#[test]
fn commands_that_cannot_be_done_say_why() {
    let mut row = Row::pair();
    let failed = |error| SocketEvent::Failed { socket: SOCKET, error };
    row.send(0, "10.0.0.2:9", b"x");
    assert_eq!(row.events(0), [failed(SocketError::NotOpen)]);
    assert_eq!(row.open(0, Transport::Udp, "1.2.3.4:9"), failed(SocketError::Unreachable));
    let opened = SocketEvent::Opened { socket: SOCKET, local: ([0, 0, 0, 0], 9).into() };
    assert_eq!(row.open(0, Transport::Udp, "0.0.0.0:9"), opened);
    assert_eq!(row.open(0, Transport::Udp, "0.0.0.0:10"), failed(SocketError::AddressInUse));
    row.send(0, "10.0.1.2:9", b"x");
    assert_eq!(row.events(0), [failed(SocketError::Unreachable)]);
    assert_eq!(row.dropped(0, DropReason::NoRoute), 1);
    row.send(0, "10.0.0.2:9", &[0; 65_508]);
    assert_eq!(row.events(0), [failed(SocketError::TooLong)]);
    assert!(row.hosts[0].ledger().balances());
}

//= S0.5
//= S0.71
#[test]
fn each_check_drops_under_its_own_name() {
    let damaged = |transport, local: &str, to: &str, damage| {
        let mut row = Row::pair();
        row.damage = damage;
        row.open(0, transport, local);
        row.open(1, transport, &local.replace(":0", ":9"));
        row.send(0, to, &[0; 100]);
        let ledger = row.hosts[1].ledger();
        assert!(ledger.balances());
        ledger.drops.iter().map(|(reason, _)| reason).collect::<Vec<_>>()
    };
    let v4 = ("0.0.0.0:0", "10.0.0.2:9");
    let v6 = ("[::]:0", "[fd00::2]:9");
    let udp = Transport::Udp;
    let header = damaged(udp, v4.0, v4.1, |frame| frame.invert(&[67]));
    assert_eq!(header, [DropReason::IpHeaderChecksum]);
    let data = damaged(udp, v4.0, v4.1, |frame| frame.invert(&[60 * 8]));
    assert_eq!(data, [DropReason::UdpChecksum]);
    let cut = damaged(udp, v4.0, v4.1, |frame| frame.truncate(60));
    assert_eq!(cut, [DropReason::Truncated]);
    // IPv6 has no header checksum: a damaged hop limit goes unseen, a damaged address meets the
    // pseudo header of UDP or no socket at all.
    assert_eq!(damaged(udp, v6.0, v6.1, |frame| frame.invert(&[63])), []);
    let source = damaged(udp, v6.0, v6.1, |frame| frame.invert(&[100]));
    assert_eq!(source, [DropReason::UdpChecksum]);
    let destination = damaged(udp, v6.0, v6.1, |frame| frame.invert(&[200]));
    assert_eq!(destination, [DropReason::NotForUs]);
    let covered = damaged(LITE, v4.0, v4.1, |frame| frame.invert(&[31 * 8]));
    assert_eq!(covered, [DropReason::UdpLiteChecksum]);
    let coverage = damaged(LITE, v4.0, v4.1, |frame| frame.invert(&[25 * 8 + 4]));
    assert_eq!(coverage, [DropReason::UdpLiteCoverage]);
    assert_eq!(damaged(LITE, v4.0, v4.1, |frame| frame.invert(&[32 * 8])), []);
}

//= S0.71
#[test]
fn without_a_header_checksum_the_pseudo_header_keeps_damaged_addresses_from_delivery() {
    // Every single bit of the IPv6 header, with a checksum over the UDP-Lite header alone.
    for bit in 0..40 * 8 {
        let mut row = Row::pair();
        let transport = Transport::UdpLite { send_coverage: 8, min_coverage: None };
        row.open(0, transport, "[::]:0");
        row.open(1, transport, "[::]:9");
        let to = "[fd00::2]:9".parse().expect("an address");
        let socket = SOCKET;
        let data = Bytes::from_static(&[0; 50]);
        row.hosts[0].handle_command(NOW, APP, SocketCommand::Send { socket, to, data });
        let (_, outgoing) = row.hosts[0].poll_transmit(NOW).expect("a packet");
        let mut frame = outgoing.frame;
        frame.invert(&[bit]);
        row.hosts[1].handle_input(NOW, Port(0), Input::Frame(frame, RxVector::wired(NOW)));
        let byte = bit / 8;
        // Traffic class, flow label and hop limit change nothing; version, lengths, next header and
        // addresses are found out in one way or another.
        let harmless = (4..32).contains(&bit) || byte == 7;
        assert_eq!(row.received(1).len(), usize::from(harmless), "bit {bit}");
        let ledger = row.hosts[1].ledger();
        assert_eq!((ledger.drops.total(), ledger.balances()), (u64::from(!harmless), true));
    }
}

//= S1.7
#[test]
fn damage_behind_the_coverage_reaches_the_application_with_what_is_known_of_it() {
    let mut row = Row::pair();
    row.open(0, LITE, "0.0.0.0:0");
    row.open(1, LITE, "0.0.0.0:9");
    row.damage = |frame| {
        frame.invert(&[40 * 8]);
        frame.damage.frame = Check::Bad;
    };
    row.send(0, "10.0.0.2:9", &[0; 50]);
    let (data, damage) = row.received(1).remove(0);
    assert_eq!((data[11], data[12], data[13]), (0, 0x80, 0));
    assert_eq!((damage.frame, damage.suspect.len()), (Check::Bad, 1));
    assert_eq!(damage.suspect[0], 4..50);

    row.damage = |frame| {
        frame.truncate(48);
        frame.damage.frame = Check::Bad;
        frame.damage.suspect = vec![0..30, 31..35, 40..44];
    };
    row.send(0, "10.0.0.2:9", &[0; 50]);
    let (data, damage) = row.received(1).remove(0);
    assert_eq!((data.len(), damage.missing), (20, 30));
    assert_eq!(damage.suspect, [4..7, 12..16]);

    // A whole checksum of 16 bits that held does not overrule a frame check of 32 that did not.
    let mut row = Row::pair();
    row.damage = |frame| frame.damage.frame = Check::Bad;
    row.open(0, Transport::Udp, "0.0.0.0:0");
    row.open(1, Transport::Udp, "0.0.0.0:9");
    row.send(0, "10.0.0.2:9", &[0; 50]);
    assert_eq!(row.received(1)[0].1.frame, Check::Bad);
}

//= S1.10
#[test]
fn a_receiver_may_ask_for_coverage() {
    let delivered = |send_coverage, min_coverage| {
        let mut row = Row::pair();
        let sender = Transport::UdpLite { send_coverage, min_coverage: None };
        row.open(0, sender, "0.0.0.0:0");
        row.open(1, Transport::UdpLite { send_coverage: 0, min_coverage }, "0.0.0.0:9");
        row.send(0, "10.0.0.2:9", &[0; 50]);
        let dropped = row.dropped(1, DropReason::UdpLiteCoverage);
        let received = row.received(1).len() as u64;
        assert_eq!(received + dropped, 1);
        received == 1
    };
    assert!(delivered(8, None));
    assert!(!delivered(8, Some(0)) && delivered(0, Some(0)) && delivered(58, Some(0)));
    assert!(!delivered(19, Some(20)) && delivered(20, Some(20)));
    assert!(delivered(0, Some(1000)));
}

//= S0.3
//= S0.4
#[test]
fn a_socket_that_checks_nothing_takes_damaged_datagrams_of_any_coverage() {
    let arrivals = |transport, inverted: usize| {
        let mut row = Row::pair();
        row.open(0, Transport::UdpLiteUnchecked, "0.0.0.0:0");
        row.open(1, transport, "0.0.0.0:9");
        row.damage = match inverted {
            28 => |frame| frame.invert(&[28 * 8]),
            _ => |frame| frame.invert(&[60 * 8]),
        };
        let socket = SOCKET;
        let to = "10.0.0.2:9".parse().expect("an address");
        let data = Bytes::from_static(&[0; 50]);
        let send = SocketCommand::SendCovered { socket, to, data, coverage: 12 };
        row.hosts[0].handle_command(NOW, APP, send);
        row.run();
        (row.received(1).len(), row.dropped(1, DropReason::UdpLiteChecksum))
    };
    // Covered are the header and the 4 bytes behind it.
    assert_eq!(arrivals(LITE, 60), (1, 0));
    assert_eq!(arrivals(LITE, 28), (0, 1));
    assert_eq!(arrivals(Transport::UdpLiteUnchecked, 60), (1, 0));
    assert_eq!(arrivals(Transport::UdpLiteUnchecked, 28), (1, 0));
}

//= S0.30
//= S0.72
#[test]
fn routers_between_pass_packets_on_and_tell_the_path_mtu() {
    for (local, to) in [("0.0.0.0:0", "10.2.0.1:9"), ("[::]:0", "[fd02::1]:9")] {
        let mut row = Row::line(1280);
        row.open(0, Transport::Udp, local);
        row.open(3, Transport::Udp, &local.replace(":0", ":9"));
        // The first long datagram meets the narrow link and teaches the sender.
        row.send(0, to, &[1; 1400]);
        assert!(row.received(3).is_empty());
        assert_eq!(row.dropped(1, DropReason::TooBig), 1);
        let learned = core::iter::from_fn(|| row.hosts[0].poll_event()).any(|event| {
            matches!(event, HostEvent::Internet(IpEventKind::PathMtu { mtu: 1280, .. }))
        });
        assert!(learned);
        assert!(row.events(0).is_empty(), "a path MTU is no failure");
        // The second goes in fragments that fit, and arrives whole.
        row.passed.clear();
        let data: Vec<u8> = (0..1400).map(|i| i as u8).collect();
        row.send(0, to, &data);
        assert!(row.passed.iter().all(|(_, packet)| packet.len() <= 1280));
        assert_eq!(row.passed.len(), 6, "two fragments on each of three links");
        assert_eq!(row.received(3)[0].0, data);
    }
}

#[test]
fn the_hop_limit_ends_a_walk_and_its_source_hears_of_it() {
    let mut row = Row::line(1500);
    let echo = |hop_limit: u8| {
        let src = [10, 0, 0, 1].into();
        let dst = [10, 2, 0, 1].into();
        let mut repr = windfall_wire_net::Ipv4Repr::new(src, dst, Protocol::ICMP, 8).expect("fits");
        repr.hop_limit = hop_limit;
        let mut packet = vec![0; 28];
        repr.emit(&mut packet);
        let request = windfall_wire_net::Icmpv4Repr::EchoRequest { id: 7, seq: 1 };
        request.emit(&mut packet[20..], &[]);
        Frame::packet(packet)
    };
    row.open(0, Transport::Echo, "0.0.0.0:7");
    for (hop_limit, host) in [(1, 1), (2, 2)] {
        let input = Input::Frame(echo(hop_limit), RxVector::wired(NOW));
        row.hosts[1].handle_input(NOW, Port(0), input);
        row.run();
        assert_eq!(row.dropped(host, DropReason::HopLimit), 1);
        let error = SocketError::Unreachable;
        assert_eq!(row.events(0), [SocketEvent::Failed { socket: SOCKET, error }]);
    }
    row.hosts[1].handle_input(NOW, Port(0), Input::Frame(echo(3), RxVector::wired(NOW)));
    row.run();
    assert_eq!(row.received(0).len(), 1, "three hops are enough for the answer to come");
}

#[test]
fn a_full_buffer_and_a_closed_socket_drop_by_name() {
    let mut row = Row::pair();
    row.open(0, Transport::Udp, "0.0.0.0:0");
    row.open(1, Transport::Udp, "0.0.0.0:9");
    for _ in 0..200 {
        row.send(0, "10.0.0.2:9", &[0; 1400]);
    }
    let full = row.dropped(1, DropReason::ReceiveBuffer);
    // 212 992 bytes hold 128 datagrams of 1400 + 256 bytes.
    assert_eq!(full, 200 - 128);
    row.hosts[1].handle_command(NOW, APP, SocketCommand::Close { socket: SOCKET });
    assert_eq!(row.dropped(1, DropReason::NoListener), 128);
    let ledger = row.hosts[1].ledger();
    assert!(ledger.balances() && ledger.held == 0);
}

#[test]
fn a_host_can_speak_to_itself() {
    let mut row = Row::pair();
    row.open(0, Transport::Udp, "10.0.0.1:9");
    row.send(0, "10.0.0.1:9", b"me");
    assert_eq!(row.received(0)[0].0, b"me"[..]);
    assert!(row.passed.is_empty());
}

/// A packet for, through or past a router, sound or nearly so.
fn sensible(stream: &mut Stream, now: Instant) -> (Port, Input) {
    let mut pick = |choices: &[u8]| choices[stream.below(choices.len() as u64) as usize];
    let v6 = pick(&[0, 1]) == 1;
    let net = pick(&[0, 1, 2]);
    let host = pick(&[1, 2, 255]);
    let addresses = if v6 {
        let address = |net, host| [0xfd00 | u16::from(net), 0, 0, 0, 0, 0, 0, u16::from(host)];
        Addresses::V6 { src: address(0, 1).into(), dst: address(net, host).into() }
    } else {
        Addresses::V4 { src: [10, 0, 0, 1].into(), dst: [10, net, 0, host].into() }
    };
    let data = vec![0; usize::from(pick(&[0, 50, 255])) * 6];
    let transport = [Transport::Udp, LITE, Transport::Echo][usize::from(pick(&[0, 1, 2]))];
    let sender = sockets::Sender { transport, local: ([0; 4], 5).into(), echo: 1, coverage: 12 };
    let port = u16::from(pick(&[9, 10]));
    let (protocol, header) =
        datagram::header(&sender, &addresses, port, &data).expect("short enough");
    let upper = [&header[..], &data].concat();
    let id = pick(&[1, 2]);
    let mut packet = match addresses {
        Addresses::V4 { src, dst } => {
            let repr = windfall_wire_net::Ipv4Repr::new(src, dst, protocol, upper.len());
            let mut repr = repr.expect("fits");
            (repr.hop_limit, repr.identification) = (pick(&[1, 2, 64]), id.into());
            repr.dont_fragment = pick(&[0, 1]) == 1;
            let pieces = windfall_ip::fragment::cut_v4(&repr, &upper.into(), 576);
            pieces[usize::from(pick(&[0, 1, 2])) % pieces.len()].clone()
        }
        Addresses::V6 { src, dst } => {
            let repr = windfall_wire_net::Ipv6Repr::new(src, dst, protocol, upper.len());
            let mut repr = repr.expect("fits");
            repr.hop_limit = pick(&[1, 2, 64]);
            let pieces = windfall_ip::fragment::cut_v6(&repr, id.into(), &upper.into(), 1280);
            pieces[usize::from(pick(&[0, 1])) % pieces.len()].clone()
        }
    };
    if pick(&[0, 0, 1]) == 1 {
        packet = packet.to_bytes().into();
    }
    let port = Port(u16::from(pick(&[0, 1])));
    (port, Input::Frame(Frame::packet(packet), RxVector::wired(now)))
}

#[test]
fn the_laws_hold() {
    let build = |seed| {
        let mut config = config(
            vec![
                interface(&["10.0.0.2/24", "fd00::2/64"], 1500),
                interface(&["10.1.0.1/24", "fd01::1/64"], 600),
            ],
            &[],
        );
        config.internet.reassembly_timeout = windfall_base::Duration::from_millis(30);
        config.internet.reassembly_bytes = 4_000;
        config.receive_buffer = 5_000;
        let mut host = Host::new(config, seed);
        for (socket, transport) in [(0, Transport::Udp), (1, LITE)] {
            let socket = SocketId(socket);
            let local = ([0; 4], 9).into();
            host.handle_command(NOW, APP, SocketCommand::Open { socket, transport, local });
        }
        host
    };
    laws::check(laws::Subject::new(2, build).input(sensible).ledger(Host::ledger));
}

/// Opens a stream from the first host of a row to the last, which listens on port 80.
fn connected(row: &mut Row, local: &str, to: &str) {
    let far = row.hosts.len() - 1;
    assert!(matches!(row.open(far, Transport::Tcp, local), SocketEvent::Opened { .. }));
    row.hosts[far].handle_command(NOW, APP, SocketCommand::Listen { socket: SOCKET });
    row.open(0, Transport::Tcp, if to.starts_with('[') { "[::]:0" } else { "0.0.0.0:0" });
    let to = to.parse().expect("an address");
    row.hosts[0].handle_command(NOW, APP, SocketCommand::Connect { socket: SOCKET, to });
    row.run();
    let event = row.hosts[0].poll_socket_event();
    assert_eq!(event, Some((APP, SocketEvent::Connected { socket: SOCKET })));
}

#[test]
fn a_stream_crosses_routers_and_fits_the_narrowest_link() {
    for (local, to) in [("[::]:80", "10.2.0.1:80"), ("[::]:80", "[fd02::1]:80")] {
        let mut row = Row::line(1300);
        connected(&mut row, local, to);
        let data: Vec<u8> = (0..300_000_u32).map(|i| (i.wrapping_mul(i) >> 7) as u8).collect();
        row.send(0, to, &data);
        row.hosts[0].handle_command(NOW, APP, SocketCommand::Finish { socket: SOCKET });
        row.run();
        let mut received = Vec::new();
        let mut finished = false;
        while let Some((_, event)) = row.hosts[3].poll_socket_event() {
            match event {
                SocketEvent::Stream { data, .. } => received.extend_from_slice(&data),
                SocketEvent::Finished { .. } => finished = true,
                _ => {}
            }
        }
        assert!(received == data && finished, "{} bytes, finished {finished}", received.len());
        let middle = row.passed.iter().filter(|(from, _)| *from == 1).map(|(_, p)| p.len());
        assert_eq!(middle.max(), Some(1300), "whole packets of the path's size");
    }
}

#[test]
fn a_listener_of_both_families_takes_the_longest_packets_of_each() {
    for to in ["10.0.0.2:80", "[fd00::2]:80"] {
        let mut row = Row::pair();
        connected(&mut row, "[::]:80", to);
        row.send(0, to, &[7; 20_000]);
        row.run();
        assert_eq!(row.passed.iter().map(|(_, packet)| packet.len()).max(), Some(1_500), "{to}");
    }
}

#[test]
fn a_paused_stream_waits_at_its_sender_and_loses_nothing() {
    let mut row = Row::pair();
    connected(&mut row, "0.0.0.0:80", "10.0.0.2:80");
    let accepted = row.events(1).into_iter().find_map(|event| match event {
        SocketEvent::Accepted { socket, .. } => Some(socket),
        _ => None,
    });
    let socket = accepted.expect("a connection");
    row.hosts[1].handle_command(NOW, APP, SocketCommand::Pause { socket });
    let data: Vec<u8> = (0..3_000_000_u32).map(|i| (i.wrapping_mul(i) >> 9) as u8).collect();
    row.send(0, "10.0.0.2:80", &data);
    row.hosts[0].handle_command(NOW, APP, SocketCommand::Finish { socket: SOCKET });
    row.run();
    assert!(row.events(1).is_empty(), "nothing is passed up");
    let connection = row.hosts[1].connection(APP, socket).expect("it is open");
    // Full but for what would be a silly segment.
    let full = (1 << 20) - 1460..=1 << 20;
    assert!(full.contains(&connection.readable()), "{} bytes", connection.readable());
    row.hosts[1].handle_command(NOW, APP, SocketCommand::Resume { socket });
    row.run();
    let mut received = Vec::new();
    let mut ends = 0;
    for event in row.events(1) {
        match event {
            SocketEvent::Stream { data, .. } if ends == 0 => received.extend_from_slice(&data),
            SocketEvent::Finished { .. } => ends += 1,
            other => panic!("{other:?}"),
        }
    }
    assert!(received == data && ends == 1, "{} bytes, {ends} ends", received.len());
}

#[test]
fn an_aborted_stream_is_reset_at_the_other_end() {
    let mut row = Row::pair();
    connected(&mut row, "0.0.0.0:80", "10.0.0.2:80");
    row.hosts[0].handle_command(NOW, APP, SocketCommand::Abort { socket: SOCKET });
    row.run();
    let is_reset = |event: &SocketEvent| {
        matches!(event, SocketEvent::Failed { error: SocketError::Reset, .. })
    };
    assert!(row.events(1).iter().any(is_reset));
    assert!(row.events(0).is_empty());
}

#[test]
fn a_connection_without_a_listener_is_refused() {
    let mut row = Row::pair();
    row.open(0, Transport::Tcp, "0.0.0.0:0");
    let to = "10.0.0.2:81".parse().expect("an address");
    row.hosts[0].handle_command(NOW, APP, SocketCommand::Connect { socket: SOCKET, to });
    row.run();
    let error = SocketError::PortClosed;
    let event = row.hosts[0].poll_socket_event();
    assert_eq!(event, Some((APP, SocketEvent::Failed { socket: SOCKET, error })));
    assert_eq!(row.hosts[1].ledger().drops.of(DropReason::NoListener), 1);
}

#[test]
fn a_segment_with_a_wrong_checksum_is_counted_by_that_name() {
    let mut row = Row::pair();
    connected(&mut row, "0.0.0.0:80", "10.0.0.2:80");
    row.damage = |frame| frame.invert(&[60 * 8]);
    row.send(0, "10.0.0.2:80", &[0; 1_000]);
    assert_eq!(row.hosts[1].ledger().drops.of(DropReason::TcpChecksum), 1);
}

#[test]
fn streams_keep_the_laws_of_a_node() {
    let build = |seed| {
        let mut host = Host::new(config(vec![interface(&["10.0.0.2/24"], 1500)], &[]), seed);
        let local = "10.0.0.2:80".parse().expect("an address");
        let transport = Transport::Tcp;
        let open = SocketCommand::Open { socket: SOCKET, transport, local };
        host.handle_command(Instant::START, APP, open);
        host.handle_command(Instant::START, APP, SocketCommand::Listen { socket: SOCKET });
        host
    };
    laws::check(laws::Subject::new(1, build).input(any_segment).ledger(Host::ledger));
}

/// A segment from one of a few strangers, often one that opens a connection.
fn any_segment(stream: &mut Stream, now: Instant) -> (Port, Input) {
    use windfall_wire_net::tcp::{CorruptionKinds, fill_checksum};
    use windfall_wire_net::{TcpFlags, TcpRepr};
    let src = [10, 0, 0, 10 + stream.below(3) as u8].into();
    let dst = [10, 0, 0, 2].into();
    let opens = stream.below(2) == 0;
    let header = TcpRepr {
        src_port: 1_000,
        dst_port: 80 + u16::from(stream.below(8) == 0),
        seq: windfall_base::seq::Seq32(stream.below(4) as u32),
        flags: if opens { TcpFlags::SYN } else { TcpFlags(stream.below(512) as u16) },
        window: stream.below(2_000) as u16,
        ..TcpRepr::default()
    };
    let mut segment = header.emit(&CorruptionKinds::default()).expect("a header").to_vec();
    fill_checksum(&Addresses::V4 { src, dst }, &mut segment, &[]);
    let ip = windfall_wire_net::Ipv4Repr::new(src, dst, Protocol::TCP, segment.len());
    let mut packet = vec![0; windfall_wire_net::ipv4::HEADER_LEN];
    ip.expect("a short packet").emit(&mut packet);
    packet.extend(segment);
    (Port(0), Input::Frame(Frame::packet(packet), RxVector::wired(now)))
}
