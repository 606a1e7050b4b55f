use proptest::prelude::*;
use windfall_base::{Seed, Stream};

use super::*;

/// A frame as a station sends it, of `len` bytes behind a header of 32.
fn coded(len: usize, code: Code) -> (Frame, Frame) {
    let mut frame = Frame::packet((0..len).map(|at| (at * 7) as u8).collect::<Vec<_>>());
    frame.header.extend((0..32).map(|at| at as u8 ^ 0x5a));
    let plain = frame.clone();
    append(&mut frame, code);
    let [a, b, c, _] = frame.slices();
    let check = frame_check(&[a, b, c]);
    frame.trailer.extend(check);
    (plain, frame)
}

/// The frame with `count` bytes of header, body and frame check inverted, wherever they fall.
fn damaged(frame: &Frame, count: usize, seed: u64) -> Frame {
    let mut stream = Stream::new(Seed(seed), "damage");
    let mut bytes = frame.slices().concat();
    let mut places: Vec<usize> = (0..bytes.len()).collect();
    for _ in 0..count {
        let place = places.swap_remove(stream.below(places.len() as u64) as usize);
        bytes[place] ^= 1 + stream.below(255) as u8;
    }
    let mut damaged = Frame::packet(bytes[32..bytes.len() - 4].to_vec());
    damaged.header.extend(bytes[..32].iter().copied());
    damaged.trailer.extend(bytes[bytes.len() - 4..].iter().copied());
    damaged
}

#[test]
fn a_frame_is_as_much_longer_as_its_code_says_and_loses_it_again() {
    for code in Code::ALL {
        for len in [0, 1, 100, 1500, 2200] {
            let (plain, frame) = coded(len, code);
            assert_eq!(frame.payload.len(), len + code.overhead(32 + len));
            let mut back = frame.clone();
            assert!(take_off(&mut back, 0));
            assert_eq!(back.payload.to_bytes(), plain.payload.to_bytes());
        }
    }
}

#[test]
fn damage_anywhere_in_a_frame_is_corrected_and_counted() {
    for code in Code::ALL.into_iter().skip(1) {
        let (plain, frame) = coded(1500, code);
        // As many as a block corrects are always corrected, wherever they fall.
        let count = code.parity() / 2;
        let mut hit = damaged(&frame, count, 5);
        let worst = repair(&mut hit).expect("within the code");
        assert!((1..=count).contains(&usize::from(worst)));
        assert!(hit.damage.corrected as usize <= count, "the frame check may be hit too");
        assert_eq!((&hit.header, &hit.trailer), (&frame.header, &frame.trailer));
        assert!(take_off(&mut hit, 0));
        assert_eq!(hit.payload.to_bytes(), plain.payload.to_bytes());
    }
}

#[test]
fn a_burst_hits_all_blocks_alike() {
    let code = Code::ALL[2];
    let (_, frame) = coded(1500, code);
    let mut bytes = frame.payload.to_bytes().to_vec();
    // Seven blocks of which each corrects eight symbols.
    bytes[200..256].iter_mut().for_each(|byte| *byte ^= 0xff);
    let mut hit = frame.clone();
    hit.payload = bytes.clone().into();
    assert_eq!(repair(&mut hit), Some(8));
    bytes[256] ^= 0xff;
    let mut hit = frame;
    hit.payload = bytes.into();
    let before = hit.clone();
    assert_eq!(repair(&mut hit), None);
    assert_eq!(hit, before);
}

#[test]
fn lost_marks_cost_nothing_where_there_is_parity() {
    let (_, frame) = coded(700, Code::ALL[3]);
    let mut bytes = frame.payload.to_bytes().to_vec();
    let len = bytes.len();
    bytes[len - 3..].copy_from_slice(&[1, 1, 9]);
    let mut hit = frame.clone();
    hit.payload = bytes.into();
    assert_eq!(repair(&mut hit), Some(0));
    assert_eq!(hit.payload.to_bytes(), frame.payload.to_bytes());
}

#[test]
fn names_of_policies_read_back() {
    for name in ["joint", "parity-0", "parity-8", "parity-16", "parity-32", "parity-64"] {
        assert_eq!(name.parse::<RadioPolicy>().map(|it| it.to_string()).as_deref(), Ok(name));
    }
    for name in ["flex", "parity-7", "parity", "Joint", ""] {
        let error = name.parse::<RadioPolicy>().expect_err("no policy").to_string();
        assert!(error.contains(name) && error.contains("parity-0"), "{error}");
    }
}

proptest! {
    #[test]
    fn any_bytes_are_refused_or_repaired_without_a_panic(
        header in prop::collection::vec(any::<u8>(), 0..60),
        body in prop::collection::vec(any::<u8>(), 0..2400),
        trailer in prop::collection::vec(any::<u8>(), 0..8),
    ) {
        let mut frame = Frame::packet(body);
        frame.header.extend(header);
        frame.trailer.extend(trailer);
        let len = frame.payload.len();
        if repair(&mut frame).is_none() {
            prop_assert_eq!(frame.payload.len(), len);
        }
        let _ = take_off(&mut frame, 0);
        prop_assert!(frame.payload.len() <= len);
    }

    #[test]
    fn what_is_corrected_is_what_was_sent(
        len in 0_usize..2000, code in 1_usize..5, share in 0_usize..200, seed in any::<u64>(),
    ) {
        let code = Code::ALL[code];
        let (plain, frame) = coded(len, code);
        let all = frame.slices().concat().len();
        let mut hit = damaged(&frame, all * share / 1000, seed);
        if repair(&mut hit).is_some() {
            prop_assert!(take_off(&mut hit, 0));
            prop_assert_eq!(hit.payload.to_bytes(), plain.payload.to_bytes());
            prop_assert_eq!(&hit.header, &plain.header);
        }
    }
}
