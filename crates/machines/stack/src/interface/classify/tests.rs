use proptest::prelude::*;
use windfall_base::FlowId;

use super::*;

/// An IPv4 packet with the first eight bytes of a transport header behind it.
fn packet(protocol: Protocol, tos: u8, transport: [u8; 8], len: u16) -> Frame {
    let mut bytes = vec![0x45, tos, 0, 0, 0, 0, 0, 0, 64, protocol.0, 0, 0];
    bytes.extend([10, 0, 0, 1, 10, 0, 0, 2]);
    bytes[2..4].copy_from_slice(&(20 + len).to_be_bytes());
    bytes.extend(transport);
    bytes.resize(20 + usize::from(len), 0);
    Frame::packet(bytes)
}

fn class(flow: u16) -> Class {
    Class { flow: FlowId(flow), ..Class::default() }
}

fn flow_of(rules: &[Rule], mut frame: Frame) -> u16 {
    Classifier::new(rules.to_vec()).classify(&mut frame);
    frame.class.flow.0
}

//= S3.16
#[test]
fn the_first_rule_that_matches_gives_the_class() {
    let host = |last| Some(IpAddr::from([10, 0, 0, last]).into());
    let rules = [
        Rule { destination_ports: Some(5004..=5005), class: class(1), ..Rule::default() },
        Rule { dscp: Some(46), class: class(2), ..Rule::default() },
        Rule { source: host(9), class: class(3), ..Rule::default() },
        Rule {
            protocol: Some(Protocol::TCP),
            destination: host(2),
            class: class(4),
            ..Rule::default()
        },
    ];
    let to_5005 = [0x30, 0x39, 0x13, 0x8d, 0, 8, 1, 1];
    assert_eq!(flow_of(&rules, packet(Protocol::UDP, 46 << 2, to_5005, 40)), 1);
    assert_eq!(flow_of(&rules, packet(Protocol::ICMP, 46 << 2, to_5005, 40)), 2);
    assert_eq!(flow_of(&rules, packet(Protocol::TCP, 0, [0; 8], 40)), 4);
    assert_eq!(flow_of(&rules, packet(Protocol::UDP, 0, [0; 8], 40)), 0);
}

//= S0.6
//= S0.7
#[test]
fn only_partly_covered_datagrams_are_approximate() {
    let datagram = |coverage: u8, protocol| {
        let mut frame = packet(protocol, 0, [0, 1, 0, 2, 0, coverage, 1, 1], 40);
        Classifier::new(vec![Rule::approximate()]).classify(&mut frame);
        (frame.class.attempts.map(NonZeroU8::get), frame.class.accept_damaged)
    };
    assert_eq!(datagram(8, Protocol::UDP_LITE), (Some(1), Some(true)));
    assert_eq!(datagram(39, Protocol::UDP_LITE), (Some(1), Some(true)));
    assert_eq!(datagram(40, Protocol::UDP_LITE), (None, None));
    assert_eq!(datagram(0, Protocol::UDP_LITE), (None, None));
    assert_eq!(datagram(8, Protocol::UDP), (None, None));
}

//= S0.7
#[test]
fn what_udp_carries_is_as_approximate_as_what_stands_bare() {
    use windfall_wire_net::udplite::Coverage;
    use windfall_wire_net::{Addresses, carrier};
    let addresses = Addresses::V4 { src: [10, 0, 0, 1].into(), dst: [10, 0, 0, 2].into() };
    let ports = carrier::Ports { src: 1, dst: 2 };
    let attempts = |inside: &[u8]| {
        let len = 8 + inside.len() as u16;
        let mut frame = packet(Protocol::UDP, 0, [0, 1, 0, 2, 0, len as u8, 0, 0], len);
        let mut bytes = frame.to_vec();
        bytes[28..].copy_from_slice(inside);
        frame = Frame::packet(bytes);
        Classifier::new(vec![Rule::approximate()]).classify(&mut frame);
        frame.class.attempts.map(NonZeroU8::get)
    };
    let mut inside = [7; 40];
    for (coverage, expected) in [(8, Some(1)), (20, Some(1)), (40, None), (0, None)] {
        let covered = Coverage::from_field(coverage).expect("it is legal");
        let (head, data) = inside.split_at_mut(8);
        carrier::emit(head, &addresses, ports, covered, [data, &[]]);
        assert_eq!(attempts(&inside), expected, "coverage {coverage}");
    }
    carrier::emit_whole(&mut inside);
    assert_eq!(attempts(&inside), None);
    assert_eq!(attempts(&[7; 40]), None);
    assert_eq!(attempts(&carrier::PARTIAL), None);
}

#[test]
fn what_the_owner_has_said_stands() {
    let rules = [Rule { class: class(1), ..Rule::default() }];
    let own = Class { attempts: NonZeroU8::new(3), ..Class::default() };
    let mut frame = packet(Protocol::UDP, 0, [0; 8], 40).with_class(own);
    Classifier::new(rules.to_vec()).classify(&mut frame);
    assert_eq!(frame.class, own);
}

