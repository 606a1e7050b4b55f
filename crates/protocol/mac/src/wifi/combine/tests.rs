use proptest::collection::vec;
use windfall_base::{Seed, Stream};
use windfall_wire_link::ieee80211::Kind;

use super::super::coding;
use super::*;

/// Attempt `number` at a data frame of `len` random bytes.
fn attempt(number: u16, len: usize, code: Code) -> (Frame, Header) {
    let mut stream = Stream::new(Seed(4), "body");
    let mut frame = Frame::packet((0..len).map(|_| stream.bits() as u8).collect::<Vec<_>>());
    let header = Header {
        flags: Flags::default().with(Flags::RETRY, number > 0),
        duration: 44 + number / 2,
        transmitter: MacAddress::of_station(1),
        sequence: 77,
        ..Header::new(Kind::Data, MacAddress::of_station(2))
    };
    header.encode(&mut frame.header);
    coding::append(&mut frame, code);
    let [a, b, c, _] = frame.slices();
    let check = frame_check(&[a, b, c]);
    frame.trailer.extend(check);
    (frame, header)
}

/// The frame with each byte behind its header wrong with probability 1 of `rarity`.
fn hit(frame: &Frame, rarity: u64, stream: &mut Stream) -> Frame {
    let mut body = frame.payload.to_bytes().to_vec();
    for byte in &mut body {
        if stream.below(rarity) == 0 {
            *byte ^= 1 + stream.below(255) as u8;
        }
    }
    Frame { payload: body.into(), ..frame.clone() }
}

/// Attempts until the frame is made, at most `most`.
fn attempts(code: Code, rarity: u64, most: u16, stream: &mut Stream) -> Option<u16> {
    let mut store = CopyStore::default();
    (0..most).find(|number| {
        let (whole, header) = attempt(*number, 1400, code);
        let mut frame = hit(&whole, rarity, stream);
        let copies = store.take((&mut frame, None), &header, Some(code));
        if copies.is_some() {
            let [expected, made] = [&whole, &frame].map(|it| it.payload.to_bytes());
            let body = ..expected.len() - MARK_LEN;
            if code == Code::NONE {
                assert_eq!(made[body], expected[body]);
            }
            assert_eq!(made[..1400], expected[..1400]);
            // A copy whose marks name another code stands alone.
            assert!(copies.is_some_and(|it| it <= u32::from(*number) + 1));
        }
        copies.is_some()
    })
}

#[test]
fn attempts_that_differ_in_flag_and_duration_are_alike_but_for_damage() {
    for code in Code::ALL {
        let word = |number| {
            let (frame, _) = attempt(number, 900, code);
            let [a, b, c, d] = frame.slices();
            Word::read([a, b, c].concat(), d, None, code).expect("a length of frames")
        };
        let first = word(0);
        assert_eq!(first.mismatch(&first.bytes), 0);
        for number in 1..4 {
            assert_eq!(word(number).bytes, first.bytes, "{code:?}");
        }
    }
}

/// With parity 16 in seven blocks of some 220 bytes, a copy with one wrong byte in twelve has 18
/// wrong symbols in a block, far beyond the 8 that it corrects. Two copies differ in 36 places.
/// Of three, 4 symbols of a block are wrong in two or more, which is within the code.
#[test]
fn three_copies_of_which_none_is_near_its_code_are_enough() {
    let mut stream = Stream::new(Seed(9), "damage");
    let all: Vec<_> = (0..20).map(|_| attempts(Code::ALL[2], 12, 5, &mut stream)).collect();
    assert!(all.iter().all(|it| matches!(it, Some(2 | 3))), "{all:?}");
}

#[test]
fn two_copies_without_parity_are_mixed_and_three_vote() {
    let mut stream = Stream::new(Seed(9), "damage");
    let two: Vec<_> = (0..20).map(|_| attempts(Code::NONE, 700, 3, &mut stream)).collect();
    let early = two.iter().filter(|it| **it == Some(1)).count();
    assert!(early > 10 && two.iter().all(Option::is_some), "{two:?}");
    let three: Vec<_> = (0..20).map(|_| attempts(Code::NONE, 100, 9, &mut stream)).collect();
    assert!(three.iter().all(Option::is_some), "{three:?}");
}

#[test]
fn frames_of_other_numbers_are_not_mixed_and_what_is_kept_is_bounded() {
    let mut store = CopyStore::default();
    let mut stream = Stream::new(Seed(1), "damage");
    for sequence in 0..40 {
        let (whole, header) = attempt(0, 300, Code::ALL[1]);
        let mut frame = hit(&whole, 4, &mut stream);
        let header = Header { sequence, ..header };
        assert_eq!(store.take((&mut frame, None), &header, None), None);
        assert!(store.0.len() <= MOST_FRAMES);
    }
    store.forget(MacAddress::of_station(1));
    assert!(store.0.is_empty());
}

proptest::proptest! {
    #[test]
    fn any_frames_are_taken_without_a_panic(
        frames in vec(vec(proptest::num::u8::ANY, 0..900), 1..4),
        code in 0_usize..5, trailer in 0_usize..8,
    ) {
        let mut store = CopyStore::default();
        let (_, header) = attempt(0, 0, Code::NONE);
        for bytes in frames {
            let mut frame = Frame::packet(bytes);
            frame.trailer.extend([0; 8].into_iter().take(trailer));
            let _ = store.take((&mut frame, None), &header, Some(Code::ALL[code]));
        }
    }
}
