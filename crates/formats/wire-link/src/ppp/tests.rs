use proptest::prelude::*;

use super::*;

//= S1.11
#[test]
fn the_protocol_field_may_be_compressed_and_lcp_is_not() {
    let none = Compression::default();
    let all = Compression { address_control: true, protocol: true };
    assert_eq!(encode_protocol(IPV4, none)[..], [0xff, 3, 0, 0x21]);
    assert_eq!(encode_protocol(IPV4, all)[..], [0x21]);
    assert_eq!(encode_protocol(IPCP, all)[..], [0x80, 0x21]);
    assert_eq!(encode_protocol(LCP, all)[..], [0xff, 3, 0xc0, 0x21]);
    for protocol in [IPV4, IPV6, IPCP, IPV6CP, LCP] {
        for compression in [none, all] {
            let bytes = encode_protocol(protocol, compression);
            assert_eq!(parse_protocol(&bytes), Ok((protocol, bytes.len())));
        }
    }
    assert_eq!(parse_protocol(&[0xff, 3, 0]), Err(HeaderError::Short { have: 3, need: 4 }));
    assert_eq!(parse_protocol(&[0, 0x20]), Err(HeaderError::Field("protocol")));
}

#[test]
fn each_code_has_its_number() {
    for number in 0..=255 {
        match ControlCode::of(number) {
            Some(code) => assert_eq!(code as u8, number),
            None => assert!(number == 0 || number > 11),
        }
    }
}

#[test]
fn options_end_at_the_first_error() {
    let read = |data| options(data).collect::<Vec<_>>();
    let mru = PppOption { kind: 1, value: &[5, 220] };
    assert_eq!(read(&[1, 4, 5, 220]), [Ok(mru)]);
    assert_eq!(read(&[1, 4, 5, 220, 7, 1, 9]), [Ok(mru), Err(HeaderError::Field("option length"))]);
    assert_eq!(read(&[1, 4, 5]), [Err(HeaderError::Short { have: 3, need: 4 })]);
    assert_eq!(read(&[1]), [Err(HeaderError::Short { have: 1, need: 2 })]);
}

proptest! {
    #[test]
    fn control_packets_and_options_survive(
        code: u8,
        identifier: u8,
        list in prop::collection::vec(
            (any::<u8>(), prop::collection::vec(any::<u8>(), 0..20)),
            0..8,
        ),
        padding in prop::collection::vec(any::<u8>(), 0..5),
    ) {
        let mut data = Vec::new();
        let list: Vec<PppOption<'_>> =
            list.iter().map(|(kind, value)| PppOption { kind: *kind, value }).collect();
        list.iter().for_each(|option| option.encode(&mut data));
        let packet = ControlPacket { code, identifier, data: &data };
        let mut bytes = Vec::new();
        packet.encode(&mut bytes);
        bytes.extend(padding);
        let read = ControlPacket::parse(&bytes).expect("it was written here");
        prop_assert_eq!(read, packet);
        prop_assert_eq!(options(read.data).collect::<Result<Vec<_>, _>>(), Ok(list));
    }

    #[test]
    fn any_bytes_parse_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        if let Ok((_, start)) = parse_protocol(&bytes)
            && let Ok(packet) = ControlPacket::parse(&bytes[start..])
        {
            prop_assert!(options(packet.data).count() <= packet.data.len());
        }
    }
}
