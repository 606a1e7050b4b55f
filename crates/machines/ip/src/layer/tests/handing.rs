//! Packets are delivered and forwarded as they came; truncated ones are dropped.

use windfall_base::{Check, Damage};
use windfall_wire_net::Ipv4Repr;

use super::*;

fn handed_up(layer: &mut Layer) -> IpDatagram {
    match layer.poll_upward() {
        Some(Upward::Datagram(datagram)) => datagram,
        other => panic!("a datagram, not {other:?}"),
    }
}

#[test]
fn the_content_of_a_datagram_is_there_in_every_form() {
    let data: Vec<u8> = (0..100).collect();
    let whole = v4([10, 0, 0, 1], Protocol::UDP, &data, |_| {}).payload.to_bytes();
    for cut in [28, 60, 120] {
        let mut host = layer(false);
        let payload = Payload::new(whole.slice(..cut), whole.slice(cut..));
        host.handle_input(NOW, 0, Frame::packet(payload));
        let datagram = handed_up(&mut host);
        assert_eq!((datagram.len, datagram.have()), (100, 100), "{cut}");
        assert_eq!(datagram.clone().take_content().to_bytes(), data, "{cut}");
        assert_eq!(datagram.slices().concat(), data, "{cut}");
        for (from, to) in [(0, 100), (2, 5), (8, 100), (40, 100), (40, 99), (99, 1_000), (200, 300)]
        {
            let bytes = datagram.clone().into_bytes(from, to);
            assert_eq!(bytes, data[from.min(100)..to.min(100)], "{cut}: {from}..{to}");
        }
        // What is the second slice exactly is shared.
        if cut == 60 {
            let bytes = datagram.into_bytes(40, 100);
            assert!(core::ptr::eq(bytes.as_ptr(), whole[60..].as_ptr()));
        }
    }
}

#[test]
fn options_before_the_content_are_not_part_of_it() {
    let packet = [&[17, 0, 1, 4, 0, 0, 0, 0][..], &[7; 20]].concat();
    let mut host = layer(false);
    host.handle_input(NOW, 0, v6("fd00::1", Protocol::DESTINATION_OPTIONS, &packet));
    let datagram = handed_up(&mut host);
    assert_eq!((datagram.protocol, datagram.len, datagram.have()), (Protocol::UDP, 20, 20));
    assert_eq!(datagram.slices().concat(), [7; 20]);
}

#[test]
fn a_datagram_that_is_refused_counts_as_dropped() {
    let mut host = layer(false);
    host.handle_input(NOW, 0, v4([10, 0, 0, 1], Protocol::UDP, &[0; 8], |_| {}));
    let datagram = handed_up(&mut host);
    assert_eq!(host.ledger().given, 1);
    host.refuse(NOW, &datagram, DropReason::NoListener);
    let ledger = host.ledger();
    assert_eq!((ledger.given, ledger.drops.of(DropReason::NoListener)), (0, 1));
    assert!(ledger.balances());
}

#[test]
fn damage_of_the_headers_is_none_of_the_content() {
    for (suspect, expected) in [(2..10, None), (18..22, Some(0..2)), (24..200, Some(4..8))] {
        let mut host = layer(false);
        let mut frame = v4([10, 0, 0, 1], Protocol::UDP, &[0; 8], |_| {});
        frame.damage = Damage { suspect: vec![suspect], ..Damage::default() };
        host.handle_input(NOW, 0, frame);
        let suspect = handed_up(&mut host).damage.suspect;
        assert_eq!(suspect, Vec::from_iter(expected));
    }
}

#[test]
fn damage_that_reaches_beyond_a_fragment_ends_with_it() {
    let mut host = layer(false);
    let fragments = fragments_behind(&[], Protocol::FRAGMENT, 17, &[9; 20]);
    for (mut fragment, range) in fragments.into_iter().zip([50..200, 40..51]) {
        fragment.damage.suspect = vec![range];
        host.handle_input(NOW, 0, fragment);
    }
    assert_eq!(handed_up(&mut host).damage.suspect, [2..8, 8..11]);
}

