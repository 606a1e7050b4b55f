mod handing;
mod messages;

use windfall_wire_net::{
    Icmpv4Packet, Icmpv4Repr, IpPacket, Ipv4Packet, Ipv4Repr, Ipv6Repr, icmpv4, ipv6,
};

use super::*;
use crate::report::HeaderFault;

const NOW: Instant = Instant::from_nanos(5);

#[test]
fn a_network_of_two_has_no_broadcast_address() {
    let of = |text: &str| broadcast(&text.parse().expect("a prefix"));
    assert_eq!(of("10.0.0.1/24"), Some(Ipv4Addr::new(10, 0, 0, 255)));
    assert_eq!(of("10.0.0.1/31"), None);
    assert_eq!(of("fd00::1/64"), None);
}

fn layer(forwarding: bool) -> Layer {
    let interface = |address: &str, v6: &str| IpInterfaceConfig {
        addresses: vec![address.parse().expect("a prefix"), v6.parse().expect("a prefix")],
        mtu: 1500,
    };
    let interfaces =
        vec![interface("10.0.0.1/24", "fd00::1/64"), interface("10.1.0.1/24", "fd01::1/64")];
    Layer::new(IpConfig { interfaces, forwarding, ..IpConfig::default() }, Seed(1))
}

fn v4(dst: [u8; 4], protocol: Protocol, data: &[u8], set: impl Fn(&mut Ipv4Repr)) -> Frame {
    let src = [10, 0, 0, 9].into();
    let mut repr = Ipv4Repr::new(src, dst.into(), protocol, data.len()).expect("fits");
    set(&mut repr);
    let mut bytes = vec![0; repr.header_len()];
    repr.emit(&mut bytes);
    Frame::packet([bytes, data.to_vec()].concat())
}

fn v6(dst: &str, next: Protocol, data: &[u8]) -> Frame {
    let src = "fd00::9".parse();
    let dst = dst.parse();
    let src = src.expect("an address");
    let dst = dst.expect("an address");
    let repr = Ipv6Repr::new(src, dst, next, data.len()).expect("fits");
    let mut bytes = vec![0; ipv6::HEADER_LEN];
    repr.emit(&mut bytes);
    Frame::packet([bytes, data.to_vec()].concat())
}

fn sent(layer: &mut Layer) -> Vec<(usize, Bytes)> {
    core::iter::from_fn(|| layer.poll_transmit())
        .map(|(interface, frame)| (interface, frame.payload.to_bytes()))
        .collect()
}

fn reported(layer: &mut Layer) -> Vec<Problem> {
    core::iter::from_fn(|| layer.poll_event())
        .filter_map(|event| match event.kind {
            IpEventKind::Reported { problem, .. } => Some(problem),
            _ => None,
        })
        .collect()
}

#[test]
fn only_a_router_passes_packets_on() {
    let packet = || v4([10, 1, 0, 2], Protocol::UDP, &[0; 8], |_| {});
    let mut host = layer(false);
    host.handle_input(NOW, 0, packet());
    assert_eq!(host.ledger().drops.of(DropReason::NotForUs), 1);
    let mut router = layer(true);
    router.handle_input(NOW, 0, packet());
    let (interface, bytes) = sent(&mut router).remove(0);
    let passed = Ipv4Packet::new(&bytes).expect("a packet");
    assert_eq!((interface, passed.hop_limit()), (1, 63));
    assert!(passed.checksum_holds());
}

#[test]
fn a_packet_in_two_slices_is_passed_on_without_copying_its_data() {
    let mut router = layer(true);
    let frame = v4([10, 1, 0, 2], Protocol::UDP, &[7; 800], |_| {});
    let whole = frame.payload.to_bytes();
    for cut in [10, 20, 28, 820] {
        let head = whole.slice(..cut);
        let body = whole.slice(cut..);
        router.handle_input(NOW, 0, Frame::packet(Payload::new(head, body)));
        let (_, Frame { payload, .. }) = router.poll_transmit().expect("passed on");
        assert_eq!(payload.to_bytes()[20..], whole[20..]);
        let [_, data] = payload.slices();
        assert_eq!(core::ptr::eq(data.as_ptr_range().end, whole.as_ptr_range().end), cut >= 28);
    }
}

