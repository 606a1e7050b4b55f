use core::cell::Cell;

use proptest::collection::vec;
use windfall_base::{Seed, Stream};
use windfall_wire_link::ieee80211::Kind;

use super::super::coding;
use super::super::{CopyLength, SenderCode, put_parity};
use super::*;

thread_local! {
    /// Counts of votes on this thread.
    pub(super) static COUNTS: Cell<usize> = const { Cell::new(0) };
}

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
        let taken = store.take((&mut frame, None), &header, Some(code));
        let made = matches!(taken, Some(Taken::Made(_)));
        if made {
            let [expected, made] = [&whole, &frame].map(|it| it.payload.to_bytes());
            let body = ..expected.len() - MARK_LEN;
            if code == Code::NONE {
                assert_eq!(made[body], expected[body]);
            }
            assert_eq!(made[..1400], expected[..1400]);
            // A copy whose marks name another code stands alone.
            assert!(matches!(taken, Some(Taken::Made(it)) if it <= u32::from(*number) + 1));
        }
        made
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
        let taken = store.take((&mut frame, None), &header, None);
        assert!(!matches!(taken, Some(Taken::Made(_))), "{taken:?}");
        assert!(store.0.len() <= MOST_FRAMES);
    }
    store.forget(MacAddress::of_station(1));
    assert!(store.0.is_empty());
}

/// The frame that carries an increment of attempt `number`, as its sender makes it.
fn further(number: u16, len: usize, increment: Increment) -> Frame {
    let (mut frame, _) = attempt(number, len, increment.code);
    let symbols = symbols_of(increment, &frame);
    frame.payload = [symbols, increment.marks().to_vec()].concat().into();
    frame
}

/// Without odds eight symbols are asked for first, then twice as many each time; what is known to
/// be wrong by the odds decides where they are known.
#[test]
fn further_parity_makes_a_frame_whole_that_came_once() {
    let mut stream = Stream::new(Seed(3), "damage");
    for code in Code::ALL {
        let mut store = CopyStore::default();
        let (whole, header) = attempt(0, 1400, code);
        let mut frame = hit(&whole, 60, &mut stream);
        if coding::repair(&mut frame).is_some() {
            continue;
        }
        let mut taken = store.take((&mut frame, None), &header, Some(code));
        let mut given = 0;
        let mut sent = 0;
        while let Some(Taken::Kept(Some(wanted))) = taken {
            assert!(wanted > given, "{code:?}: {wanted} after {given}");
            let increment = Increment { code, first: given, last: wanted };
            frame = further(sent + 1, 1400, increment);
            sent += 1;
            taken = store.take_increment((&mut frame, None), &header, increment, true);
            given = wanted;
        }
        assert_eq!(taken, Some(Taken::Made(u32::from(sent) + 1)), "{code:?}");
        assert!(sent <= 4);
        assert_eq!(frame.payload.to_bytes()[..1400], whole.payload.to_bytes()[..1400]);
        assert_eq!(frame.trailer[..], frame_check(&[&frame.header, &frame.payload.to_bytes()]));
        assert!(frame.damage.corrected > 8, "{}", frame.damage.corrected);
    }
}

#[test]
fn odds_that_are_known_decide_how_much_parity_is_asked_for() {
    let wanted = |odds: u8, wrong: usize| {
        let mut store = CopyStore::default();
        let (whole, header) = attempt(0, 1400, Code::NONE);
        let mut body = whole.payload.to_bytes().to_vec();
        let mut sure = vec![odds; whole.len()];
        for place in (0..wrong).map(|number| number * 97 % 1400) {
            body[place] ^= 0x11;
            sure[whole.header.len() + place] = 3;
        }
        let mut frame = Frame { payload: body.into(), ..whole };
        store.take((&mut frame, Some(&sure.into())), &header, None)
    };
    // Nearly all bytes are sure: seven are doubtful, at most one of a block.
    assert_eq!(wanted(120, 7), Some(Taken::Kept(Some(1))));
    // One byte in eight is wrong, which no further parity mends as cheaply as a copy.
    assert_eq!(wanted(16, 180), Some(Taken::Kept(None)));
    let middle = wanted(40, 30);
    assert!(matches!(middle, Some(Taken::Kept(Some(2..=4)))), "{middle:?}");
}

#[test]
fn further_parity_that_is_damaged_too_still_helps() {
    let mut stream = Stream::new(Seed(8), "damage");
    let made = (0..20).filter(|_| {
        let mut store = CopyStore::default();
        let (whole, header) = attempt(0, 1400, Code::NONE);
        let mut frame = hit(&whole, 100, &mut stream);
        store.take((&mut frame, None), &header, None);
        // 32 symbols for each block of 176, of which two are wrong about, and of the parity one.
        let increment = Increment { code: Code::NONE, first: 0, last: 4 };
        let mut frame = hit(&further(1, 1400, increment), 100, &mut stream);
        let taken = store.take_increment((&mut frame, None), &header, increment, false);
        matches!(taken, Some(Taken::Made(2)))
    });
    assert!(made.count() >= 18);
}

