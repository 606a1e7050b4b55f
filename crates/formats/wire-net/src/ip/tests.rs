use core::net::{Ipv4Addr, Ipv6Addr};

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::ipv4::{self, Ipv4Repr};
use crate::ipv6::Ipv6Repr;

#[test]
fn the_version_decides() {
    let v4 = Ipv4Repr::new(Ipv4Addr::LOCALHOST, Ipv4Addr::LOCALHOST, Protocol::UDP, 8);
    let mut bytes = [0; 48];
    v4.expect("fits").emit(&mut bytes);
    let packet = IpPacket::new(&bytes).expect("IPv4");
    let carried = packet.carried().expect("no extensions");
    assert_eq!((carried.protocol, carried.len, packet.total_len()), (Protocol::UDP, 8, 28));

    let v6 = Ipv6Repr::new(Ipv6Addr::LOCALHOST, Ipv6Addr::LOCALHOST, Protocol::UDP, 16);
    v6.expect("fits").emit(&mut bytes);
    let packet = IpPacket::new(&bytes).expect("IPv6");
    let carried = packet.carried().expect("no extensions");
    assert_eq!((carried.len, carried.bytes.len(), packet.missing()), (16, 8, 8));

    bytes[0] = 0x50;
    let error = IpPacket::new(&bytes).expect_err("version 5");
    assert_eq!(error.to_string(), "IP: version may not be 5");
}

#[test]
fn a_fragment_that_is_the_whole_packet_is_none() {
    // Behind the fragment header come 8 bytes (RFC 6946 for the first).
    for (field, fragment, offset) in [([0, 0], false, 0), ([0, 1], true, 0), ([0, 16], true, 16)] {
        let v6 = Ipv6Repr::new(Ipv6Addr::LOCALHOST, Ipv6Addr::LOCALHOST, Protocol::FRAGMENT, 16);
        let v6 = v6.expect("fits");
        assert_eq!(v6.payload_len(), 16);
        let mut bytes = [0; 56];
        v6.emit(&mut bytes);
        bytes[40..48].copy_from_slice(&[17, 0, field[0], field[1], 0, 0, 0, 1]);
        let packet = IpPacket::new(&bytes).expect("IPv6");
        let carried = packet.carried().expect("a fragment header");
        assert_eq!((carried.fragment, carried.fragment_offset), (fragment, offset));
        assert_eq!((carried.protocol, carried.len, carried.bytes.len()), (Protocol::UDP, 8, 8));
    }
    for (offset, more) in [(0, false), (0, true), (8, false), (65_528, true)] {
        let v4 = ipv4::Fragment::new(offset, more).expect("a multiple of 8");
        assert_eq!((v4.offset(), v4.more()), (offset, more));
    }
    assert_eq!(ipv4::Fragment::new(12, false), None);
}

/// An IPv4 or IPv6 packet of this traffic class, in one slice or two.
fn of_class(v6: bool, class: u8, cut: usize) -> Payload {
    let mut bytes = vec![0; 60];
    if v6 {
        let mut repr = Ipv6Repr::new(Ipv6Addr::LOCALHOST, Ipv6Addr::LOCALHOST, Protocol::UDP, 20)
            .expect("fits");
        repr.traffic_class = class;
        repr.emit(&mut bytes);
    } else {
        let mut repr = Ipv4Repr::new(Ipv4Addr::LOCALHOST, Ipv4Addr::LOCALHOST, Protocol::UDP, 40)
            .expect("fits");
        repr.tos = class;
        repr.emit(&mut bytes);
    }
    let body = bytes.split_off(cut);
    Payload::new(bytes.into(), body.into())
}

#[test]
fn a_packet_is_marked_if_its_sender_understands_it() {
    for (v6, cut) in [(false, 0), (false, 20), (false, 28), (true, 0), (true, 40), (true, 48)] {
        for class in [0b1010_1001, 0b1010_1010] {
            let packet = of_class(v6, class, cut);
            let marked = mark_congestion(&packet).expect("ECN-capable");
            let bytes = marked.to_bytes();
            // Only the mark and the checksum change.
            assert_eq!(bytes, of_class(v6, 0b1010_1011, 0).to_bytes(), "{v6} {cut}");
            assert_eq!(packet, of_class(v6, class, cut), "the holders of the packet see nothing");
            assert_eq!(mark_congestion(&marked), None, "once is enough");
        }
        assert_eq!(mark_congestion(&of_class(v6, 0b1010_1000, cut)), None);
    }
}

