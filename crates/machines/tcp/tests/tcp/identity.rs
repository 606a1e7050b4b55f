//! What is made of a secret and the two ends: initial sequence numbers and cookies. Without the
//! secret nothing is learned of one connection from another (RFC 6528, RFC 4987, RFC 7413).

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use windfall_base::seq::Seq32;
use windfall_base::{DropReason, Duration, Instant, Seed};
use windfall_tcp::{Listener, Lookup, SegmentMeta, TcpConfig, TcpEndpoint, TcpEvent};
use windfall_wire_net::tcp::{CorruptionKinds, FastOpenCookie, fill_checksum};
use windfall_wire_net::{Addresses, Ecn, TcpFlags, TcpOptions, TcpPacket, TcpRepr};

fn endpoint(seed: u64, name: &str) -> TcpEndpoint {
    TcpEndpoint::new(Seed(seed), name, Lookup::Hashed)
}

fn addr(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

fn after(passed: Duration) -> Instant {
    Instant::START.saturating_add(passed)
}

/// Returns the initial sequence number of a connection that an endpoint opens.
fn opened(mut tcp: TcpEndpoint, now: Instant, [local, remote]: [&str; 2]) -> u32 {
    let config = Arc::new(TcpConfig::default());
    tcp.connect(now, addr(local), addr(remote), config).unwrap();
    TcpPacket::new(&tcp.poll_transmit(now).unwrap().header).unwrap().seq().0
}

/// Pairs of ends of which each differs from the first of its family in one respect.
const ENDS: [[&str; 2]; 15] = [
    ["10.0.0.1:40000", "10.0.0.2:5001"],
    ["10.0.0.3:40000", "10.0.0.2:5001"],
    ["138.0.0.1:40000", "10.0.0.2:5001"],
    ["10.0.0.1:40001", "10.0.0.2:5001"],
    ["10.0.0.1:7232", "10.0.0.2:5001"],
    ["10.0.0.1:40000", "10.0.0.3:5001"],
    ["10.0.0.1:40000", "10.0.0.2:5000"],
    ["10.0.0.1:5001", "10.0.0.2:40000"],
    ["10.0.0.2:40000", "10.0.0.1:5001"],
    ["[fd00:1::1]:40000", "[fd00:2::2]:5001"],
    ["[fd00:3::1]:40000", "[fd00:2::2]:5001"],
    ["[fd00:1::3]:40000", "[fd00:2::2]:5001"],
    ["[fd00:1::1]:40000", "[fd00:3::2]:5001"],
    ["[fd00:1::1]:40000", "[fd00:2::3]:5001"],
    ["[fd00:1::1]:40001", "[fd00:2::2]:5001"],
];

#[test]
fn initial_numbers_differ_with_every_part_of_the_ends_and_with_the_secret() {
    let now = after(Duration::from_secs(5));
    let mut numbers: Vec<u32> = ENDS.map(|ends| opened(endpoint(3, "numbers"), now, ends)).into();
    numbers.push(opened(endpoint(4, "numbers"), now, ENDS[0]));
    numbers.push(opened(endpoint(3, "another host"), now, ENDS[0]));
    numbers.sort_unstable();
    // Not only different: numbers of 17 connections that lie nearer than 2³² / 17² / 100 to one
    // another would come up in one of a hundred seeds.
    for pair in numbers.windows(2) {
        assert!(pair[1] - pair[0] > u32::MAX / 28_900, "{numbers:?}");
    }
}

#[test]
fn initial_numbers_of_the_same_ends_follow_a_clock_of_four_microseconds() {
    let number = |passed| opened(endpoint(3, "numbers"), after(passed), ENDS[0]);
    let first = number(Duration::ZERO);
    for (passed, ticks) in [
        (Duration::from_micros(3), 0),
        (Duration::from_micros(4), 1),
        (Duration::from_secs(1), 250_000),
        // The clock goes round in 4.77 hours.
        (Duration::from_secs(86_400), (86_400_u64 * 250_000 % (1 << 32)) as u32),
    ] {
        assert_eq!(number(passed).wrapping_sub(first), ticks, "{passed}");
    }
}

/// Returns a listener's host that answers every SYN with a cookie.
fn besieged() -> TcpEndpoint {
    let mut tcp = endpoint(3, "besieged");
    let config = Arc::new(TcpConfig::default());
    for local in ["10.0.0.2:5001", "10.0.0.2:5002", "10.0.0.3:5001"] {
        let config = Arc::clone(&config);
        let listener = Listener { backlog: 0, ..Listener::new(config) };
        tcp.listen(addr(local), listener).unwrap();
    }
    tcp
}

fn deliver(
    tcp: &mut TcpEndpoint,
    now: Instant,
    [from, to]: [&str; 2],
    header: &TcpRepr,
) -> Result<(), DropReason> {
    deliver_with(tcp, now, [from, to], header, (&[], 0))
}

/// As [`deliver`], with data of which the last `missing` bytes were cut off.
fn deliver_with(
    tcp: &mut TcpEndpoint,
    now: Instant,
    [from, to]: [&str; 2],
    header: &TcpRepr,
    (data, missing): (&[u8], usize),
) -> Result<(), DropReason> {
    let from = addr(from);
    let to = addr(to);
    let header = TcpRepr { src_port: from.port(), dst_port: to.port(), ..header.clone() };
    let addresses = Addresses::new(from.ip(), to.ip()).unwrap();
    let mut bytes = header.emit(&CorruptionKinds::default()).unwrap().to_vec();
    fill_checksum(&addresses, &mut bytes, data);
    bytes.extend_from_slice(&data[..data.len() - missing]);
    let arrival =
        SegmentMeta { addresses, ecn: Ecn::NotCapable, missing: missing as u32, lost_before: 0 };
    tcp.handle_segment(now, &arrival, &bytes.into())
}

const CLIENT: [&str; 2] = ["10.0.0.1:40000", "10.0.0.2:5001"];

fn syn(mss: Option<u16>) -> TcpRepr {
    let options = TcpOptions { mss, ..TcpOptions::default() };
    TcpRepr { seq: Seq32(77), flags: TcpFlags::SYN, window: 5_000, options, ..TcpRepr::default() }
}

/// Returns the acknowledgment that a client of `ends` would make of the cookie it got at `now`.
fn answered(tcp: &mut TcpEndpoint, now: Instant, ends: [&str; 2], mss: Option<u16>) -> TcpRepr {
    deliver(tcp, now, ends, &syn(mss)).unwrap();
    let answer = tcp.poll_transmit(now).unwrap();
    let packet = TcpPacket::new(&answer.header).unwrap();
    assert_eq!(packet.ack(), Seq32(78));
    let header = TcpRepr::parse(&packet, &CorruptionKinds::default()).unwrap();
    assert_eq!(header.options.mss, Some(TcpConfig::default().mss));
    assert!(tcp.is_empty(), "a cookie costs no memory");
    TcpRepr {
        seq: Seq32(78),
        ack: packet.seq().next(),
        flags: TcpFlags::ACK,
        window: 5_000,
        ..TcpRepr::default()
    }
}

#[test]
fn a_cookie_is_good_for_the_ends_that_it_was_made_for_alone() {
    let mut tcp = besieged();
    let now = after(Duration::from_secs(1_000));
    let ack = answered(&mut tcp, now, CLIENT, Some(1460));
    let refused = Err(DropReason::TcpAcknowledgment);
    for ends in [
        ["10.0.0.9:40000", CLIENT[1]],
        ["10.0.0.1:40001", CLIENT[1]],
        ["10.0.0.1:7232", CLIENT[1]],
        [CLIENT[0], "10.0.0.2:5002"],
        [CLIENT[0], "10.0.0.3:5001"],
    ] {
        assert_eq!(deliver(&mut tcp, now, ends, &ack), refused, "{ends:?}");
    }
    let next = TcpRepr { seq: ack.seq + 1, ..ack.clone() };
    assert_eq!(deliver(&mut tcp, now, CLIENT, &next), refused);
    // Each bit of it counts: the time, the segment size, and the hash.
    for bit in 0..32 {
        let cookie = (ack.ack.0 - 1) ^ 1 << bit;
        let forged = TcpRepr { ack: Seq32(cookie).next(), ..ack.clone() };
        assert_eq!(deliver(&mut tcp, now, CLIENT, &forged), refused, "{bit}");
    }
    let syn = TcpRepr { flags: TcpFlags::SYN | TcpFlags::ACK, ..ack.clone() };
    assert_eq!(deliver(&mut tcp, now, CLIENT, &syn), refused);
    assert!(tcp.is_empty());
    assert_eq!(deliver(&mut tcp, now, CLIENT, &ack), Ok(()));
    assert!(matches!(tcp.poll_event(), Some((_, TcpEvent::Accepted))));
    assert!(!tcp.is_empty());
}

#[test]
fn a_cookie_begins_with_five_bits_of_time_and_three_of_the_segment_size() {
    for (seconds, offered, first) in [
        (0, 216, 0),
        (63, 1460, 6),
        (64, 1460, 1 << 3 | 6),
        (31 * 64, 9_000, 31 << 3 | 7),
        (32 * 64, 536, 1),
    ] {
        let ack =
            answered(&mut besieged(), after(Duration::from_secs(seconds)), CLIENT, Some(offered));
        assert_eq!((ack.ack.0 - 1) >> 24, first, "{seconds} s, {offered} bytes");
    }
}

#[test]
fn a_cookie_is_good_for_one_to_two_minutes() {
    for (made, shown, good) in [
        (0, 0, true),
        (0, 127, true),
        (0, 128, false),
        (6_400, 6_527, true),
        (6_400, 6_528, false),
        (6_463, 6_527, true),
        (6_463, 6_528, false),
        // The time of a cookie comes round after 34 minutes; its hash does not.
        (6_400, 6_400 + 32 * 64, false),
    ] {
        let mut tcp = besieged();
        let ack = answered(&mut tcp, after(Duration::from_secs(made)), CLIENT, Some(1460));
        let result = deliver(&mut tcp, after(Duration::from_secs(shown)), CLIENT, &ack);
        assert_eq!(result.is_ok(), good, "made at {made} s, shown at {shown} s");
    }
}

#[test]
fn a_cookie_remembers_the_greatest_segment_size_that_is_not_above_the_offer() {
    for (offered, remembered) in [
        (None, 536),
        (Some(100), 216),
        (Some(216), 216),
        (Some(535), 216),
        (Some(1219), 1200),
        (Some(1460), 1460),
        (Some(9_000), 2256),
    ] {
        let mut tcp = besieged();
        let now = after(Duration::from_secs(1));
        let ack = answered(&mut tcp, now, CLIENT, offered);
        deliver(&mut tcp, now, CLIENT, &ack).unwrap();
        let (id, _) = tcp.poll_event().unwrap();
        tcp.write(id, &[0; 8_000]).unwrap();
        let sent = tcp.poll_transmit(now).unwrap();
        assert_eq!(TcpPacket::new(&sent.header).unwrap().ack(), ack.seq);
        // What it sends itself is bounded by its own size too.
        let own = TcpConfig::default().mss;
        assert_eq!(sent.data.len(), usize::from(own.min(remembered)), "{offered:?}");
    }
}

/// Returns the cookie for fast open that a server gives to a client at `from`.
fn granted(from: &str, to: &str) -> FastOpenCookie {
    let mut tcp = endpoint(3, "server");
    let config = Arc::new(TcpConfig::default().with(|it| it.fast_open = true));
    tcp.listen(addr(to), Listener::new(config)).unwrap();
    let mut ask = syn(Some(1460));
    ask.options.fast_open = Some(FastOpenCookie::new());
    deliver(&mut tcp, Instant::START, [from, to], &ask).unwrap();
    let answer = tcp.poll_transmit(Instant::START).unwrap();
    let packet = TcpPacket::new(&answer.header).unwrap();
    let header = TcpRepr::parse(&packet, &CorruptionKinds::default()).unwrap();
    header.options.fast_open.expect("a cookie was asked for")
}

#[test]
fn a_cookie_for_fast_open_proves_the_address_of_the_client_and_nothing_else() {
    let first = granted("10.0.0.1:40000", "10.0.0.2:5001");
    assert_eq!(granted("10.0.0.1:9", "10.0.0.2:5001"), first);
    let clients: [IpAddr; 6] =
        ["10.0.0.1", "10.0.0.3", "138.0.0.1", "fd00:1::1", "fd00:1::3", "fd00:3::1"]
            .map(|text| text.parse().unwrap());
    let cookies: BTreeSet<Vec<u8>> = clients
        .iter()
        .map(|client| {
            let server = if client.is_ipv4() { "10.0.0.2:5001" } else { "[fd00:2::2]:5001" };
            granted(&SocketAddr::new(*client, 40_000).to_string(), server).to_vec()
        })
        .collect();
    assert_eq!(cookies.len(), clients.len());
}

#[test]
fn a_cookie_for_fast_open_opens_early_only_with_whole_data_that_are_new() {
    let cookie = granted(CLIENT[0], CLIENT[1]);
    let mut tcp = endpoint(3, "server");
    let config = Arc::new(TcpConfig::default().with(|it| it.fast_open = true));
    tcp.listen(addr(CLIENT[1]), Listener::new(config)).unwrap();
    let mut port = 40_000;
    let mut opens_early = |flags: TcpFlags, data: &[u8]| {
        port += 1;
        let from = format!("10.0.0.1:{port}");
        let mut open = TcpRepr { flags, ..syn(Some(1460)) };
        open.options.fast_open = Some(cookie.clone());
        let _ = deliver_with(&mut tcp, Instant::START, [&from, CLIENT[1]], &open, (data, 0));
        while tcp.poll_transmit(Instant::START).is_some() {}
        let mut accepted = false;
        while let Some((_, event)) = tcp.poll_event() {
            accepted |= event == TcpEvent::Accepted;
        }
        accepted
    };
    assert!(opens_early(TcpFlags::SYN, &[1; 100]));
    assert!(!opens_early(TcpFlags::SYN, &[]), "nothing to open early for");
    assert!(!opens_early(TcpFlags::SYN | TcpFlags::FIN, &[1; 100]));
}