#[test]
fn ipv6_in_two_slices_is_passed_on_without_copying_its_data_too() {
    let mut router = layer(true);
    let whole = v6("fd01::2", Protocol::UDP, &[7; 800]).payload.to_bytes();
    // The headers of IPv6 and UDP must lie in the first slice.
    for cut in [20, 40, 47, 48, 840] {
        let head = whole.slice(..cut);
        let body = whole.slice(cut..);
        router.handle_input(NOW, 0, Frame::packet(Payload::new(head, body)));
        let (_, Frame { payload, .. }) = router.poll_transmit().expect("passed on");
        assert_eq!(payload.to_bytes()[40..], whole[40..]);
        let [_, data] = payload.slices();
        assert_eq!(core::ptr::eq(data.as_ptr_range().end, whole.as_ptr_range().end), cut >= 48);
    }
}

#[test]
fn the_mtu_towards_a_destination_is_that_of_its_link() {
    let mut layer = layer(false);
    layer.config.interfaces[1].mtu = 576;
    let towards = |address: &str| layer.mtu_towards(address.parse().expect("an address"));
    assert_eq!(towards("10.0.0.7"), Some(1500));
    assert_eq!(towards("10.1.0.7"), Some(576));
    assert_eq!(towards("fd01::7"), Some(576));
    assert_eq!(towards("11.0.0.1"), None);
    assert_eq!(layer.least_mtu(), 576);
}

#[test]
fn packets_that_start_here_have_names_of_their_own() {
    let mut host = layer(false);
    let mut names = |to: &str| {
        let src = host.source_for(to.parse().expect("an address"));
        let dst = to.parse();
        let addresses = src.and_then(|src| Addresses::new(src, dst.expect("an address")));
        for _ in 0..2 {
            let packet = Outbound {
                addresses: addresses.expect("one family"),
                protocol: Protocol::UDP,
                ecn: Ecn::NotCapable,
                header: &[],
                data: vec![0; 2_000].into(),
            };
            assert_eq!(host.handle_send(NOW, packet), Ok(()));
        }
        // The identification stands in bytes 4 and 5 over IPv4, at the end of the fragment header
        // over IPv6.
        let name = |bytes: &Bytes| match bytes[0] >> 4 {
            4 => bytes[4..6].to_vec(),
            _ => bytes[44..48].to_vec(),
        };
        sent(&mut host).iter().map(|(_, bytes)| name(bytes)).collect::<Vec<_>>()
    };
    for to in ["10.0.0.9", "fd00::9"] {
        let names = names(to);
        let [first, second, third, fourth] = &names[..] else { panic!("{names:?}") };
        assert!(first == second && third == fourth && first != third, "{names:?}");
    }
}

#[test]
fn a_router_cuts_what_may_be_cut() {
    let mut router = layer(true);
    router.config.interfaces[1].mtu = 576;
    let long = |dont_fragment| {
        v4([10, 1, 0, 2], Protocol::UDP, &[0; 1000], move |repr| repr.dont_fragment = dont_fragment)
    };
    router.handle_input(NOW, 0, long(false));
    assert_eq!(sent(&mut router).iter().map(|(_, b)| b.len()).collect::<Vec<_>>(), [572, 468]);
    router.handle_input(NOW, 0, long(true));
    let (interface, message) = sent(&mut router).remove(0);
    let carried = IpPacket::new(&message).and_then(|p| p.carried().map_err(|_| unreachable!()));
    let icmp = Icmpv4Packet::new(carried.expect("IPv4").bytes).map(|p| Icmpv4Repr::parse(&p));
    let why = icmpv4::Unreachable::FragmentationNeeded { mtu: 576 };
    assert_eq!((interface, icmp), (0, Ok(Some(Icmpv4Repr::Unreachable(why)))));
    // IPv6 is never cut on the way.
    router.config.interfaces[1].mtu = 1280;
    router.handle_input(NOW, 0, v6("fd01::2", Protocol::UDP, &[0; 1241]));
    assert!(reported(&mut router).ends_with(&[Problem::TooBig { mtu: 1280 }]));
    assert!(router.ledger().balances());
}

