use core::net::Ipv4Addr;

use windfall_rtp::{RtcpPacket, RtpHeader};
use windfall_wire_net::carrier::{self, Ports};
use windfall_wire_net::udplite::{self, Coverage};
use windfall_wire_net::{Addresses, Ipv4Repr, UdpLiteRepr, UdpRepr, ipv4, udp};

use super::*;

const FROM: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
const TO: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);
const ADDRESSES: Addresses = Addresses::V4 { src: FROM, dst: TO };
const PORTS: Ports = Ports { src: 40_000, dst: 5_004 };

fn ip(protocol: Protocol, carried: &[u8]) -> Vec<u8> {
    let mut packet = vec![0; ipv4::HEADER_LEN];
    Ipv4Repr::new(FROM, TO, protocol, carried.len()).expect("short").emit(&mut packet);
    packet.extend(carried);
    packet
}

fn by_udp(payload: &[u8], to: u16) -> Vec<u8> {
    let mut datagram = vec![0; udp::HEADER_LEN];
    let repr = UdpRepr { src_port: PORTS.src, dst_port: to };
    repr.emit(&mut datagram, &ADDRESSES, payload).expect("short");
    datagram.extend(payload);
    ip(Protocol::UDP, &datagram)
}

fn by_udplite(payload: &[u8]) -> Vec<u8> {
    let mut datagram = vec![0; udplite::HEADER_LEN];
    let repr = UdpLiteRepr { src_port: PORTS.src, dst_port: PORTS.dst, coverage: Coverage::Full };
    repr.emit_parts(&mut datagram, &ADDRESSES, [payload, &[]]);
    datagram.extend(payload);
    ip(Protocol::UDP_LITE, &datagram)
}

fn by_carrier(payload: &[u8]) -> Vec<u8> {
    let mut carried = vec![0; carrier::HEADER_LEN];
    carrier::emit(&mut carried, &ADDRESSES, PORTS, Coverage::Full, [payload, &[]]);
    carried.extend(payload);
    by_udp(&carried, PORTS.dst)
}

//= S1.32
#[test]
fn rtp_is_found_whatever_carries_it_and_reports_are_none() {
    let header = RtpHeader { sequence: 17, timestamp: 9_000, marker: true, ..RtpHeader::default() };
    let rtp = RtpPacket { header, payload: &[7; 30], ..RtpPacket::default() }.encode();
    for packet in [by_udp(&rtp, PORTS.dst), by_udplite(&rtp), by_carrier(&rtp)] {
        let seen = rtp_of(&packet).expect("a packet of RTP");
        assert_eq!((seen.number, seen.len), (17, 42));
        assert_eq!(seen.note, "timestamp 9000, last of its picture");
    }
    assert!(rtp_of(&by_udp(&rtp, PORTS.dst + 1)).is_none(), "an odd port");
    let reports = RtcpPacket::encode_compound(&[RtcpPacket::Report {
        ssrc: 1,
        sender: None,
        blocks: vec![],
    }]);
    for packet in [by_udp(&reports, PORTS.dst), by_udplite(&reports), by_carrier(&reports)] {
        assert!(rtp_of(&packet).is_none(), "a report");
    }
}
