use proptest::prelude::*;
use windfall_wire_link::hdlc::encode_frame;

use super::*;

/// A line with one frame of IPv4 for each packet.
fn line(packets: &[&[u8]], check: HdlcCheck) -> Vec<u8> {
    let mut line = Vec::new();
    for packet in packets {
        encode_frame(&[&[0xff, 3, 0, 0x21], packet], check, Accm::NONE, &mut line);
    }
    line
}

fn receive(deframer: &mut Deframer, line: &[u8], piece: usize) -> Vec<(Vec<u8>, bool)> {
    let mut packets = Vec::new();
    for bytes in line.chunks(piece) {
        deframer.take(bytes, |frame| packets.push((frame.packet.to_vec(), frame.damaged)));
    }
    packets
}

fn deframer(mode: FrameMode) -> Deframer {
    Deframer::new(mode, HdlcCheck::Fcs16, Accm::NONE, 1_500)
}

//= S1.12
#[test]
fn lite_passes_up_a_damaged_payload_that_strict_drops() {
    let mut damaged = line(&[b"abcdefgh", b"second"], HdlcCheck::Fcs16);
    damaged[8] ^= 1;
    let mut strict = deframer(FrameMode::Strict);
    assert_eq!(receive(&mut strict, &damaged, 100), [(b"second".to_vec(), false)]);
    assert_eq!(strict.counts().frame_check, 1);
    let mut lite = deframer(FrameMode::Lite);
    let expected = [(b"abceefgh".to_vec(), true), (b"second".to_vec(), false)];
    assert_eq!(receive(&mut lite, &damaged, 100), expected);
    assert_eq!((lite.counts().frames, lite.counts().damaged), (2, 1));
}

//= S1.12
#[test]
fn damage_to_framing_loses_frames_in_lite_too() {
    let whole = line(&[b"first", b"second", b"third"], HdlcCheck::Fcs16);
    let flags: Vec<usize> = (0..whole.len()).filter(|&i| whole[i] == FLAG).collect();
    // Without the flag between them two packets are one, and neither is what was sent.
    let mut merged = whole.clone();
    merged[flags[1]] ^= 1;
    let packets = receive(&mut deframer(FrameMode::Lite), &merged, 100);
    assert_eq!(packets.len(), 2);
    assert!(packets[0].1 && packets[0].0.len() > 10);
    assert_eq!(packets[1], (b"third".to_vec(), false));
    // A flag out of a data byte cuts a packet in two; the second piece has no address.
    let mut cut = whole.clone();
    cut[flags[1] + 7] = FLAG;
    let packets = receive(&mut deframer(FrameMode::Lite), &cut, 100);
    assert!(packets.iter().all(|(packet, _)| packet != b"second"));
    // An escape before a flag aborts the frame.
    let mut aborted = whole;
    aborted[flags[2] - 1] = 0x7d;
    let mut lite = deframer(FrameMode::Lite);
    let packets = receive(&mut lite, &aborted, 100);
    assert_eq!(packets, [(b"first".to_vec(), false), (b"third".to_vec(), false)]);
    assert_eq!(lite.counts().malformed, 1);
}

//= S1.12
#[test]
fn control_packets_need_their_check_in_lite_too() {
    let mut line = Vec::new();
    encode_frame(&[&[0xff, 3, 0xc0, 0x21, 9, 1, 0, 4]], HdlcCheck::Fcs16, Accm::NONE, &mut line);
    line[7] ^= 4;
    let mut lite = deframer(FrameMode::Lite);
    assert_eq!(receive(&mut lite, &line, 100), []);
    assert_eq!(lite.counts().frame_check, 1);
}

//= S1.11
#[test]
fn a_check_of_32_bits_is_for_packets_and_not_for_control() {
    let mut line = line(&[b"packet"], HdlcCheck::Fcs32);
    encode_frame(&[&[0xff, 3, 0xc0, 0x21, 9, 1, 0, 4]], HdlcCheck::Fcs16, Accm::NONE, &mut line);
    let mut deframer = Deframer::new(FrameMode::Strict, HdlcCheck::Fcs32, Accm::NONE, 1_500);
    assert_eq!(receive(&mut deframer, &line, 9).len(), 2);
}

#[test]
fn a_line_without_flags_takes_bounded_memory() {
    let mut deframer = deframer(FrameMode::Lite);
    for _ in 0..100 {
        assert_eq!(receive(&mut deframer, &[0x55; 1_000], 1_000), []);
    }
    assert!(deframer.begun.len() <= deframer.longest + 1);
    assert_eq!(receive(&mut deframer, &[FLAG], 1), []);
    assert_eq!(deframer.counts().malformed, 1);
}

proptest! {
    #[test]
    fn packets_survive_any_pieces(
        packets in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..60), 1..6),
        piece in 1..40_usize,
        wide: bool,
    ) {
        let check = if wide { HdlcCheck::Fcs32 } else { HdlcCheck::Fcs16 };
        let slices: Vec<&[u8]> = packets.iter().map(Vec::as_slice).collect();
        let mut deframer = Deframer::new(FrameMode::Strict, check, Accm::NONE, 1_500);
        let got = receive(&mut deframer, &line(&slices, check), piece);
        prop_assert_eq!(got, packets.into_iter().map(|it| (it, false)).collect::<Vec<_>>());
    }

    #[test]
    fn any_line_is_taken_without_panic(
        line in prop::collection::vec(prop_oneof![Just(FLAG), Just(0x7d), any::<u8>()], 0..200),
        piece in 1..50_usize,
        map: u32,
    ) {
        for mode in [FrameMode::Strict, FrameMode::Lite] {
            let mut deframer = Deframer::new(mode, HdlcCheck::Fcs16, Accm(map), 64);
            let frames = receive(&mut deframer, &line, piece).len();
            prop_assert!(frames <= line.len());
        }
    }
}

#[test]
fn a_frame_has_begun_when_bytes_have_come_since_the_last_flag() {
    let mut deframer = deframer(FrameMode::Strict);
    let mut within = |bytes: &[u8]| {
        deframer.take(bytes, |_| {});
        deframer.is_within_frame()
    };
    assert!(!within(&[]) && !within(&[0x7e]) && within(&[1]) && within(&[2, 3]));
    assert!(!within(&[4, 0x7e]) && within(&[0x7e, 5]) && !within(&[0x7e, 0x7e]));
}

#[test]
fn a_frame_that_is_shorter_than_its_check_is_malformed() {
    let mut deframer = deframer(FrameMode::Lite);
    // A protocol in one byte, and nothing, or one byte or two behind it.
    for (between, malformed, frames) in [
        (&[0x21][..], 1, 0),
        (&[0x21, 0x45], 2, 0),
        (&[0x80], 3, 0),
        // An empty packet whose check fails, which Lite passes up.
        (&[0x21, 0x45, 0x45], 3, 1),
    ] {
        deframer.take(&[&[0x7e], between, &[0x7e]].concat(), |_| {});
        let counts = deframer.counts();
        assert_eq!((counts.malformed, counts.frames), (malformed, frames), "{between:x?}");
    }
}
