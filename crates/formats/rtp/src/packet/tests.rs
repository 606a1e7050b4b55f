use proptest::prelude::*;

use super::*;

//= S1.6
#[test]
fn the_fields_stand_where_rfc_3550_has_them() {
    // Marker, type 96, sequence 0x1234, timestamp 0x01020304, source 0xdeadbeef, two contributing
    // sources, an extension of one word, and two bytes of padding.
    let bytes = [
        0xb2, 0xe0, 0x12, 0x34, 1, 2, 3, 4, 0xde, 0xad, 0xbe, 0xef, 0, 0, 0, 7, 0, 0, 0, 9, 0xbe,
        0xde, 0, 1, 5, 6, 7, 8, b'd', b'a', b't', b'a', 0, 2,
    ];
    let packet = RtpPacket::parse(&bytes).unwrap();
    let header = RtpHeader {
        marker: true,
        payload_type: 96,
        sequence: 0x1234,
        timestamp: 0x0102_0304,
        ssrc: 0xdead_beef,
    };
    assert_eq!(packet.header, header);
    assert_eq!(packet.contributing, [0, 0, 0, 7, 0, 0, 0, 9]);
    assert_eq!(packet.extension, Some(RtpExtension { profile: 0xbede, data: &[5, 6, 7, 8] }));
    assert_eq!((packet.payload, packet.padding), (&b"data"[..], 2));
    assert_eq!(packet.encode(), bytes);
}

#[test]
fn malformed_packets_are_refused_by_name() {
    let plain = RtpPacket { payload: b"x", ..RtpPacket::default() }.encode();
    assert_eq!(RtpPacket::parse(&plain[..11]), Err(RtpError::Short));
    let with = |at: usize, byte: u8| {
        let mut bytes = plain.clone();
        bytes[at] = byte;
        bytes
    };
    assert_eq!(RtpPacket::parse(&with(0, 0x40)), Err(RtpError::Version(1)));
    assert_eq!(RtpPacket::parse(&with(0, 0x81)), Err(RtpError::Contributing));
    assert_eq!(RtpPacket::parse(&with(0, 0x90)), Err(RtpError::Extension));
    // The last byte, 'x', would be the count of the padding.
    assert_eq!(RtpPacket::parse(&with(0, 0xa0)), Err(RtpError::Padding));
    let mut none = with(0, 0xa0);
    none[12] = 0;
    assert_eq!(RtpPacket::parse(&none), Err(RtpError::Padding));
}

proptest! {
    #[test]
    fn what_is_parsed_is_encoded_so_that_it_reads_the_same(
        mut bytes in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        if let Some(first) = bytes.first_mut() {
            *first = *first & 0x3f | 0x80;
        }
        if let Ok(packet) = RtpPacket::parse(&bytes) {
            let again = packet.encode();
            prop_assert_eq!(again.len(), bytes.len());
            prop_assert_eq!(RtpPacket::parse(&again), Ok(packet));
        }
    }
}
