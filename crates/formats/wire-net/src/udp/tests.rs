use core::net::{Ipv4Addr, Ipv6Addr};

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

const V4: Addresses = Addresses::V4 { src: Ipv4Addr::LOCALHOST, dst: Ipv4Addr::BROADCAST };
const V6: Addresses = Addresses::V6 { src: Ipv6Addr::LOCALHOST, dst: Ipv6Addr::LOCALHOST };

fn datagram(addresses: &Addresses, data: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; HEADER_LEN];
    UdpRepr { src_port: 4000, dst_port: 53 }.emit(&mut bytes, addresses, data).expect("fits");
    bytes.extend(data);
    bytes
}

//= S0.5
#[test]
fn no_checksum_is_one_over_ipv4_and_a_fault_over_ipv6() {
    let mut bytes = datagram(&V4, b"data");
    bytes[6..8].fill(0);
    let packet = UdpPacket::new(&bytes).expect("a datagram");
    assert!(packet.checksum_holds(&V4));
    assert!(!packet.checksum_holds(&V6));
}

#[test]
fn a_computed_zero_is_written_as_all_ones() {
    // Data that bring the sum of everything else to 0xffff.
    let bare = datagram(&V4, &[0, 0]);
    let rest = u16::from_be_bytes([bare[6], bare[7]]);
    let bytes = datagram(&V4, &rest.to_be_bytes());
    assert_eq!(bytes[6..8], [0xff, 0xff]);
    assert!(UdpPacket::new(&bytes).expect("a datagram").checksum_holds(&V4));
}

#[test]
fn lengths_are_checked() {
    let mut bytes = datagram(&V4, b"data");
    assert!(!UdpPacket::new(&bytes[..11]).expect("a header").checksum_holds(&V4));
    bytes[5] = 7;
    assert!(matches!(UdpPacket::new(&bytes), Err(WireError::Length { found: 7, .. })));
    let repr = UdpRepr { src_port: 1, dst_port: 2 };
    assert!(repr.emit(&mut [0; 8], &V4, &vec![0; 65_528]).is_err());
}

proptest! {
    #[test]
    fn what_is_written_is_read(src_port: u16, dst_port: u16, data in vec(any::<u8>(), 0..99)) {
        let repr = UdpRepr { src_port, dst_port };
        for addresses in [V4, V6] {
            let mut bytes = vec![0; HEADER_LEN];
            repr.emit(&mut bytes, &addresses, &data).expect("fits");
            bytes.extend(&data);
            let packet = UdpPacket::new(&bytes).expect("a datagram");
            prop_assert!(packet.checksum_holds(&addresses) && packet.checksum() != 0);
            prop_assert_eq!((UdpRepr::parse(&packet), packet.payload()), (repr, &data[..]));
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in vec(any::<u8>(), 0..40)) {
        if let Ok(packet) = UdpPacket::new(&bytes) {
            let _ = (packet.payload(), packet.checksum_holds(&V4), packet.checksum_holds(&V6));
        }
    }
}

#[test]
fn a_cut_datagram_says_how_much_is_missing() {
    let bytes = datagram(&V4, b"data");
    for missing in 0..=4 {
        let packet = UdpPacket::new(&bytes[..bytes.len() - missing]).expect("its header is there");
        assert_eq!(packet.missing(), missing);
    }
}

#[test]
fn the_longest_datagram_has_65535_bytes() {
    let repr = UdpRepr { src_port: 1, dst_port: 2 };
    let mut header = [0; HEADER_LEN];
    let most = 65_535 - 8;
    assert_eq!(repr.emit(&mut header, &V4, &vec![0; most]), Ok(()));
    let error = repr.emit(&mut header, &V4, &vec![0; most + 1]);
    assert_eq!(error, Err(WireError::TooLong { header: NAME, len: most + 1, most }));
}