#[test]
fn fragments_over_ipv4_may_carry_what_would_be_a_header_over_ipv6() {
    let payload = Payload::from(vec![5; 1_000]);
    let src = [10, 0, 0, 9].into();
    let dst = [10, 0, 0, 1].into();
    let header = Ipv4Repr::new(src, dst, Protocol::DESTINATION_OPTIONS, 1_000).expect("fits");
    let mut host = layer(false);
    for fragment in crate::fragment::cut_v4(&header, &payload, 576) {
        host.handle_input(NOW, 0, Frame::packet(fragment));
    }
    let datagram = handed_up(&mut host);
    assert_eq!((datagram.protocol, datagram.len), (Protocol::DESTINATION_OPTIONS, 1_000));
}

#[test]
fn what_was_cut_is_neither_reassembled_nor_passed_on() {
    let cut = |frame: Frame, by: usize| {
        let bytes = frame.payload.to_bytes();
        Frame::packet(bytes.slice(..bytes.len() - by))
    };
    let mut host = layer(false);
    let fragment = v4([10, 0, 0, 1], Protocol::UDP, &[0; 16], |repr| {
        repr.fragment = ipv4::Fragment::new(0, true).expect("a multiple of 8");
    });
    host.handle_input(NOW, 0, cut(fragment, 8));
    assert_eq!((host.ledger().held, host.ledger().drops.of(DropReason::Truncated)), (0, 1));
    let mut router = layer(true);
    router.handle_input(NOW, 0, cut(v4([10, 1, 0, 2], Protocol::UDP, &[0; 16], |_| {}), 1));
    router.handle_input(NOW, 0, cut(v6("fd01::2", Protocol::UDP, &[0; 16]), 1));
    // Not even a header.
    router.handle_input(NOW, 0, Frame::packet(vec![0x45; 10]));
    assert!(router.poll_transmit().is_none());
    assert_eq!(router.ledger().drops.of(DropReason::Truncated), 3);
    assert!(router.ledger().balances());
}

#[test]
fn a_packet_exactly_as_long_as_the_link_allows_goes_on() {
    for (len, goes) in [(1_500, true), (1_501, false)] {
        let mut router = layer(true);
        let data = vec![0; len - 20];
        router.handle_input(
            NOW,
            0,
            v4([10, 1, 0, 2], Protocol::UDP, &data, |repr| repr.dont_fragment = true),
        );
        let data = vec![0; len - 40];
        router.handle_input(NOW, 0, v6("fd01::2", Protocol::UDP, &data));
        let passed = sent(&mut router).iter().filter(|(interface, _)| *interface == 1).count();
        assert_eq!(passed, if goes { 2 } else { 0 }, "{len}");
    }
}

//= S0.5
#[test]
fn known_damage_stays_known_where_a_packet_is_passed_on() {
    for (len, fragments) in [(100, 1), (1_400, 3)] {
        let mut router = layer(true);
        router.config.interfaces[1].mtu = 576;
        for check in [Check::Good, Check::Bad] {
            let mut frame = v4([10, 1, 0, 2], Protocol::UDP, &vec![0; len], |_| {});
            frame.damage.frame = check;
            router.handle_input(NOW, 0, frame);
            let passed: Vec<_> = core::iter::from_fn(|| router.poll_transmit()).collect();
            assert_eq!(passed.len(), fragments);
            let is_marked = |(_, frame): &(usize, Frame)| frame.damage.is_damaged();
            assert!(passed.iter().all(|passed| is_marked(passed) == (check == Check::Bad)));
        }
    }
}