#[test]
fn a_wrong_checksum_stays_wrong_in_a_marked_packet() {
    let mut bytes = of_class(false, 2, 0).to_bytes().to_vec();
    bytes[15] ^= 1;
    let marked = mark_congestion(&bytes.into()).expect("ECN-capable").to_bytes();
    let IpPacket::V4(packet) = IpPacket::new(&marked).expect("IPv4") else { panic!("IPv4") };
    assert!(!packet.checksum_holds());
}

proptest! {
    #[test]
    fn marking_changes_two_bits_or_nothing(bytes in vec(any::<u8>(), 0..60), cut in 0_usize..60) {
        let cut = cut.min(bytes.len());
        let packet = Payload::new(bytes[..cut].to_vec().into(), bytes[cut..].to_vec().into());
        if let Some(marked) = mark_congestion(&packet) {
            let marked = marked.to_bytes();
            prop_assert_eq!(marked.len(), bytes.len());
            let is_v4 = bytes[0] >> 4 == 4;
            for (at, (new, old)) in marked.iter().zip(&bytes).enumerate() {
                let may = if is_v4 { [1, 10, 11].contains(&at) } else { at == 1 };
                prop_assert!(may || new == old);
            }
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic(mut bytes in vec(any::<u8>(), 0..120), v6: bool) {
        if let Some(first) = bytes.first_mut() {
            *first = if v6 { 0x60 } else { 0x40 } | (*first & 0x0f);
        }
        if let Ok(packet) = IpPacket::new(&bytes)
            && let Ok(carried) = packet.carried()
        {
            prop_assert!(carried.bytes.len() <= carried.len);
            prop_assert_eq!(carried.len - carried.bytes.len(), packet.missing());
        }
    }
}

#[test]
fn both_versions_tell_their_hop_limit_and_protocols_have_names() {
    let v4 = Ipv4Repr::new(Ipv4Addr::LOCALHOST, Ipv4Addr::LOCALHOST, Protocol::UDP, 8);
    let mut bytes = [0; 48];
    let mut v4 = v4.expect("fits");
    v4.hop_limit = 17;
    v4.emit(&mut bytes);
    assert_eq!(IpPacket::new(&bytes).expect("IPv4").hop_limit(), 17);
    let v6 = Ipv6Repr::new(Ipv6Addr::LOCALHOST, Ipv6Addr::LOCALHOST, Protocol::UDP, 8);
    let mut v6 = v6.expect("fits");
    v6.hop_limit = 18;
    v6.emit(&mut bytes);
    assert_eq!(IpPacket::new(&bytes).expect("IPv6").hop_limit(), 18);
    let known =
        [Protocol::ICMP, Protocol::TCP, Protocol::UDP, Protocol::ICMPV6, Protocol::UDP_LITE];
    let names = known.map(|protocol| protocol.to_string());
    assert_eq!(names, ["ICMP", "TCP", "UDP", "ICMPv6", "UDP-Lite"]);
    assert_eq!(Protocol(200).to_string(), "protocol 200");
}

#[test]
fn the_traffic_class_stands_where_the_version_puts_it() {
    let mut bytes = [0; 48];
    let v4 = Ipv4Repr::new(Ipv4Addr::LOCALHOST, Ipv4Addr::LOCALHOST, Protocol::UDP, 8);
    v4.expect("fits").emit(&mut bytes);
    bytes[1] = 0xb9;
    assert_eq!(IpPacket::new(&bytes).expect("IPv4").traffic_class(), 0xb9);
    let v6 = Ipv6Repr::new(Ipv6Addr::LOCALHOST, Ipv6Addr::LOCALHOST, Protocol::UDP, 8);
    v6.expect("fits").emit(&mut bytes);
    bytes[..2].copy_from_slice(&[0x6b, 0x90]);
    assert_eq!(IpPacket::new(&bytes).expect("IPv6").traffic_class(), 0xb9);
}
