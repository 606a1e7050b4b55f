use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

fn packet_of(next_header: Protocol, payload: &[u8]) -> Vec<u8> {
    let src = Ipv6Addr::LOCALHOST;
    let dst = Ipv6Addr::UNSPECIFIED;
    let repr = Ipv6Repr::new(src, dst, next_header, payload.len()).expect("fits");
    let mut bytes = vec![0; HEADER_LEN];
    repr.emit(&mut bytes);
    bytes.extend(payload);
    bytes
}

fn upper(next_header: Protocol, payload: &[u8]) -> Result<Upper, WalkError> {
    Ipv6Packet::new(&packet_of(next_header, payload)).expect("a packet").upper()
}

#[test]
fn without_extensions_the_walk_is_over_at_once() {
    let upper = upper(Protocol::UDP, &[0; 8]).expect("no extensions");
    assert_eq!((upper.protocol, upper.offset, upper.link), (Protocol::UDP, 0, None));
}

#[test]
fn the_walk_passes_over_options_routing_and_fragment_headers() {
    let hop_by_hop = [43, 0, 1, 4, 0, 0, 0, 0];
    let routing = [44, 0, 0, 0, 0, 0, 0, 0];
    let fragment = [60, 0, 0, 1, 0, 0, 0, 9];
    let destination = [17, 0, 1, 4, 0, 0, 0, 0];
    let bytes = [hop_by_hop, routing, fragment, destination, [0; 8]].concat();
    let upper = upper(Protocol::HOP_BY_HOP, &bytes).expect("legal headers");
    assert_eq!((upper.protocol, upper.offset), (Protocol::UDP, 32));
    assert_eq!((upper.per_fragment_end, upper.link, upper.named), (16, Some(8), Some(24)));
    let header = upper.fragment.expect("a fragment header");
    assert_eq!((header.offset(), header.more(), header.identification), (0, true, 9));
}

#[test]
fn an_authentication_header_counts_in_units_of_four_bytes() {
    // RFC 4302, section 2.2: the length in words, less two.
    for words in [2_usize, 4, 7] {
        let mut header = vec![17, (words - 2) as u8];
        header.resize(words * 4, 0);
        let whole = [&header[..], &[0; 8]].concat();
        let upper = upper(Protocol::AUTHENTICATION, &whole).expect("a legal header");
        assert_eq!((upper.protocol, upper.offset), (Protocol::UDP, words * 4));
        assert!(self::upper(Protocol::AUTHENTICATION, &header[..words * 4 - 1]).is_err());
    }
}

#[test]
fn a_later_fragment_hides_what_follows() {
    let fragment = [60, 0, 0, 8, 0, 0, 0, 9];
    let upper = upper(Protocol::FRAGMENT, &fragment).expect("a fragment");
    assert_eq!((upper.protocol, upper.offset), (Protocol::DESTINATION_OPTIONS, 8));
    assert_eq!(upper.fragment.expect("a fragment header").offset(), 8);
}

#[test]
fn what_must_be_understood_ends_the_walk() {
    let option = upper(Protocol::DESTINATION_OPTIONS, &[17, 0, 0xc2, 4, 0, 0, 0, 0]);
    assert_eq!(option, Err(WalkError::Option { kind: 0xc2, at: 2 }));
    let routing = upper(Protocol::ROUTING, &[17, 0, 9, 1, 0, 0, 0, 0]);
    assert_eq!(routing, Err(WalkError::Routing { kind: 9, at: 2 }));
    let late = [[0, 0, 1, 4, 0, 0, 0, 0], [17, 0, 1, 4, 0, 0, 0, 0]].concat();
    let misplaced = upper(Protocol::DESTINATION_OPTIONS, &late);
    assert_eq!(misplaced, Err(WalkError::Misplaced { protocol: 0, at: 0 }));
    assert!(upper(Protocol::HOP_BY_HOP, &[17, 1, 1, 4, 0, 0, 0, 0]).is_err());
    assert!(upper(Protocol::HOP_BY_HOP, &[17, 0, 5, 9, 0, 0, 0, 0]).is_err());
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        (src, dst) in any::<(u128, u128)>(), next: u8, hop_limit: u8, traffic_class: u8,
        label: u32, len in 0_usize..=65_535,
    ) {
        let repr = Ipv6Repr::new(src.into(), dst.into(), Protocol(next), len).expect("fits");
        let repr = Ipv6Repr { hop_limit, traffic_class, ..repr }.with_flow_label(label);
        let mut bytes = [0; HEADER_LEN];
        repr.emit(&mut bytes);
        let packet = Ipv6Packet::new(&bytes).expect("a packet");
        prop_assert_eq!(Ipv6Repr::parse(&packet), repr);
        prop_assert_eq!(packet.missing(), len);
    }

    #[test]
    fn fragment_headers_survive(next: u8, id: u32, units in 0_usize..8192, more: bool) {
        let header = FragmentHeader::new(Protocol(next), id, units * 8, more).expect("legal");
        let mut bytes = [0xff; FRAGMENT_HEADER_LEN];
        header.emit(&mut bytes);
        prop_assert_eq!(bytes[1], 0);
        let mut payload = bytes.to_vec();
        payload.extend([0; 8]);
        prop_assume!(units > 0);
        let upper = upper(Protocol::FRAGMENT, &payload).expect("a fragment");
        prop_assert_eq!(upper.fragment, Some(header));
    }

    #[test]
    fn arbitrary_bytes_never_panic(mut bytes in vec(any::<u8>(), 0..200), next in 0_u8..5) {
        if bytes.len() > 6 {
            bytes[0] = 0x60;
            bytes[6] = [0, 43, 44, 51, 60][usize::from(next)];
        }
        if let Ok(packet) = Ipv6Packet::new(&bytes)
            && let Ok(upper) = packet.upper()
        {
            prop_assert!(upper.offset <= packet.payload().len());
            prop_assert!(upper.per_fragment_end <= upper.offset);
        }
    }
}

#[test]
fn an_option_that_is_not_understood_is_named_by_its_place() {
    // Padding of one byte and of two, then the option, in the second of two headers.
    let first = [60, 0, 1, 4, 0, 0, 0, 0];
    let second = [17, 0, 0, 1, 0, 0x82, 1, 0];
    let walk = upper(Protocol::HOP_BY_HOP, &[first, second].concat());
    assert_eq!(walk, Err(WalkError::Option { kind: 0x82, at: 8 + 5 }));
    // An option that reaches to the very end of its header, and one byte further.
    assert!(upper(Protocol::HOP_BY_HOP, &[17, 0, 0, 0, 5, 2, 0, 0]).is_ok());
    assert!(upper(Protocol::HOP_BY_HOP, &[17, 0, 0, 0, 5, 3, 0, 0]).is_err());
}

#[test]
fn a_router_takes_a_hop_from_all_that_have_one() {
    let mut bytes = packet_of(Protocol::UDP, &[]);
    bytes[7] = 2;
    assert_eq!([(); 3].map(|()| take_hop(&mut bytes)), [Some(1), Some(0), None]);
    assert_eq!(bytes[7], 0);
}

#[test]
fn a_flow_label_has_twenty_bits() {
    let src = Ipv6Addr::LOCALHOST;
    let dst = Ipv6Addr::UNSPECIFIED;
    let repr =
        Ipv6Repr::new(src, dst, Protocol::UDP, 0).expect("fits").with_flow_label(0xfff1_2345);
    assert_eq!(repr.flow_label(), 0x1_2345);
}
