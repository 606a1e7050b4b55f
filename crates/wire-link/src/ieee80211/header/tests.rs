use proptest::prelude::*;

use super::*;

pub(crate) fn any_header() -> impl Strategy<Value = Header> {
    let kind = prop::sample::select(&Kind::ALL[..]);
    let flags = any::<u8>().prop_filter("four addresses", |flags| flags & 3 != 3);
    (kind, flags, any::<u16>(), any::<[[u8; 6]; 3]>(), 0..=MAX_SEQUENCE, 0..=MAX_FRAGMENT).prop_map(
        |(kind, flags, duration, [receiver, transmitter, third], sequence, fragment)| {
            let mut header =
                Header { flags: Flags(flags), duration, ..Header::new(kind, MacAddress(receiver)) };
            if kind.header_len() > 10 {
                header.transmitter = MacAddress(transmitter);
            }
            if kind.header_len() > 16 {
                header.third = MacAddress(third);
                (header.sequence, header.fragment) = (sequence, fragment);
            }
            header
        },
    )
}

proptest! {
    #[test]
    fn headers_survive(header in any_header(), behind in prop::collection::vec(any::<u8>(), 0..9)) {
        let mut bytes = ArrayVec::new();
        header.encode(&mut bytes);
        prop_assert_eq!(bytes.len(), header.kind.header_len());
        bytes.extend(behind);
        prop_assert_eq!(Header::parse(&bytes), Ok(header));
    }

    #[test]
    fn any_bytes_parse_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
        if let Ok(header) = Header::parse(&bytes) {
            let mut again = ArrayVec::new();
            header.encode(&mut again);
            prop_assert_eq!(&again[..], &bytes[..header.kind.header_len()]);
        }
    }
}

#[test]
fn a_data_frame_of_an_ad_hoc_network_stands_as_in_the_standard() {
    let [to, from, network] = [1, 2, 3].map(|last| MacAddress([2, 0, 0, 0, 0, last]));
    let header = Header {
        flags: Flags::RETRY,
        duration: 0x012c,
        transmitter: from,
        third: network,
        sequence: 0x123,
        fragment: 4,
        ..Header::new(Kind::Data, to)
    };
    let mut bytes = ArrayVec::new();
    header.encode(&mut bytes);
    let expected =
        [8, 8, 0x2c, 1, 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 3, 0x34, 0x12];
    assert_eq!(bytes[..], expected);
    assert_eq!((header.destination(), header.source()), (to, from));
}

#[test]
fn four_addresses_and_other_kinds_are_refused_by_name() {
    let mut bytes = [0; 30];
    bytes[..2].copy_from_slice(&[0x08, 0x03]);
    let refused = Header::parse(&bytes);
    assert_eq!(refused, Err(HeaderError::Field("addresses of a wireless bridge")));
    bytes[0] = 0x88;
    assert_eq!(Header::parse(&bytes), Err(HeaderError::Kind(0x88)));
    assert_eq!(Header::parse(&[0xd4; 9]), Err(HeaderError::Short { have: 9, need: 10 }));
}
