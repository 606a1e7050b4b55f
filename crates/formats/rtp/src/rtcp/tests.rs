use proptest::prelude::*;

use super::*;

fn sender_report() -> RtcpPacket {
    RtcpPacket::Report {
        ssrc: 0x1111_1111,
        sender: Some(SenderInfo {
            ntp: 0xe000_0000_8000_0000,
            timestamp: 90_000,
            packets: 3,
            octets: 600,
        }),
        blocks: vec![ReportBlock {
            ssrc: 0x2222_2222,
            fraction_lost: 64,
            lost: -2,
            highest: 0x0001_0005,
            jitter: 77,
            last_report: 0x1234_5678,
            delay: 65_536,
        }],
    }
}

//= S1.6
#[test]
fn a_sender_report_has_the_layout_of_rfc_3550() {
    let bytes = RtcpPacket::encode_compound(&[sender_report()]);
    let expected = [
        [0x81, 200, 0, 12],
        [0x11; 4],
        [0xe0, 0, 0, 0],
        [0x80, 0, 0, 0],
        [0, 1, 0x5f, 0x90],
        [0, 0, 0, 3],
        [0, 0, 2, 0x58],
        [0x22; 4],
        [64, 0xff, 0xff, 0xfe],
        [0, 1, 0, 5],
        [0, 0, 0, 77],
        [0x12, 0x34, 0x56, 0x78],
        [0, 1, 0, 0],
    ];
    assert_eq!(bytes, expected.concat());
    assert_eq!(RtcpPacket::parse_compound(&bytes), Ok(vec![sender_report()]));
}

#[test]
fn descriptions_and_goodbyes_are_filled_up_to_words() {
    let item = |text: &[u8]| SdesItem { kind: sdes::CNAME, text: text.to_vec() };
    for length in 0..6 {
        let chunk = SourceChunk { ssrc: 5, items: vec![item(&[b'n'; 6][..length])] };
        let packets = vec![
            RtcpPacket::Report { ssrc: 5, sender: None, blocks: Vec::new() },
            RtcpPacket::Description(vec![chunk.clone(), chunk]),
            RtcpPacket::Goodbye { sources: vec![5], reason: Some(b"bye"[..length % 4].to_vec()) },
        ];
        let bytes = RtcpPacket::encode_compound(&packets);
        assert_eq!(bytes.len() % 4, 0);
        let mut read = RtcpPacket::parse_compound(&bytes).unwrap();
        assert_eq!(read.len(), 3);
        assert_eq!(read.remove(1), packets[1]);
    }
}

#[test]
fn a_compound_packet_is_checked_as_appendix_a_2_says() {
    let goodbye = RtcpPacket::Goodbye { sources: vec![1], reason: None };
    let alone = RtcpPacket::encode_compound(std::slice::from_ref(&goodbye));
    assert_eq!(RtcpPacket::parse_compound(&alone), Err(RtpError::NoReport));
    let bytes = RtcpPacket::encode_compound(&[sender_report(), goodbye]);
    assert_eq!(RtcpPacket::parse_compound(&bytes[..bytes.len() - 4]), Err(RtpError::Short));
    let mut padded = bytes.clone();
    padded[0] |= 0x20;
    assert_eq!(RtcpPacket::parse_compound(&padded), Err(RtpError::Padding));
    let mut version = bytes;
    version[0] = 0x41;
    assert_eq!(RtcpPacket::parse_compound(&version), Err(RtpError::Version(1)));
    assert_eq!(RtcpPacket::parse_compound(&[]), Err(RtpError::Short));
}

proptest! {
    #[test]
    fn no_bytes_make_the_parser_panic_and_what_it_reads_stays(
        kinds in prop::collection::vec((195..210_u8, any::<u8>(), 0..12_u8), 1..5),
        noise in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        let mut bytes = Vec::new();
        let mut noise = noise.into_iter();
        for (kind, first, words) in kinds {
            bytes.extend([first & 0x1f | 0x80, kind, 0, words]);
            bytes.extend(noise.by_ref().take(4 * usize::from(words)));
        }
        bytes[1] = 200 + bytes[1] % 2;
        if let Ok(packets) = RtcpPacket::parse_compound(&bytes) {
            let again = RtcpPacket::encode_compound(&packets);
            prop_assert_eq!(RtcpPacket::parse_compound(&again), Ok(packets));
        }
    }
}