#[test]
fn a_hop_is_taken_from_a_copy_of_the_header_alone() {
    let frames = [
        (v4([10, 1, 0, 2], Protocol::UDP, &[7; 80], |_| {}), 20, 8),
        (v6("fd01::2", Protocol::UDP, &[7; 80]), 40, 7),
    ];
    for (frame, header, hops) in frames {
        let before = frame.payload.to_bytes();
        let mut router = layer(true);
        router.handle_input(NOW, 0, frame);
        let (_, Frame { payload, .. }) = router.poll_transmit().expect("passed on");
        let [head, body] = payload.slices();
        assert_eq!((head.len(), body.len()), (header, 80));
        assert_eq!(head[hops] + 1, before[hops]);
        assert!(core::ptr::eq(body.as_ptr(), before[header..].as_ptr()));
    }
}

#[test]
fn what_must_not_leave_its_network_is_dropped_in_silence_whatever_routes_there_are() {
    let mut router = layer(true);
    router.routes.insert(RouteEntry { to: "0.0.0.0/0".parse().unwrap(), interface: 1 });
    router.routes.insert(RouteEntry { to: "::/0".parse().expect("a prefix"), interface: 1 });
    for dst in [[0; 4], [127, 0, 0, 1], [169, 254, 0, 1]] {
        router.handle_input(NOW, 0, v4(dst, Protocol::UDP, &[0; 8], |_| {}));
        assert!(sent(&mut router).is_empty(), "{dst:?}");
    }
    for dst in ["::", "::1", "fe80::1"] {
        router.handle_input(NOW, 0, v6(dst, Protocol::UDP, &[0; 8]));
        assert!(sent(&mut router).is_empty(), "{dst}");
    }
    assert_eq!(router.ledger().drops.of(DropReason::NotForUs), 6);
}

#[test]
fn packets_come_from_the_address_that_is_nearest_to_where_they_go() {
    let prefixes = |texts: &[&str]| {
        texts.iter().map(|text| text.parse().expect("a prefix")).collect::<Vec<IpNet>>()
    };
    let interface =
        |addresses: &[&str]| IpInterfaceConfig { addresses: prefixes(addresses), mtu: 1500 };
    let interfaces =
        vec![interface(&["fd00::1/64", "10.0.0.1/24", "10.5.0.1/24"]), interface(&["fd01::1/64"])];
    let mut host = Layer::new(IpConfig { interfaces, ..IpConfig::default() }, Seed(1));
    host.routes.insert(RouteEntry { to: "0.0.0.0/0".parse().unwrap(), interface: 1 });
    let source = |to: &str| {
        let source = host.source_for(to.parse().expect("an address"));
        source.map(|address| address.to_string())
    };
    for (to, from) in [
        ("10.0.0.9", "10.0.0.1"),
        ("10.5.0.9", "10.5.0.1"),
        ("10.5.0.1", "10.5.0.1"),
        ("fd00::9", "fd00::1"),
        ("fd01::9", "fd01::1"),
        // The interface has no address of that family, so another one's stands in.
        ("192.0.2.1", "10.0.0.1"),
    ] {
        assert_eq!(source(to).as_deref(), Some(from), "to {to}");
    }
    assert_eq!(source("fe00::1"), None);
}

#[test]
fn fragments_that_are_given_up_are_named_with_their_lengths() {
    let mut host = layer(false);
    let fragment = v4([10, 0, 0, 1], Protocol::UDP, &[0; 16], |repr| {
        repr.fragment = ipv4::Fragment::new(8, true).expect("a multiple of 8");
    });
    host.handle_input(NOW, 0, fragment);
    let (deadline, _) = host.poll_timeout().expect("a deadline");
    host.handle_timeout(deadline);
    let dropped = core::iter::from_fn(|| host.poll_event()).find_map(|event| match event.kind {
        IpEventKind::Dropped { len, reason, .. } => Some((len, reason)),
        _ => None,
    });
    assert_eq!(dropped, Some((20 + 16, DropReason::Reassembly)));
}
