use proptest::prelude::*;
use windfall_rtp::{RtpHeader, SenderInfo};

use super::*;

fn from(place: u8) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, place], 5_004))
}

/// The place of the sender for most datagrams, and of others.
fn place() -> impl Strategy<Value = u8> {
    prop_oneof![4 => Just(1_u8), 1 => 1..4_u8]
}

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
        datagrams in prop::collection::vec((place(), datagram()), 1..300),
        payload_type in prop_oneof![Just(None), Just(Some(96))],
    ) {
        let time = VideoTime::start();
        let mut intake =
            Intake::new(VideoCodec::H264, payload_type, Duration::from_millis(100));
        for (at, (place, bytes)) in datagrams.iter().enumerate() {
            let now = Instant::START + Duration::from_millis(at as u64 * 10);
            intake.take(&time, now, from(*place), bytes);
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
        intake.take(&time, Instant::START, from(1), &datagram);
    }
    let (_, found) = intake.finish(1).expect("it is heard");
    let wanted = VideoDiscards {
        other_sources: 1,
        other_types: 1,
        cut_headers: 3,
        bad_padding: 3,
        rtcp: 1,
        strangers: 3,
        ..VideoDiscards::default()
    };
    assert_eq!(found, wanted);
}

#[test]
fn a_source_that_changes_its_payload_type_is_heard_on_and_repairs_are_not() {
    let of_type = |kind: u8, sequence: u16| {
        let mut packet = of_seven(sequence);
        packet[1] = kind;
        packet
    };
    let run = |payload_type, kinds: &[u8]| {
        let time = VideoTime::start();
        let mut intake = Intake::new(VideoCodec::H264, payload_type, Duration::from_millis(100));
        for (number, kind) in kinds.iter().enumerate() {
            let now = Instant::START + Duration::from_millis(number as u64 * 10);
            intake.take(&time, now, from(1), &of_type(*kind, number as u16));
            // Another address changes nothing.
            intake.take(&time, now, from(2), &of_type(98, number as u16));
        }
        let (session, discards) = intake.finish(7).expect("it is heard");
        (session.statistics.total_distinct(), discards.other_types - kinds.len() as u64)
    };
    let changed = [[96; 50], [97; 50]].concat();
    assert_eq!(run(None, &changed), (85, 15));
    assert_eq!(run(Some(96), &changed), (50, 50));
    // Fifteen repairs after each packet.
    let repaired: Vec<u8> = (0..160).map(|at| if at % 16 == 0 { 96 } else { 97 }).collect();
    assert_eq!(run(None, &repaired), (10, 150));
}

/// A packet of the source 7.
fn of_seven(sequence: u16) -> Vec<u8> {
    let header = RtpHeader {
        payload_type: 96,
        sequence,
        timestamp: u32::from(sequence) * 900,
        ssrc: 7,
        ..RtpHeader::default()
    };
    RtpPacket { header, payload: &[0x41, 1], ..RtpPacket::default() }.encode()
}

fn hearing() -> (VideoTime, Intake) {
    (VideoTime::start(), Intake::new(VideoCodec::H264, None, Duration::from_millis(100)))
}

#[test]
fn packets_of_a_third_party_with_the_identifier_of_a_source_are_not_its_own() {
    for (name, third) in [
        ("another host", SocketAddr::from(([10, 0, 0, 9], 5_004))),
        ("another port", SocketAddr::from(([10, 0, 0, 1], 5_006))),
        ("another family", SocketAddr::from(([0, 0, 0, 0, 0, 0, 0, 1], 5_004))),
    ] {
        // Numbers as in a loop, the next ones, and others, as often as the source's own.
        for forge in [|own: u16| own, |own| own + 1, |own| 30_000 + own] {
            let (time, mut intake) = hearing();
            for number in 0..300 {
                let now = Instant::START + Duration::from_millis(u64::from(number) * 10);
                intake.take(&time, now, from(1), &of_seven(number));
                intake.take(&time, now, third, &of_seven(forge(number)));
            }
            let (session, discards) = intake.finish(7).expect("it is heard");
            let statistics = &session.statistics;
            assert_eq!((statistics.total_distinct(), statistics.total_missing()), (300, 0));
            let wanted = VideoDiscards { other_sources: 300, ..VideoDiscards::default() };
            assert_eq!(discards, wanted, "{name}");
        }
    }
}

#[test]
fn a_source_goes_on_from_another_address_once_the_first_has_fallen_silent() {
    for (silence, taken) in [(0, 0), (1_900, 0), (2_100, 100), (20_000, 100)] {
        let (time, mut intake) = hearing();
        let at = |ms: u64| Instant::START + Duration::from_millis(ms);
        for number in 0..100 {
            intake.take(&time, at(u64::from(number)), from(1), &of_seven(number));
        }
        for number in 100..200_u16 {
            // All of them within the time of which the first is.
            intake.take(&time, at(99 + silence), from(2), &of_seven(number));
        }
        // The first address is the third party then.
        intake.take(&time, at(100 + silence), from(1), &of_seven(200));
        let (session, discards) = intake.finish(7).expect("it is heard");
        let own = if taken == 0 { 101 } else { 200 };
        assert_eq!(session.statistics.total_distinct(), own, "after {silence} ms");
        assert_eq!(discards.other_sources, 201 - u64::from(own), "after {silence} ms");
    }
}

#[test]
fn reports_and_goodbyes_of_a_source_come_from_its_own_address() {
    let (time, mut intake) = hearing();
    let info = SenderInfo { ntp: 9 << 32, packets: 1, ..SenderInfo::default() };
    let report = RtcpPacket::Report { ssrc: 7, sender: Some(info), blocks: vec![] };
    let goodbye = RtcpPacket::Goodbye { sources: vec![7], reason: None };
    let [own, third] = [1, 9].map(|place| from(place).ip());
    intake.take_reports(third, std::slice::from_ref(&report));
    intake.take(&time, Instant::START, from(1), &of_seven(1));
    let later = Instant::START + Duration::from_secs(1);
    assert!(intake.take_reports(third, &[report.clone(), goodbye.clone()]).is_empty());
    assert!(!intake.play(7, later, Duration::from_secs(60)));
    assert_eq!(intake.take_reports(own, &[report, goodbye]).len(), 1);
    assert!(intake.play(7, later, Duration::from_secs(60)));
    assert_eq!(intake.finish(7).expect("it is heard").0.delay(), None);
}