/// Rules that name few addresses and ports, so that many match.
fn rule() -> impl Strategy<Value = Rule> {
    let block = prop::option::of((1_u8..4, prop::sample::select(vec![8_u8, 32])))
        .prop_map(|net| net.map(|(last, bits)| IpNet::new([10, 0, 0, last].into(), bits).unwrap()));
    let ports = prop::option::of((1_u16..4, 0_u16..2));
    let ports = ports.prop_map(|ports| ports.map(|(first, more)| first..=first + more));
    let protocol = prop::option::of(prop::sample::select(vec![Protocol::TCP, Protocol::UDP]));
    (block.clone(), block, protocol, ports.clone(), ports).prop_map(
        |(source, destination, protocol, source_ports, destination_ports)| Rule {
            source,
            destination,
            protocol,
            source_ports,
            destination_ports,
            ..Rule::default()
        },
    )
}

proptest! {
    /// The index finds what asking every rule finds.
    #[test]
    fn of_many_rules_the_first_counts(
        mut rules in prop::collection::vec(rule(), 0..30),
        (protocol, source, destination) in (0_usize..3, 1_u8..4, 1_u8..4),
    ) {
        (1_u16..).zip(&mut rules).for_each(|(number, rule)| rule.class = class(number));
        let protocol = [Protocol::TCP, Protocol::UDP, Protocol::ICMP][protocol];
        let frame = packet(protocol, 0, [0, source, 0, destination, 0, 0, 0, 0], 40);
        let bytes = frame.payload.prefix(LOOKED_AT);
        let headers = Headers::read(&IpPacket::new(&bytes).expect("it is a packet"));
        let first = rules.iter().find(|rule| rule.matches(&headers));
        prop_assert_eq!(flow_of(&rules, frame.clone()), first.map_or(0, |rule| rule.class.flow.0));
    }

    #[test]
    fn any_bytes_are_classified_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let everything = Rule {
            source_ports: Some(0..=u16::MAX),
            partly_covered: true,
            ..Rule::default()
        };
        let mut frame = Frame::packet(bytes);
        Classifier::new(vec![everything]).classify(&mut frame);
    }
}

/// A fragment of a UDP datagram to port 5004, as an IPv4 packet.
fn fragment(identification: u16, is_first: bool) -> Frame {
    let mut bytes = vec![0x45, 0, 0, 44, 0, 0, 0x20, if is_first { 0 } else { 3 }];
    bytes[4..6].copy_from_slice(&identification.to_be_bytes());
    bytes.extend([64, Protocol::UDP.0, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    // Of later fragments these bytes are data that look like other ports.
    let port = if is_first { 5004_u16 } else { 6004 };
    bytes.extend([0x10, 0]);
    bytes.extend(port.to_be_bytes());
    bytes.resize(44, 0);
    Frame::packet(bytes)
}

#[test]
fn the_fragments_of_a_packet_have_the_class_of_the_first() {
    let port = |port, number| Rule {
        destination_ports: Some(port..=port),
        class: class(number),
        ..Rule::default()
    };
    let rest = Rule { class: class(9), ..Rule::default() };
    let mut classifier = Classifier::new(vec![port(5004, 1), port(6004, 2), rest]);
    let mut flow = |mut frame: Frame| {
        classifier.classify(&mut frame);
        frame.class.flow.0
    };
    assert_eq!(flow(fragment(7, false)), 9, "before the first");
    assert_eq!(flow(fragment(7, true)), 1);
    assert_eq!(flow(fragment(7, false)), 1);
    assert_eq!(flow(fragment(8, false)), 9, "of another packet");
    // Packets are forgotten in the order in which they came.
    (100..355).for_each(|number| assert_eq!(flow(fragment(number, true)), 1));
    assert_eq!(flow(fragment(7, false)), 1);
    assert_eq!(flow(fragment(355, true)), 1);
    assert_eq!(flow(fragment(7, false)), 9);
}

/// An IPv4 packet with a TCP header of these flags.
fn segment(flags: u8) -> Frame {
    let mut bytes = vec![0x45, 0, 0, 40, 0, 0, 0, 0, 64, Protocol::TCP.0, 0, 0];
    bytes.extend([10, 0, 0, 1, 10, 0, 0, 2]);
    bytes.resize(40, 0);
    bytes[20 + TCP_FLAGS] = flags;
    Frame::packet(bytes)
}

#[test]
fn packets_are_counted_in_their_flow_and_what_is_listed_is_picked() {
    let rule = |protocol, flow, picks| Rule {
        protocol: Some(protocol),
        class: Class { flow: FlowId(flow), ..Class::NONE },
        picks,
        ..Rule::default()
    };
    let picks = Picks { lose: "3, syn 2".parse().ok(), copy: "1".parse().ok(), damage: None };
    let rules = vec![rule(Protocol::UDP, 1, Picks::default()), rule(Protocol::TCP, 2, picks)];
    let mut classifier = Classifier::new(rules);
    let next = |flags| {
        let mut other = segment(SYN);
        let mut bytes = other.payload.to_bytes().to_vec();
        bytes[9] = Protocol::UDP.0;
        other.payload = bytes.into();
        classifier.classify(&mut other);
        assert_eq!(other.class.picked, Picked::NONE);
        let mut frame = segment(flags);
        classifier.classify(&mut frame);
        let Picked { lose, damage, copy } = frame.class.picked;
        (lose, damage, copy)
    };
    let ack = 0x10;
    let seen = [ack, SYN, ack, SYN | ack, SYN].map(next);
    let lost = (true, false, false);
    let nothing = (false, false, false);
    assert_eq!(seen, [(false, false, true), nothing, lost, lost, nothing]);
}
