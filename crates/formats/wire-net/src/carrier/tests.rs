use core::net::{Ipv4Addr, Ipv6Addr};

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::udplite::UdpLitePacket;

const V4: Addresses = Addresses::V4 { src: Ipv4Addr::LOCALHOST, dst: Ipv4Addr::BROADCAST };
const V6: Addresses = Addresses::V6 { src: Ipv6Addr::LOCALHOST, dst: Ipv6Addr::LOCALHOST };
const PORTS: Ports = Ports { src: 4000, dst: 53 };

fn carried(coverage: u16, addresses: &Addresses, data: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; HEADER_LEN];
    emit(&mut bytes, addresses, PORTS, Coverage::requested(coverage), [data, &[]]);
    bytes.extend(data);
    bytes
}

/// Returns whether a receiver would accept these bytes.
fn holds(bytes: &[u8], addresses: &Addresses, ports: Ports) -> bool {
    CarrierPacket::new(bytes).is_ok_and(|packet| packet.checksum_holds(addresses, ports))
}

//= S0.3
#[test]
fn it_turns_into_udp_lite_without_any_memory() {
    let bytes = carried(12, &V4, b"some data");
    let mut lite = [PORTS.src.to_be_bytes(), PORTS.dst.to_be_bytes()].concat();
    lite.extend(&bytes[4..]);
    let packet = UdpLitePacket::new(&lite).expect("a UDP-Lite datagram");
    assert!(packet.checksum_holds(&V4));
    assert_eq!((packet.covered(), packet.payload()), (12, &b"some data"[..]));
}

#[test]
fn an_unbound_datagram_holds_between_any_addresses_and_no_damage_binds_it() {
    let data = [0x55; 20];
    let mut good = vec![0; HEADER_LEN];
    emit_unbound(&mut good, Coverage::requested(12), [&data, &[]]);
    good.extend(data);
    let other = Ports { src: 1, dst: 2 };
    for (addresses, ports) in [(V4, PORTS), (V6, other)] {
        assert!(holds(&good, &addresses, ports));
        for bit in 0..good.len() * 8 {
            let mut bytes = good.clone();
            bytes[bit / 8] ^= 0x80 >> (bit % 8);
            assert_eq!(holds(&bytes, &addresses, ports), bit >= 12 * 8, "bit {bit}");
        }
    }
    let packet = CarrierPacket::new(&good).expect("a datagram");
    assert!(packet.is_unbound() && packet.is_partly_covered() && !packet.is_whole());
    for (one, two) in [(PARTIAL, UNBOUND), (UNBOUND, WHOLE), (PARTIAL, WHOLE)] {
        let differ = u32::from_be_bytes(one) ^ u32::from_be_bytes(two);
        assert!(differ.count_ones() >= 16);
    }
}

//= S0.4
#[test]
fn damage_is_found_only_where_the_checksum_covers() {
    let good = carried(12, &V6, &[0x55; 20]);
    for bit in 0..good.len() * 8 {
        let mut bytes = good.clone();
        bytes[bit / 8] ^= 0x80 >> (bit % 8);
        assert_eq!(holds(&bytes, &V6, PORTS), bit >= 12 * 8, "bit {bit}");
    }
    for bit in 0..16 {
        let (src, dst) =
            (Ports { src: 4000 ^ 1 << bit, dst: 53 }, Ports { dst: 53 ^ 1 << bit, ..PORTS });
        assert!(!holds(&good, &V6, src) && !holds(&good, &V6, dst), "port bit {bit}");
    }
    assert!(!holds(&good[..27], &V6, PORTS), "a datagram cut short is found out");
    assert!(!holds(&good, &V4, PORTS), "so is one that arrived at another address");
}

#[test]
fn a_whole_one_relies_on_the_outer_checksum() {
    let mut bytes = [0; HEADER_LEN];
    emit_whole(&mut bytes);
    let packet = CarrierPacket::new(&bytes).expect("a carried datagram");
    assert!(packet.is_whole() && !packet.is_partly_covered());
    assert!(packet.checksum_holds(&V4, PORTS));
    for at in 4..HEADER_LEN {
        let mut bytes = bytes;
        bytes[at] = 1;
        assert!(CarrierPacket::new(&bytes).is_err(), "byte {at}");
    }
    assert!((0..4).all(|at| PARTIAL[at] == !WHOLE[at]));
}

#[test]
fn other_datagrams_are_not_taken_for_it() {
    assert!(CarrierPacket::new(b"GET / HTTP/1.1").is_err());
    assert!(CarrierPacket::new(&PARTIAL).is_err());
    let mut zero = carried(8, &V4, b"data");
    zero[6..].fill(0);
    assert!(CarrierPacket::new(&zero).is_err(), "a checksum of zero is illegal, as in UDP-Lite");
}

proptest! {
    #[test]
    fn what_is_written_is_read(coverage: u16, data in vec(any::<u8>(), 0..99), cut in 0_usize..99) {
        let coverage = Coverage::requested(coverage % (HEADER_LEN + data.len() + 1) as u16);
        let (head, tail) = data.split_at(cut.min(data.len()));
        let mut bytes = vec![0; HEADER_LEN];
        emit(&mut bytes, &V4, PORTS, coverage, [head, tail]);
        bytes.extend(&data);
        let packet = CarrierPacket::new(&bytes).expect("a carried datagram");
        prop_assert!(packet.checksum_holds(&V4, PORTS));
        prop_assert_eq!((packet.coverage(), packet.payload()), (coverage, &data[..]));
        let covered = coverage.bytes_of(bytes.len());
        prop_assert_eq!(packet.is_partly_covered(), covered < bytes.len());
    }

    #[test]
    fn arbitrary_bytes_never_panic(mut bytes in vec(any::<u8>(), 0..40), len in 0_usize..60) {
        for mark in [PARTIAL, WHOLE] {
            bytes.splice(..bytes.len().min(4), mark);
            if let Ok(packet) = CarrierPacket::truncated(&bytes, len) {
                let _ = (packet.payload(), packet.checksum_holds(&V6, PORTS));
                let _ = (packet.is_partly_covered(), packet.coverage());
            }
        }
    }
}

#[test]
fn one_with_a_checksum_inside_is_not_whole_however_much_that_covers() {
    for (asked, partly) in [(0, false), (12, true), (8, true)] {
        let bytes = carried(asked, &V4, b"some data");
        let packet = CarrierPacket::new(&bytes).expect("one of ours");
        assert_eq!((packet.is_whole(), packet.is_partly_covered()), (false, partly), "{asked}");
    }
}
