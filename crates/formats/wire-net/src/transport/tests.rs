use core::net::{Ipv4Addr, Ipv6Addr};

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::ipv4::{self, Ipv4Packet, Ipv4Repr};
use crate::ipv6::{self, Ipv6Repr};
use crate::udplite::{Coverage, CoveredBytes, UdpLitePacket, UdpLiteRepr};
use crate::{UdpPacket, UdpRepr};

const PROTOCOLS: [Protocol; 5] =
    [Protocol::UDP, Protocol::UDP_LITE, Protocol::TCP, Protocol::ICMP, Protocol::ICMPV6];

/// The addresses of all packets here, of one family.
fn addresses(v6: bool) -> Addresses {
    if v6 {
        Addresses::V6 { src: Ipv6Addr::LOCALHOST, dst: Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 7) }
    } else {
        Addresses::V4 { src: Ipv4Addr::new(10, 77, 0, 1), dst: Ipv4Addr::new(10, 77, 0, 2) }
    }
}

/// A packet of `protocol` that carries `transport`.
fn packet(v6: bool, protocol: Protocol, transport: &[u8]) -> Vec<u8> {
    let mut bytes;
    match addresses(v6) {
        Addresses::V6 { src, dst } => {
            bytes = vec![0; ipv6::HEADER_LEN];
            let header = Ipv6Repr::new(src, dst, protocol, transport.len());
            header.expect("it fits").emit(&mut bytes);
        }
        Addresses::V4 { src, dst } => {
            bytes = vec![0; ipv4::HEADER_LEN];
            let header = Ipv4Repr::new(src, dst, protocol, transport.len());
            header.expect("it fits").emit(&mut bytes);
        }
    }
    [&bytes, transport].concat()
}

/// A whole packet of `protocol` with `data`, as a sender makes it, and the offset of its data.
fn whole(v6: bool, protocol: Protocol, data: &[u8]) -> (Vec<u8>, usize) {
    let addresses = addresses(v6);
    let mut header = vec![0; 8];
    match protocol {
        Protocol::UDP => {
            let udp = UdpRepr { src_port: 4000, dst_port: 5000 };
            udp.emit(&mut header, &addresses, data).expect("it fits");
        }
        Protocol::UDP_LITE => {
            let coverage = Coverage::First(CoveredBytes::new(12).expect("8 or more"));
            let lite = UdpLiteRepr { src_port: 4000, dst_port: 5000, coverage };
            lite.emit(&mut header, &addresses, data);
        }
        Protocol::TCP => {
            header = vec![0; 32];
            header[12] = 8 << 4;
            tcp::fill_checksum(&addresses, &mut header, data);
        }
        _ => header[0] = 8,
    }
    let offset = if v6 { ipv6::HEADER_LEN } else { ipv4::HEADER_LEN } + header.len();
    let mut bytes = packet(v6, protocol, &[&header, data].concat());
    if matches!(protocol, Protocol::ICMP | Protocol::ICMPV6) {
        assert!(restore_checksum(&mut bytes), "a message of ICMP has a checksum");
    }
    (bytes, offset)
}

/// Tells whether the checksum of the transport holds.
fn holds(packet: &[u8]) -> bool {
    let ip = IpPacket::new(packet).expect("a packet");
    let addresses = ip.addresses();
    let Carried { protocol, bytes, len, .. } = ip.carried().expect("no extension fails");
    let mut sum = addresses.pseudo_header(protocol, len as u32);
    match protocol {
        Protocol::UDP => UdpPacket::new(bytes).expect("whole").checksum_holds(&addresses),
        Protocol::UDP_LITE => UdpLitePacket::new(bytes).expect("legal").checksum_holds(&addresses),
        Protocol::TCP => tcp::checksum_holds(&addresses, [bytes, &[]]),
        Protocol::ICMP => crate::checksum::checksum(bytes) == 0,
        _ => {
            sum.add(bytes);
            sum.holds()
        }
    }
}

fn any_protocol() -> impl Strategy<Value = Protocol> {
    proptest::sample::select(&PROTOCOLS[..])
}