#[test]
fn what_goes_to_a_group_leaves_by_the_first_interface_of_its_family() {
    let mut host = layer(false);
    let send = |host: &mut Layer, to: &str| {
        let to: IpAddr = to.parse().expect("an address");
        let source = host.source_for(to)?;
        let addresses = Addresses::new(source, to).expect("of one family");
        let data = Bytes::from_static(&[0; 100]);
        let ecn = Ecn::NotCapable;
        let packet = Outbound { addresses, protocol: Protocol::UDP, ecn, header: &[], data };
        host.handle_send(NOW, packet).ok()?;
        let (interface, _) = sent(host).remove(0);
        Some((interface, source.to_string(), host.mtu_towards(to)))
    };
    for to in ["224.0.0.9", "255.255.255.255"] {
        assert_eq!(send(&mut host, to), Some((0, "10.0.0.1".to_owned(), Some(1500))), "{to}");
    }
    assert_eq!(send(&mut host, "ff02::9"), Some((0, "fd00::1".to_owned(), Some(1500))));
    assert_eq!(send(&mut host, "192.0.2.1"), None);
    // A route that names the group goes before.
    let to = "224.0.0.0/4".parse().expect("a prefix");
    host.routes.insert(RouteEntry { to, interface: 1 });
    assert_eq!(send(&mut host, "224.1.0.9").map(|(interface, ..)| interface), Some(1));
    // Where no address is of its family, there is no way.
    let addresses = vec!["10.0.0.1/24".parse().expect("a prefix")];
    let interfaces = vec![IpInterfaceConfig { addresses, mtu: 1500 }];
    let host = Layer::new(IpConfig { interfaces, ..IpConfig::default() }, Seed(1));
    assert_eq!(host.source_for("ff02::9".parse().expect("an address")), None);
}

#[test]
fn what_cannot_go_on_is_returned_for_its_reason() {
    let mut router = layer(true);
    let none = v4([11, 0, 0, 1], Protocol::UDP, &[0; 8], |_| {});
    router.handle_input(NOW, 0, none);
    router.handle_input(NOW, 0, v6("fe00::1", Protocol::UDP, &[0; 8]));
    let tired = v4([10, 1, 0, 2], Protocol::UDP, &[0; 8], |repr| repr.hop_limit = 1);
    router.handle_input(NOW, 0, tired);
    let expected = [Problem::NoRoute, Problem::NoRoute, Problem::HopLimit];
    assert_eq!(reported(&mut router), expected);
    // What must not leave its network is dropped in silence.
    for dst in [[169, 254, 0, 1], [127, 0, 0, 1]] {
        router.handle_input(NOW, 0, v4(dst, Protocol::UDP, &[0; 8], |_| {}));
    }
    router.handle_input(NOW, 0, v6("fe80::1", Protocol::UDP, &[0; 8]));
    assert!(reported(&mut router).is_empty());
    let ledger = router.ledger();
    assert_eq!(ledger.drops.of(DropReason::NotForUs), 3);
    assert!(ledger.balances());
}

#[test]
fn errors_are_limited() {
    let mut router = layer(true);
    let count = |router: &mut Layer, now: Instant| {
        for _ in 0..200 {
            let packet = v4([11, 0, 0, 1], Protocol::UDP, &[0; 8], |_| {});
            router.handle_input(now, 0, packet);
        }
        sent(router).len()
    };
    assert_eq!(count(&mut router, NOW), 50);
    assert_eq!(count(&mut router, NOW + Duration::from_millis(105)), 10);
}

