use core::net::{Ipv4Addr, Ipv6Addr};

use windfall_wire_net::{Icmpv4Packet, Icmpv4Repr, Icmpv6Packet, Icmpv6Repr, Ipv4Repr, Ipv6Repr};

use super::*;

const HERE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const THERE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
const HERE_6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1);
const THERE_6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 2);

fn v4(src: Ipv4Addr, dst: Ipv4Addr, protocol: Protocol, data: &[u8], offset: usize) -> Vec<u8> {
    let mut repr = Ipv4Repr::new(src, dst, protocol, data.len()).expect("fits");
    repr.fragment = ipv4::Fragment::new(offset, false).expect("a multiple of 8");
    let mut bytes = vec![0; ipv4::HEADER_LEN];
    repr.emit(&mut bytes);
    [bytes, data.to_vec()].concat()
}

fn v6(src: Ipv6Addr, dst: Ipv6Addr, next: Protocol, data: &[u8]) -> Vec<u8> {
    let repr = Ipv6Repr::new(src, dst, next, data.len()).expect("fits");
    let mut bytes = vec![0; ipv6::HEADER_LEN];
    repr.emit(&mut bytes);
    [bytes, data.to_vec()].concat()
}

fn may(bytes: &[u8], problem: Problem) -> bool {
    may_report(&IpPacket::new(bytes).expect("a packet"), problem)
}

#[test]
fn errors_are_never_reported_about_errors() {
    for kind in 0..=255 {
        let message = [kind, 0, 0, 0, 0, 0, 0, 0];
        let error = matches!(kind, 3 | 4 | 5 | 11 | 12);
        let packet = v4(HERE, THERE, Protocol::ICMP, &message, 0);
        assert_eq!(may(&packet, Problem::HopLimit), !error, "type {kind}");
        let packet = v6(HERE_6, THERE_6, Protocol::ICMPV6, &message);
        assert_eq!(may(&packet, Problem::HopLimit), kind >= 128 && kind != 137, "type {kind}");
    }
    // Too short to show what it is.
    assert!(!may(&v4(HERE, THERE, Protocol::ICMP, &[8], 0), Problem::HopLimit));
}

#[test]
fn errors_are_never_reported_about_later_fragments_or_to_other_than_one_host() {
    let udp =
        |src, dst, offset| may(&v4(src, dst, Protocol::UDP, &[0; 8], offset), Problem::NoPort);
    assert!(udp(HERE, THERE, 0));
    assert!(!udp(HERE, THERE, 8));
    for src in [[0, 0, 0, 0], [127, 0, 0, 1], [224, 0, 0, 1], [255; 4], [240, 0, 0, 1]] {
        assert!(!udp(src.into(), THERE, 0), "{src:?}");
    }
    for dst in [[224, 0, 0, 1], [255; 4]] {
        assert!(!udp(HERE, dst.into(), 0), "{dst:?}");
    }
    let udp = |src, dst, problem| may(&v6(src, dst, Protocol::UDP, &[0; 8]), problem);
    let many = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
    assert!(udp(HERE_6, THERE_6, Problem::NoPort));
    assert!(!udp(Ipv6Addr::UNSPECIFIED, THERE_6, Problem::NoPort));
    assert!(!udp(many, THERE_6, Problem::NoPort));
    assert!(!udp(HERE_6, many, Problem::NoPort));
    // The two exceptions of RFC 4443, section 2.4 (e.3).
    assert!(udp(HERE_6, many, Problem::TooBig { mtu: 1280 }));
    let option = Problem::Parameter { fault: HeaderFault::Option, pointer: 42 };
    assert!(udp(HERE_6, many, option));
}

#[test]
fn a_message_quotes_as_much_as_its_family_allows_and_says_what_it_means() {
    let problems = [
        Problem::NoRoute,
        Problem::NoPort,
        Problem::TooBig { mtu: 1400 },
        Problem::HopLimit,
        Problem::Reassembly,
        Problem::Parameter { fault: HeaderFault::Field, pointer: 40 },
    ];
    for problem in problems {
        let packet = Payload::from(v4(HERE, THERE, Protocol::UDP, &[7; 1400], 0));
        let addresses = Addresses::V4 { src: THERE, dst: HERE };
        let (header, data) = message(&addresses, problem, &packet).expect("a message");
        assert_eq!(ipv4::HEADER_LEN + header.len() + data.len(), 576);
        let bytes = [&header[..], &data].concat();
        let read = Icmpv4Packet::new(&bytes).expect("a message");
        assert!(read.checksum_holds());
        assert_eq!(problem_v4(Icmpv4Repr::parse(&read)), Some(problem));
        let report = understand(&data, Some(problem)).expect("enough is quoted");
        assert_eq!((report.len, report.protocol), (1420, Protocol::UDP));
        assert_eq!(report.addresses, Addresses::V4 { src: HERE, dst: THERE });

        let packet = Payload::from(v6(HERE_6, THERE_6, Protocol::UDP, &[7; 1400]));
        let addresses = Addresses::V6 { src: THERE_6, dst: HERE_6 };
        let (header, data) = message(&addresses, problem, &packet).expect("a message");
        assert_eq!(ipv6::HEADER_LEN + header.len() + data.len(), 1280);
        let bytes = [&header[..], &data].concat();
        let read = Icmpv6Packet::new(&bytes).expect("a message");
        assert!(read.checksum_holds(&addresses));
        assert_eq!(problem_v6(Icmpv6Repr::parse(&read)), Some(problem));
        assert_eq!(understand(&data, Some(problem)).expect("quoted").len, 1440);
    }
}

#[test]
fn too_little_says_nothing() {
    assert_eq!(understand(&Bytes::from_static(&[0x45; 19]), None), None);
    assert_eq!(understand(&Bytes::new(), None), None);
}

#[test]
fn the_lack_of_a_protocol_has_a_message_of_its_own_over_ipv4() {
    let packet = Payload::from(v4(HERE, THERE, Protocol(200), &[7; 40], 0));
    let addresses = Addresses::V4 { src: THERE, dst: HERE };
    let (header, data) = message(&addresses, Problem::NoProtocol, &packet).expect("a message");
    let bytes = [&header[..], &data].concat();
    let read = Icmpv4Packet::new(&bytes).expect("a message");
    assert_eq!((bytes[0], bytes[1]), (3, 2));
    assert_eq!(problem_v4(Icmpv4Repr::parse(&read)), Some(Problem::NoProtocol));
}