proptest! {
    #[test]
    fn a_checksum_is_restored_over_damaged_data(
        v6: bool,
        protocol in any_protocol(),
        data in vec(any::<u8>(), 1..300),
        hits in vec((any::<prop::sample::Index>(), 1..=255u8), 1..5),
    ) {
        let (sent, offset) = whole(v6, protocol, &data);
        prop_assert_eq!(data_offset(&sent.clone().into()), Some(offset));
        prop_assert!(holds(&sent));
        let mut damaged = sent.clone();
        for (place, mask) in hits {
            let place = offset + place.index(data.len());
            damaged[place] ^= mask;
        }
        let mut restored = damaged.clone();
        prop_assert!(restore_checksum(&mut restored));
        prop_assert!(holds(&restored));
        // The checksum alone has changed.
        let changed: Vec<usize> =
            (0..sent.len()).filter(|&at| restored[at] != damaged[at]).collect();
        prop_assert!(changed.iter().all(|at| *at < offset), "{:?}", changed);
        prop_assert!(changed.len() <= 2, "{:?}", changed);
    }

    #[test]
    fn any_bytes_are_harmless(mut bytes in vec(any::<u8>(), 0..120), cut in 0..120usize) {
        let before = bytes.clone();
        if let Some(offset) = data_offset(&bytes.clone().into()) {
            prop_assert!(offset <= bytes.len());
        }
        if !restore_checksum(&mut bytes) {
            prop_assert_eq!(&bytes, &before);
        }
        let _ = udp_checksum_over_ipv4(&bytes[..cut.min(bytes.len())]);
    }
}

#[test]
fn a_whole_packet_keeps_its_checksum() {
    for (v6, protocol) in [false, true].into_iter().flat_map(|v6| PROTOCOLS.map(|it| (v6, it))) {
        let (sent, _) = whole(v6, protocol, b"nothing happened");
        let mut restored = sent.clone();
        assert!(restore_checksum(&mut restored));
        assert_eq!(restored, sent, "{protocol}");
    }
}

#[test]
fn what_cannot_be_right_is_left_alone() {
    let (sent, _) = whole(false, Protocol::UDP, &[7; 100]);
    let assert_left = |mut bytes: Vec<u8>, why: &str| {
        let before = bytes.clone();
        assert!(!restore_checksum(&mut bytes), "{why}");
        assert_eq!(bytes, before, "{why}");
    };
    let mut header = sent.clone();
    header[16] ^= 1;
    assert_eq!(data_offset(&header.clone().into()), None);
    assert_left(header, "the IPv4 header is damaged");
    let mut length = sent.clone();
    length[25] += 1;
    assert_left(length, "the length of UDP is damaged");
    let mut none = sent.clone();
    none[26..28].fill(0);
    assert_left(none, "the datagram has no checksum");
    assert_left(sent[..90].to_vec(), "bytes are missing");
    assert_left(packet(false, Protocol(132), &[7; 40]), "SCTP has another checksum");
    assert_left(packet(true, Protocol::TCP, &[7; 19]), "the TCP header is cut short");
}

#[test]
fn options_behind_a_datagram_are_not_covered() {
    let (sent, _) = whole(false, Protocol::UDP, &[7; 100]);
    let mut with_options = [&sent[..], &[1; 8]].concat();
    with_options[3] += 8;
    with_options[10..12].fill(0);
    let sum = crate::checksum::checksum(&with_options[..20]);
    with_options[10..12].copy_from_slice(&sum.to_be_bytes());
    let mut damaged = with_options.clone();
    damaged[130] ^= 0x80;
    assert!(restore_checksum(&mut damaged));
    assert_eq!(damaged[26..28], sent[26..28], "only an option is damaged");
    damaged[60] ^= 0x80;
    assert!(restore_checksum(&mut damaged));
    let datagram = UdpPacket::new(&damaged[20..128]).expect("whole");
    assert!(datagram.checksum_holds(&addresses(false)));
}

#[test]
fn a_later_fragment_is_all_data() {
    let Addresses::V4 { src, dst } = addresses(false) else { unreachable!("IPv4 was asked for") };
    let mut header = Ipv4Repr::new(src, dst, Protocol::UDP, 64).expect("it fits");
    for (offset, data) in [(0, 28), (64, 20)] {
        header.fragment = ipv4::Fragment::new(offset, true).expect("a multiple of 8");
        let mut bytes = vec![0; 84];
        header.emit(&mut bytes);
        assert!(Ipv4Packet::new(&bytes).expect("legal").is_fragment());
        assert_eq!(data_offset(&bytes.clone().into()), Some(data));
        assert!(!restore_checksum(&mut bytes), "the other fragments are missing");
        let checksum = udp_checksum_over_ipv4(&bytes);
        let first = OptionalChecksum { place: 26..28, is_of_fragments: true };
        assert_eq!(checksum, (offset == 0).then_some(first));
    }
}