#[test]
fn fragments_that_stay_incomplete_are_reported_if_the_first_is_there() {
    for (offset, reports) in [(0, 1), (8, 0)] {
        let mut host = layer(false);
        let fragment = v4([10, 0, 0, 1], Protocol::UDP, &[0; 8], |repr| {
            repr.fragment = ipv4::Fragment::new(offset, true).expect("a multiple of 8");
        });
        host.handle_input(NOW, 0, fragment);
        assert_eq!(host.ledger().held, 1);
        let (deadline, why) = host.poll_timeout().expect("a deadline");
        assert_eq!((deadline, why), (NOW + Duration::from_secs(60), "reassembly"));
        host.handle_timeout(deadline);
        assert_eq!(reported(&mut host).len(), reports);
        let ledger = host.ledger();
        assert_eq!((ledger.drops.of(DropReason::Reassembly), ledger.balances()), (1, true));
        assert_eq!(host.poll_timeout(), None);
    }
}

#[test]
fn fragments_become_one_datagram_over_both_families() {
    let data: Vec<u8> = (0..3000).map(|i| i as u8).collect();
    let payload = Payload::from(data.clone());
    let src = "fd00::9".parse().expect("an address");
    let dst = "fd00::1".parse();
    let v6 = Ipv6Repr::new(src, dst.expect("an address"), Protocol::UDP, 3000).expect("fits");
    let v4 = Ipv4Repr::new([10, 0, 0, 9].into(), [10, 0, 0, 1].into(), Protocol::UDP, 3000);
    let fragments = [
        crate::fragment::cut_v4(&v4.expect("fits"), &payload, 576),
        crate::fragment::cut_v6(&v6, 5, &payload, 1280),
    ];
    for mut fragments in fragments {
        fragments.reverse();
        let mut host = layer(false);
        for fragment in fragments {
            assert!(host.poll_upward().is_none());
            host.handle_input(NOW, 0, Frame::packet(fragment));
        }
        let Some(Upward::Datagram(datagram)) = host.poll_upward() else { panic!("a datagram") };
        assert_eq!((datagram.protocol, datagram.len), (Protocol::UDP, 3000));
        let bytes = datagram.packet.to_bytes();
        let packet = IpPacket::new(&bytes).expect("a packet");
        assert_eq!(packet.total_len(), bytes.len());
        assert!(!packet.carried().expect("no odd headers").fragment);
        assert_eq!(datagram.slices().concat(), data);
        assert_eq!(datagram.into_bytes(0, 3000), data);
        assert!(host.ledger().balances() && host.ledger().held == 0);
    }
}

#[test]
fn an_option_that_must_be_understood_is_answered_as_it_asks() {
    let problem = |dst, kind: u8| {
        let mut host = layer(false);
        host.handle_input(
            NOW,
            0,
            v6(dst, Protocol::DESTINATION_OPTIONS, &[17, 0, kind, 4, 0, 0, 0, 0]),
        );
        assert!(host.ledger().balances());
        reported(&mut host).pop()
    };
    let unknown = Problem::Parameter { fault: HeaderFault::Option, pointer: 42 };
    assert_eq!(problem("fd00::1", 0x45), None);
    assert_eq!(problem("fd00::1", 0x85), Some(unknown));
    assert_eq!(problem("fd00::1", 0xc5), Some(unknown));
    assert_eq!(problem("ff02::1", 0x85), Some(unknown));
    assert_eq!(problem("ff02::1", 0xc5), None);
}

#[test]
fn an_impossible_fragment_is_answered_over_ipv6_only() {
    let problem = |field: [u8; 2], len: usize| {
        let mut host = layer(false);
        let fragment = [&[17, 0, field[0], field[1], 0, 0, 0, 1][..], &vec![0; len]].concat();
        host.handle_input(NOW, 0, v6("fd00::1", Protocol::FRAGMENT, &fragment));
        assert_eq!(host.ledger().drops.of(DropReason::Malformed), 1);
        reported(&mut host).pop()
    };
    let field = |pointer| Some(Problem::Parameter { fault: HeaderFault::Field, pointer });
    assert_eq!(problem([0, 1], 9), field(4));
    assert_eq!(problem([0xff, 0xf8], 8), field(42));
    let mut host = layer(false);
    let fragment = v4([10, 0, 0, 1], Protocol::UDP, &[0; 9], |repr| {
        repr.fragment = ipv4::Fragment::new(0, true).expect("a multiple of 8");
    });
    host.handle_input(NOW, 0, fragment);
    assert_eq!((reported(&mut host).len(), host.ledger().balances()), (0, true));
}

