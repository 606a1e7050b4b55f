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

#[test]
fn a_kind_is_management_control_or_data() {
    for kind in Kind::ALL {
        // Bits 2 and 3 of frame control (802.11, table 9-1).
        let expected = match kind {
            Kind::PsPoll | Kind::Rts | Kind::Cts | Kind::Ack => (false, true),
            Kind::Data | Kind::Null => (false, false),
            _ => (true, false),
        };
        assert_eq!((kind.is_management(), kind.is_control()), expected, "{kind:?}");
    }
}

#[test]
fn groups_and_stations_have_addresses_of_their_own() {
    assert!(MacAddress::BROADCAST.is_group());
    assert!(MacAddress([0x01, 0, 0x5e, 0, 0, 1]).is_group());
    let station = MacAddress::of_station(0x0102);
    assert!(!station.is_group());
    assert_eq!(station.to_string(), "02:77:69:6e:01:02");
}

#[test]
fn flags_are_set_one_by_one() {
    let both = Flags::RETRY.with(Flags::PROTECTED, true);
    assert_eq!(both.with(Flags::TO_DS, false), both);
    assert!(both.has(Flags::RETRY) && both.has(Flags::PROTECTED) && !both.has(Flags::TO_DS));
    assert_eq!(both.0, Flags::RETRY.0 + Flags::PROTECTED.0);
}
