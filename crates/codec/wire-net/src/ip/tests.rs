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

proptest! {
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
