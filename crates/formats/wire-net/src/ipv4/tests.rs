use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

fn repr() -> Ipv4Repr {
    let src = Ipv4Addr::new(10, 0, 0, 1);
    let dst = Ipv4Addr::new(10, 0, 0, 2);
    Ipv4Repr::new(src, dst, Protocol::UDP, 12).expect("a short payload")
}

fn packet_of(repr: &Ipv4Repr) -> Vec<u8> {
    let mut bytes = vec![0; repr.header_len() + repr.payload_len()];
    repr.emit(&mut bytes);
    bytes
}

#[test]
fn a_header_has_the_bytes_of_rfc_791() {
    let repr = Ipv4Repr { identification: 0x1234, dont_fragment: true, ..repr() };
    let mut header = [0; HEADER_LEN];
    repr.emit(&mut header);
    let expected =
        [0x45, 0, 0, 32, 0x12, 0x34, 0x40, 0, 64, 17, 0x14, 0x97, 10, 0, 0, 1, 10, 0, 0, 2];
    assert_eq!(header, expected);
}

//= S0.71
#[test]
fn a_damaged_header_fails_its_checksum() {
    let bytes = packet_of(&repr());
    assert!(Ipv4Packet::new(&bytes).expect("a packet").checksum_holds());
    for bit in 0..HEADER_LEN * 8 {
        let mut damaged = bytes.clone();
        damaged[bit / 8] ^= 0x80 >> (bit % 8);
        assert!(Ipv4Packet::new(&damaged).map_or(true, |packet| !packet.checksum_holds()));
    }
}

#[test]
fn faults_are_named() {
    let good = packet_of(&repr());
    let fault = |at: usize, value: u8| {
        let mut bytes = good.clone();
        bytes[at] = value;
        Ipv4Packet::new(&bytes).expect_err("a fault")
    };
    let version = WireError::Version { header: "IPv4", expected: 4, found: 5 };
    assert_eq!(fault(0, 0x55), version);
    assert!(matches!(fault(0, 0x44), WireError::Length { found: 16, .. }));
    assert!(matches!(fault(0, 0x4f), WireError::Short { need: 60, have: 32, .. }));
    assert!(matches!(fault(3, 19), WireError::Length { found: 19, least: 20, .. }));
    assert!(matches!(Ipv4Packet::new(&good[..19]), Err(WireError::Short { have: 19, .. })));
}

#[test]
fn the_payload_ends_with_the_packet_or_with_the_bytes() {
    let mut bytes = packet_of(&repr());
    bytes.extend([7; 9]);
    assert_eq!(Ipv4Packet::new(&bytes).expect("a packet").payload().len(), 12);
    let cut = Ipv4Packet::new(&bytes[..25]).expect("a packet");
    assert_eq!((cut.payload().len(), cut.missing()), (5, 7));
}

#[test]
fn no_packet_is_longer_than_its_length_field() {
    let src = Ipv4Addr::LOCALHOST;
    let dst = Ipv4Addr::LOCALHOST;
    assert!(Ipv4Repr::new(src, dst, Protocol::UDP, 65_515).is_ok());
    let error = Ipv4Repr::new(src, dst, Protocol::UDP, 65_516).expect_err("too long");
    assert_eq!(error.to_string(), "IPv4: 65516 bytes do not fit, 65515 at most");
    let longest = Ipv4Repr::new(src, dst, Protocol::UDP, 65_515).expect("fits");
    let options = Ipv4Options::new(&[1]).expect("an option");
    assert!(longest.with_options(options).is_err());
}

#[test]
fn only_options_with_the_copied_bit_are_repeated() {
    let options = Ipv4Options::new(&[7, 3, 4, 1, 0x83, 3, 4, 0x94, 4, 0, 0]).expect("options");
    assert_eq!(options.as_bytes().len(), 12);
    assert_eq!(options.copied().as_bytes(), [0x83, 3, 4, 0x94, 4, 0, 0, 0]);
    for bad in [&[7, 1][..], &[7, 9, 0, 0], &[7], &[1; 41]] {
        assert_eq!(Ipv4Options::new(bad), None, "{bad:?}");
    }
}

prop_compose! {
    fn any_repr()(
        addresses: (u32, u32), protocol: u8, numbers: (u8, u8, u16), dont_fragment: bool,
        (units, more) in (0_usize..8192, any::<bool>()), nops in 0_usize..=40,
        len in 0_usize..=65_475,
    ) -> Ipv4Repr {
        let fragment = Fragment::new(units * 8, more).expect("a legal offset");
        let (hop_limit, tos, identification) = numbers;
        let src = addresses.0.into();
        let dst = addresses.1.into();
        let repr = Ipv4Repr::new(src, dst, Protocol(protocol), len).expect("fits");
        let repr = Ipv4Repr { hop_limit, tos, identification, dont_fragment, fragment, ..repr };
        repr.with_options(Ipv4Options::new(&vec![1; nops]).expect("nops")).expect("fits")
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read(repr in any_repr()) {
        let mut bytes = vec![0; repr.header_len()];
        repr.emit(&mut bytes);
        let packet = Ipv4Packet::new(&bytes).expect("a packet");
        prop_assert!(packet.checksum_holds());
        prop_assert_eq!(Ipv4Repr::parse(&packet), Ok(repr));
    }

    #[test]
    fn a_hop_is_taken_as_if_the_header_were_written_anew(repr in any_repr()) {
        let mut bytes = vec![0; repr.header_len()];
        repr.emit(&mut bytes);
        let left = take_hop(&mut bytes);
        prop_assert_eq!(left, repr.hop_limit.checked_sub(1));
        let mut anew = vec![0; repr.header_len()];
        Ipv4Repr { hop_limit: left.unwrap_or(0), ..repr }.emit(&mut anew);
        prop_assert_eq!(bytes, anew);
    }

    #[test]
    fn arbitrary_bytes_never_panic(mut bytes in vec(any::<u8>(), 0..90), like: bool) {
        if let (true, Some(first)) = (like, bytes.first_mut()) {
            *first = 0x40 | (*first & 0x0f);
        }
        if let Ok(packet) = Ipv4Packet::new(&bytes) {
            let _ = (packet.checksum_holds(), packet.payload(), packet.missing());
            if let Ok(repr) = Ipv4Repr::parse(&packet) {
                let mut header = vec![0; repr.header_len()];
                repr.emit(&mut header);
            }
        }
    }
}

#[test]
fn a_fragment_is_the_first_of_several_or_a_later_one() {
    for (field, is_fragment) in [
        ([0x00, 0], false),
        ([0x40, 0], false),
        ([0x20, 0], true),
        ([0, 9], true),
        ([0x20, 9], true),
    ] {
        let mut bytes = packet_of(&repr());
        bytes[6..8].copy_from_slice(&field);
        let packet = Ipv4Packet::new(&bytes).expect("a packet");
        assert_eq!(packet.is_fragment(), is_fragment, "{field:?}");
    }
}