/// Two fragments of a packet whose fragmentable part is `data`, behind these extension headers.
fn fragments_behind(before: &[u8], first: Protocol, next: u8, data: &[u8]) -> [Frame; 2] {
    let (early, late) = data.split_at(8);
    [(1, early), (8, late)].map(|(field, data)| {
        let header = [next, 0, 0, field, 0, 0, 0, 1];
        v6("fd00::1", first, &[before, &header, data].concat())
    })
}

#[test]
fn the_headers_before_a_fragment_lead_to_what_it_carried() {
    // Hop-by-hop options, then options for the destination, then the fragment header.
    let before = [[60, 0, 1, 4, 0, 0, 0, 0], [44, 0, 1, 4, 0, 0, 0, 0]].concat();
    let mut host = layer(false);
    for fragment in fragments_behind(&before, Protocol::HOP_BY_HOP, 17, &[9; 20]) {
        host.handle_input(NOW, 0, fragment);
    }
    let Some(Upward::Datagram(datagram)) = host.poll_upward() else { panic!("a datagram") };
    assert_eq!((datagram.protocol, datagram.len), (Protocol::UDP, 20));
    assert_eq!(datagram.slices().concat(), [9; 20]);
    let packet = datagram.packet.to_bytes();
    assert_eq!((packet[6], packet[40], packet[48]), (0, 60, 17));
    assert_eq!(packet[..40].len() + 16 + 20, packet.len());
}

#[test]
fn a_fragment_that_was_cut_is_of_no_use() {
    let mut host = layer(false);
    for fragment in fragments_behind(&[], Protocol::FRAGMENT, 17, &[9; 40]) {
        let bytes = fragment.payload.to_bytes();
        host.handle_input(NOW, 0, Frame::packet(bytes.slice(..bytes.len() - 8)));
    }
    assert!(host.poll_upward().is_none());
    assert_eq!(host.ledger().drops.of(DropReason::Truncated), 2);
    assert!(host.ledger().balances());
}

#[test]
fn a_fragment_within_a_fragment_is_malformed() {
    let inner = [[44, 0, 1, 4, 0, 0, 0, 0], [17, 0, 0, 1, 0, 0, 0, 2], [7; 8]].concat();
    let mut host = layer(false);
    for fragment in fragments_behind(&[], Protocol::FRAGMENT, 60, &inner) {
        host.handle_input(NOW, 0, fragment);
    }
    assert!(host.poll_upward().is_none());
    assert_eq!(host.ledger().drops.of(DropReason::Malformed), 1);
    assert!(host.ledger().balances());
}

#[test]
fn damage_keeps_its_place_through_reassembly() {
    let mut host = layer(false);
    let fragments = fragments_behind(&[], Protocol::FRAGMENT, 17, &[9; 20]);
    for (mut fragment, range) in fragments.into_iter().zip([50..52, 51..60]) {
        fragment.damage.suspect = vec![range];
        host.handle_input(NOW, 0, fragment);
    }
    let Some(Upward::Datagram(datagram)) = host.poll_upward() else { panic!("a datagram") };
    // The content of a fragment begins at byte 48.
    assert_eq!(datagram.damage.suspect, [2..4, 11..20]);
}

#[test]
fn messages_that_are_neither_echo_nor_error_mean_nothing_here() {
    // A request for a timestamp (RFC 792), behind which stands what an error would quote.
    let quoted = v4([10, 0, 0, 9], Protocol::UDP, &[0; 8], |repr| repr.src = [10, 0, 0, 1].into());
    let mut message = [&[13, 0, 0, 0, 0, 0, 0, 0][..], &quoted.payload.to_bytes()].concat();
    let sum = windfall_wire_net::checksum::checksum(&message);
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    let mut host = layer(false);
    host.handle_input(NOW, 0, v4([10, 0, 0, 1], Protocol::ICMP, &message, |_| {}));
    assert!(host.poll_upward().is_none());
    let drops = host.ledger().drops;
    assert_eq!((drops.of(DropReason::NoListener), drops.of(DropReason::IcmpChecksum)), (1, 0));
}

