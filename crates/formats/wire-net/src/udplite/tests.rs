use core::net::{Ipv4Addr, Ipv6Addr};

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::udp;
use crate::udp::UdpRepr;

const V4: Addresses = Addresses::V4 { src: Ipv4Addr::LOCALHOST, dst: Ipv4Addr::BROADCAST };
const V6: Addresses = Addresses::V6 { src: Ipv6Addr::LOCALHOST, dst: Ipv6Addr::LOCALHOST };

fn datagram(coverage: Coverage, addresses: &Addresses, data: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; HEADER_LEN];
    UdpLiteRepr { src_port: 4000, dst_port: 53, coverage }.emit(&mut bytes, addresses, data);
    bytes.extend(data);
    bytes
}

fn first(bytes: u16) -> Coverage {
    Coverage::First(CoveredBytes::new(bytes).expect("8 at least"))
}

#[test]
fn a_coverage_of_1_to_7_or_beyond_the_end_is_illegal() {
    let good = datagram(first(8), &V4, b"data");
    for (field, legal) in [(0, true), (1, false), (7, false), (8, true), (12, true), (13, false)] {
        let mut bytes = good.clone();
        bytes[5] = field;
        assert_eq!(UdpLitePacket::new(&bytes).is_ok(), legal, "{field}");
    }
}

#[test]
fn the_fields_stand_where_the_rfc_has_them() {
    let bytes = datagram(first(9), &V4, b"data");
    let packet = UdpLitePacket::new(&bytes).expect("legal");
    assert_eq!((packet.src_port(), packet.dst_port(), packet.covered()), (4000, 53, 9));
    assert_eq!(bytes[4..6], [0, 9]);
    assert_eq!(packet.checksum().to_be_bytes(), bytes[6..8]);
}

#[test]
fn eight_bytes_are_covered_at_least() {
    assert_eq!([0, 7].map(CoveredBytes::new), [None, None]);
    for bytes in [8, 9, u16::MAX] {
        assert_eq!(CoveredBytes::new(bytes).map(CoveredBytes::get), Some(bytes));
    }
}

#[test]
fn a_checksum_of_zero_is_illegal() {
    let mut bytes = datagram(Coverage::Full, &V4, b"data");
    bytes[6..8].fill(0);
    assert!(matches!(
        UdpLitePacket::new(&bytes),
        Err(WireError::Illegal { field: "checksum", .. })
    ));
}

//= S1.7
#[test]
fn full_coverage_is_udp_but_for_the_protocol_number_and_the_length_field() {
    let data = b"some data";
    let lite = datagram(Coverage::Full, &V4, data);
    let mut bytes = [0; udp::HEADER_LEN];
    UdpRepr { src_port: 4000, dst_port: 53 }.emit(&mut bytes, &V4, data).expect("fits");
    let as_sum = |at: &[u8]| u32::from(!u16::from_be_bytes([at[6], at[7]]));
    // UDP's sum has its length twice, in the pseudo header and in its own.
    let len = (HEADER_LEN + data.len()) as u32;
    let difference = u32::from(Protocol::UDP_LITE.0) - u32::from(Protocol::UDP.0);
    assert_eq!((as_sum(&lite) + len) % 0xffff, (as_sum(&bytes) + difference) % 0xffff);
    assert_eq!(lite[4..6], [0, 0]);
}

//= S0.5
#[test]
fn damage_is_found_only_where_the_checksum_covers() {
    let good = datagram(first(12), &V6, &[0x55; 20]);
    for bit in 0..good.len() * 8 {
        let mut bytes = good.clone();
        bytes[bit / 8] ^= 0x80 >> (bit % 8);
        let found = UdpLitePacket::new(&bytes).map_or(true, |packet| !packet.checksum_holds(&V6));
        assert_eq!(found, bit < 12 * 8, "bit {bit}");
    }
}

#[test]
fn the_pseudo_header_counts_the_whole_datagram() {
    let bytes = datagram(first(8), &V4, &[1; 20]);
    let cut = UdpLitePacket::new(&bytes[..20]).expect("coverage fits");
    assert!(!cut.checksum_holds(&V4), "a datagram cut short by mistake is found out");
    let known = UdpLitePacket::truncated(&bytes[..20], 28).expect("coverage fits");
    assert!(known.checksum_holds(&V4), "the IP header knows the length");
}

#[test]
fn a_sender_may_ask_for_anything() {
    let fields = [0, 1, 7, 8, 9, 12, 13, 65_535];
    let written = fields.map(|field| {
        let bytes = datagram(Coverage::requested(field), &V4, b"data");
        u16::from_be_bytes([bytes[4], bytes[5]])
    });
    assert_eq!(written, [0, 8, 8, 8, 9, 12, 0, 0]);
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        src_port: u16, dst_port: u16, coverage: u16, data in vec(any::<u8>(), 0..99),
    ) {
        let len = HEADER_LEN + data.len();
        let coverage = Coverage::requested(coverage % (len as u16 + 1));
        let repr = UdpLiteRepr { src_port, dst_port, coverage };
        for addresses in [V4, V6] {
            let mut bytes = vec![0; HEADER_LEN];
            repr.emit(&mut bytes, &addresses, &data);
            bytes.extend(&data);
            let packet = UdpLitePacket::new(&bytes).expect("a datagram");
            prop_assert!(packet.checksum_holds(&addresses));
            prop_assert_eq!((UdpLiteRepr::parse(&packet), packet.payload()), (repr, &data[..]));
            prop_assert_eq!(packet.covered(), coverage.bytes_of(len));
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in vec(any::<u8>(), 0..40), len in 0_usize..60) {
        if let Ok(packet) = UdpLitePacket::truncated(&bytes, len) {
            let _ = (packet.payload(), packet.checksum_holds(&V4), packet.covered());
        }
    }
}
