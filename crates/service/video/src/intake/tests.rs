use proptest::prelude::*;
use windfall_rtp::RtpHeader;

use super::*;

/// A sender's packet, and what a path or a stranger makes of it.
fn datagram() -> impl Strategy<Value = Vec<u8>> {
    let packet = |source: u32, kind: u8, sequence: u16, payload: Vec<u8>| {
        let header = RtpHeader {
            marker: sequence.is_multiple_of(2),
            payload_type: kind,
            sequence,
            timestamp: u32::from(sequence) * 900,
            ssrc: source,
        };
        RtpPacket { header, payload: &payload, ..RtpPacket::default() }.encode()
    };
    let sequence = prop_oneof![8 => 0..60_u16, 1 => 65_500..=u16::MAX, 1 => any::<u16>()];
    let kind = prop_oneof![8 => Just(96_u8), 1 => Just(5_u8), 1 => 70..78_u8];
    let source = prop_oneof![8 => Just(7_u32), 4 => 0..30_u32];
    let payload = prop::collection::vec(any::<u8>(), 0..12);
    let rtp = (source, kind, sequence, payload).prop_map(move |(a, b, c, d)| packet(a, b, c, d));
    let flagged = (rtp.clone(), any::<u8>(), any::<u8>()).prop_map(|(mut bytes, flags, last)| {
        bytes[0] = 0x80 | flags & 0x3f;
        *bytes.last_mut().expect("a header") = last;
        bytes
    });
    prop_oneof![8 => rtp, 2 => flagged, 1 => prop::collection::vec(any::<u8>(), 0..30)]
}

proptest! {
    //= S1.8
    #[test]
    fn every_datagram_is_received_or_discarded_under_a_name(
        datagrams in prop::collection::vec(datagram(), 1..300),
        payload_type in prop_oneof![Just(None), Just(Some(96))],
    ) {
        let time = VideoTime::start();
        let mut intake =
            Intake::new(VideoCodec::H264, payload_type, Duration::from_millis(100));
        for (at, bytes) in datagrams.iter().enumerate() {
            let now = Instant::START + Duration::from_millis(at as u64 * 10);
            intake.take(&time, now, bytes);
            if let Some(busiest) = intake.busiest() {
                intake.play(busiest, now, Duration::from_secs(60));
            }
        }
        let all = datagrams.len() as u64;
        let Some(busiest) = intake.busiest() else {
            prop_assert_eq!(intake.outside(), all);
            return Ok(());
        };
        let (session, discards) = intake.finish(busiest).expect("it is heard");
        let distinct = u64::from(session.statistics.total_distinct());
        let not_received = discards.copies + discards.far + discards.other_sources;
        prop_assert_eq!(distinct + not_received + discards.outside(), all, "{:?}", discards);
        let unused = discards.late + discards.overflow + discards.malformed;
        prop_assert!(unused <= distinct, "{:?} of {}", discards, distinct);
    }
}

#[test]
fn what_no_stream_is_made_of_is_named_by_its_reason() {
    let time = VideoTime::start();
    let mut intake = Intake::new(VideoCodec::H264, None, Duration::ZERO);
    let packet = |first: u8, kind: u8, source: u8, rest: &[u8]| {
        [&[first, kind, 0, 1, 0, 0, 0, 0, 0, 0, 0, source][..], rest].concat()
    };
    for datagram in [
        packet(0x80, 96, 1, &[0x65, 1, 2]),
        // Another source, and another payload type.
        packet(0x80, 96, 2, &[0x65, 1, 2]),
        packet(0x80, 97, 1, &[0x65, 1, 2]),
        // Fifteen contributing sources, an extension without a length, and one of 400 bytes.
        packet(0x8f, 96, 1, &[0; 59]),
        packet(0x90, 96, 1, &[0xbe, 0xde, 0]),
        packet(0x90, 96, 1, &[0xbe, 0xde, 0, 100, 1, 2, 3, 4]),
        // Padding of no bytes, of more than there are, and of none that is there.
        packet(0xa0, 96, 1, &[0x65, 0]),
        packet(0xa0, 96, 1, &[0x65, 3]),
        packet(0xa0, 96, 1, &[]),
        // Nothing, a cut header, another version, and RTCP.
        Vec::new(),
        packet(0x80, 96, 1, &[])[..11].to_vec(),
        packet(0x40, 96, 1, &[0x65]),
        packet(0x80, 200, 1, &[0; 16]),
    ] {
        intake.take(&time, Instant::START, &datagram);
    }
    let (_, found) = intake.finish(1).expect("it is heard");
    let wanted = VideoDiscards {
        other_sources: 1,
        other_types: 1,
        cut_headers: 3,
        bad_padding: 3,
        strangers: 4,
        ..VideoDiscards::default()
    };
    assert_eq!(found, wanted);
}