#[test]
fn an_unknown_protocol_is_returned_with_the_field_that_names_it() {
    let mut host = layer(false);
    let options = [200, 0, 1, 4, 0, 0, 0, 0];
    host.handle_input(NOW, 0, v6("fd00::1", Protocol::DESTINATION_OPTIONS, &options));
    let Some(Upward::Datagram(datagram)) = host.poll_upward() else { panic!("a datagram") };
    assert_eq!(datagram.protocol, Protocol(200));
    host.handle_refusal(NOW, &datagram, DropReason::NoListener, Problem::NoProtocol);
    let (_, bytes) = sent(&mut host).remove(0);
    assert_eq!((bytes[40], bytes[41], &bytes[44..48]), (4, 1, &[0, 0, 0, 40][..]));
    assert!(host.ledger().balances());
}

#[test]
fn only_a_single_host_gets_an_echo() {
    let echo = |src: [u8; 4], dst: [u8; 4]| {
        let mut header = [0; 8];
        Icmpv4Repr::EchoRequest { id: 1, seq: 2 }.emit(&mut header, &[]);
        let mut host = layer(false);
        host.routes.insert(RouteEntry { to: "0.0.0.0/0".parse().unwrap(), interface: 0 });
        host.handle_input(NOW, 0, v4(dst, Protocol::ICMP, &header, |repr| repr.src = src.into()));
        assert!(host.ledger().balances());
        sent(&mut host).len()
    };
    assert_eq!(echo([10, 0, 0, 9], [10, 0, 0, 1]), 1);
    for dst in [[255; 4], [10, 0, 0, 255], [224, 0, 0, 1]] {
        assert_eq!(echo([10, 0, 0, 9], dst), 0);
    }
    for src in [[255; 4], [0; 4], [224, 0, 0, 1]] {
        assert_eq!(echo(src, [10, 0, 0, 1]), 0);
    }
}

#[test]
fn news_about_packets_of_others_teach_nothing() {
    let mut host = layer(false);
    let quoted = v4([10, 0, 0, 9], Protocol::UDP, &[0; 8], |_| {}).payload.to_bytes();
    let mut header = [0; 8];
    let why = icmpv4::Unreachable::FragmentationNeeded { mtu: 100 };
    Icmpv4Repr::Unreachable(why).emit(&mut header, &quoted);
    let message = [&header[..], &quoted].concat();
    host.handle_input(NOW, 0, v4([10, 0, 0, 1], Protocol::ICMP, &message, |_| {}));
    assert!(host.poll_upward().is_none());
    assert_eq!(host.ledger().drops.of(DropReason::NotForUs), 1);
}

#[test]
fn the_ecn_field_comes_up_with_the_datagram() {
    let mut host = layer(false);
    for bits in 0..4 {
        let tos = 0b1010_1000 | bits;
        host.handle_input(NOW, 0, v4([10, 0, 0, 1], Protocol::UDP, &[0; 8], |repr| repr.tos = tos));
        let mut bytes = v6("fd00::1", Protocol::UDP, &[0; 8]).payload.to_bytes().to_vec();
        // The traffic class lies across the first two bytes.
        (bytes[0], bytes[1]) = (0x60 | tos >> 4, tos << 4);
        host.handle_input(NOW, 0, Frame::packet(bytes));
        for _ in 0..2 {
            let Some(Upward::Datagram(datagram)) = host.poll_upward() else { panic!("a datagram") };
            assert_eq!(datagram.ecn(), Ecn::from_bits(bits));
        }
    }
}