/// It comes before the copies of the name that it bears, or after them.
#[test]
fn parity_whose_marks_are_lost_does_not_keep_copies_from_being_combined() {
    let mut stream = Stream::new(Seed(5), "damage");
    for first in [false, true] {
        let mut store = CopyStore::default();
        let (whole, header) = attempt(0, 1400, Code::NONE);
        let mut parity = further(1, 1400, Increment { code: Code::NONE, first: 0, last: 4 });
        let mut body = parity.payload.to_bytes().to_vec();
        let end = body.len() - MARK_LEN;
        body[end..].copy_from_slice(&[0x5a; MARK_LEN]);
        parity.payload = body.into();
        let made = (0..9).find(|number| {
            if first == (*number == 0) {
                let taken = store.take((&mut parity.clone(), None), &header, Some(Code::NONE));
                assert!(matches!(taken, Some(Taken::Kept(_))), "{taken:?}");
            }
            let mut copy = hit(&whole, 300, &mut stream);
            let taken = store.take((&mut copy, None), &header, Some(Code::NONE));
            matches!(taken, Some(Taken::Made(_)))
        });
        assert!(made.is_some_and(|number| number <= 4), "{made:?}");
    }
}

#[test]
fn parity_of_what_is_not_held_or_has_another_length_is_of_no_use() {
    let mut store = CopyStore::default();
    let (whole, header) = attempt(0, 900, Code::NONE);
    let increment = Increment { code: Code::NONE, first: 0, last: 1 };
    let mut frame = further(1, 900, increment);
    assert_eq!(store.take_increment((&mut frame, None), &header, increment, true), None);
    let mut copy = hit(&whole, 90, &mut Stream::new(Seed(2), "damage"));
    store.take((&mut copy, None), &header, None);
    let mut other = further(1, 300, increment);
    let taken = store.take_increment((&mut other, None), &header, increment, true);
    assert_eq!(taken, None);
    // The copy is still held.
    let mut right = further(1, 900, Increment { last: 3, ..increment });
    let increment = Increment { last: 3, ..increment };
    let taken = store.take_increment((&mut right, None), &header, increment, true);
    assert_eq!(taken, Some(Taken::Made(2)));
}

proptest::proptest! {
    #[test]
    fn any_increments_are_taken_without_a_panic(
        bytes in vec(proptest::num::u8::ANY, 0..900), len in 0_usize..400,
        first in 0_u8..5, more in 1_u8..5, good in proptest::bool::ANY,
    ) {
        let mut store = CopyStore::default();
        let (mut copy, header) = attempt(0, len, Code::NONE);
        copy.trailer[0] ^= 1;
        store.take((&mut copy, None), &header, None);
        let increment = Increment { code: Code::NONE, first, last: (first + more).min(5) };
        let mut frame = Frame::packet(bytes);
        let _ = store.take_increment((&mut frame, None), &header, increment, good);
    }

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

/// Damaged copies beyond their code: what is made of them, and what is asked for instead, go by one
/// count of the votes.
#[test]
fn votes_are_counted_once_for_each_frame() {
    let mut stream = Stream::new(Seed(2), "damage");
    for code in Code::ALL {
        let mut store = CopyStore::default();
        for number in 0..3 {
            let (whole, header) = attempt(number, 1_400, code);
            let mut frame = hit(&whole, 3, &mut stream);
            let before = COUNTS.get();
            let taken = store.take((&mut frame, None), &header, Some(code));
            assert!(matches!(taken, Some(Taken::Kept(_))), "{code:?}: {taken:?}");
            assert_eq!(COUNTS.get() - before, 1, "{code:?}");
        }
    }
}

#[test]
fn an_increment_is_sent_if_its_frame_is_at_most_half_as_long_as_a_copy() {
    let mut sent = 0;
    let mut not_sent = 0;
    for code in Code::ALL {
        for len in [40, 150, 400, 1_400] {
            for last in 1..=5 {
                let increment = Increment { code, first: 0, last };
                let (mut frame, _) = attempt(0, len, code);
                let copy = CopyLength { header: frame.header.len(), frame: frame.len() };
                put_parity(&mut frame, copy.header, increment);
                let mut sender = SenderCode::new(Some(code));
                sender.increment = Some(increment);
                let is_short = 2 * frame.len() <= copy.frame;
                let expected = is_short.then_some(frame.len());
                assert_eq!(sender.increment_len(copy), expected, "{increment:?} of {len}");
                sent += u32::from(is_short);
                not_sent += u32::from(!is_short);
            }
        }
    }
    assert!(sent > 10 && not_sent > 10, "{sent}, {not_sent}");
}