#[test]
fn options_within_fragments_lie_before_the_content() {
    let inner = [&[17, 0, 1, 4, 0, 0, 0, 0][..], &[7; 20]].concat();
    let mut host = layer(false);
    for fragment in fragments_behind(&[], Protocol::FRAGMENT, 60, &inner) {
        host.handle_input(NOW, 0, fragment);
    }
    let Some(Upward::Datagram(datagram)) = host.poll_upward() else { panic!("a datagram") };
    assert_eq!((datagram.protocol, datagram.len), (Protocol::UDP, 20));
    assert_eq!(datagram.slices().concat(), [7; 20]);
}

#[test]
fn an_echo_comes_back_over_ipv6_too() {
    let src = "fd00::9".parse().expect("an address");
    let dst = "fd00::1".parse();
    let addresses = Addresses::V6 { src, dst: dst.expect("an address") };
    let mut message = vec![0; 8];
    let request = windfall_wire_net::Icmpv6Repr::EchoRequest { id: 7, seq: 9 };
    request.emit(&mut message, &addresses, b"echo");
    message.extend(b"echo");
    let mut host = layer(false);
    host.handle_input(NOW, 0, v6("fd00::1", Protocol::ICMPV6, &message));
    let (interface, reply) = sent(&mut host).remove(0);
    let packet = windfall_wire_net::Icmpv6Packet::new(&reply[40..]).expect("a message");
    let answer = windfall_wire_net::Icmpv6Repr::EchoReply { id: 7, seq: 9 };
    assert_eq!((interface, windfall_wire_net::Icmpv6Repr::parse(&packet)), (0, Some(answer)));
    assert!(packet.checksum_holds(&addresses.reversed()));
    assert_eq!(reply[48..], b"echo"[..]);
    assert!(host.ledger().balances());
}

#[test]
fn addresses_that_mean_nothing_elsewhere_are_not_passed_on() {
    let passes = |src: &str, dst: &str| {
        let addresses =
            Addresses::new(src.parse().expect("an address"), dst.parse().expect("an address"));
        let frame = match addresses.expect("one family") {
            Addresses::V4 { src, dst } => {
                v4(dst.octets(), Protocol::UDP, &[0; 8], |repr| repr.src = src)
            }
            Addresses::V6 { src, dst } => {
                let repr = Ipv6Repr::new(src, dst, Protocol::UDP, 8).expect("fits");
                let mut bytes = vec![0; ipv6::HEADER_LEN + 8];
                repr.emit(&mut bytes);
                Frame::packet(bytes)
            }
        };
        let mut router = layer(true);
        router.handle_input(NOW, 0, frame);
        assert!(router.ledger().balances());
        // An error message would go back by the first interface.
        sent(&mut router).iter().filter(|(interface, _)| *interface == 1).count() == 1
    };
    assert!(passes("10.0.0.9", "10.1.0.2") && passes("fd00::9", "fd01::2"));
    for src in ["0.0.0.0", "224.0.0.1", "255.255.255.255", "127.0.0.1", "169.254.0.9"] {
        assert!(!passes(src, "10.1.0.2"), "{src}");
    }
    for src in ["::", "ff02::1", "::1", "fe80::9"] {
        assert!(!passes(src, "fd01::2"), "{src}");
    }
}

#[test]
fn what_goes_to_all_or_to_a_group_ends_here_and_what_goes_to_another_does_not() {
    let ends_here = |frame: Frame| {
        let mut host = layer(false);
        host.handle_input(NOW, 0, frame);
        assert!(host.ledger().balances());
        host.poll_upward().is_some()
    };
    for (dst, ours) in [
        ([10, 0, 0, 1], true),
        ([10, 1, 0, 1], true),
        ([255; 4], true),
        ([10, 0, 0, 255], true),
        ([10, 1, 0, 255], true),
        ([224, 0, 0, 1], true),
        ([10, 0, 0, 2], false),
        ([10, 2, 0, 255], false),
    ] {
        assert_eq!(ends_here(v4(dst, Protocol::UDP, &[0; 8], |_| {})), ours, "{dst:?}");
    }
    for (dst, ours) in [("fd00::1", true), ("ff02::1", true), ("fd00::2", false)] {
        assert_eq!(ends_here(v6(dst, Protocol::UDP, &[0; 8])), ours, "{dst}");
    }
}
