use std::collections::VecDeque;

use proptest::prelude::*;
use windfall_base::{Probability, Seed, Stream};
use windfall_wire_link::check::frame_check;

use super::*;

/// Returns the difference of the checks of bytes and of `right`.
fn against(right: &[u8]) -> impl Fn(&[u8]) -> u32 {
    let check = u32::from_le_bytes(frame_check(&[right]));
    move |bytes| u32::from_le_bytes(frame_check(&[bytes])) ^ check
}

fn packet(len: usize) -> Vec<u8> {
    let mut stream = Stream::new(Seed(len as u64), "packet");
    (0..len).map(|_| stream.bits() as u8).collect()
}

/// A copy of `right` of which each bit is inverted with a probability of `rate`.
fn damaged(right: &[u8], rate: f64, air: &mut Stream) -> Vec<u8> {
    let mut copy = right.to_vec();
    let rate = Probability::new(rate).expect("a probability");
    for bit in 0..copy.len() * 8 {
        if air.chance(rate) {
            copy[bit / 8] ^= 0x80 >> (bit % 8);
        }
    }
    copy
}

/// Returns the number of damaged copies from which the packet can be made.
fn attempts(rate: f64, seed: u64) -> usize {
    let right = packet(1_500);
    let wrong = against(&right);
    let mut air = Stream::new(Seed(seed), "air");
    let mut copies = Copies::default();
    for attempt in 1..=99 {
        let new = damaged(&right, rate, &mut air);
        if wrong(&new) == 0 {
            return attempt;
        }
        if let Some(made) = copies.combine(&new, MOST_PIECES, &wrong) {
            assert_eq!(made, right);
            return attempt;
        }
        copies.keep(new);
    }
    99
}

#[test]
fn the_copies_of_packets_that_are_past_make_room_for_others() {
    let mut deliveries = VecDeque::new();
    let mut events = VecDeque::new();
    let mut out = Output { deliveries: &mut deliveries, events: &mut events };
    let right = packet(1_500);
    let mut store = CopyStore::new(1_500);
    let mut take = |store: &mut CopyStore, seq, burst: core::ops::Range<usize>| {
        let mut copy = right.clone();
        copy[burst].iter_mut().for_each(|byte| *byte ^= 0x5a);
        let mismatch = Some(against(&right)(&copy));
        let mut frame = Frame::packet(copy);
        frame.damage.frame = Check::Bad;
        store.take(Seq32(seq), &mut frame, mismatch, &mut out);
        frame.damage.frame == Check::Good
    };
    // There is room for one copy.
    assert!(!take(&mut store, 0, 100..180));
    assert!(!take(&mut store, 1, 100..180));
    assert!(!take(&mut store, 1, 900..980));
    store.forget_before(Seq32(1));
    assert!(!take(&mut store, 1, 100..180));
    assert!(take(&mut store, 1, 900..980));
}

#[test]
fn two_copies_with_errors_in_different_bursts_make_the_packet() {
    let right = packet(1_500);
    let mut copies = Copies::default();
    for burst in [100..180, 900..1_100] {
        let mut copy = right.clone();
        copy[burst].iter_mut().for_each(|byte| *byte ^= 0x5a);
        let made = copies.combine(&copy, MOST_PIECES, against(&right));
        assert_eq!(made.is_some(), copies.bytes() > 0);
        assert!(made.is_none_or(|made| made == right));
        copies.keep(copy);
    }
}

#[test]
fn errors_at_the_same_place_need_a_third_copy() {
    let right = packet(400);
    let copy = |places: [usize; 2]| {
        let mut copy = right.clone();
        places.into_iter().for_each(|at| copy[at] ^= 0x10);
        copy
    };
    let mut copies = Copies::default();
    copies.keep(copy([7, 30]));
    assert_eq!(copies.combine(&copy([7, 200]), MOST_PIECES, against(&right)), None);
    copies.keep(copy([7, 200]));
    // The newest two do not share an error, so the one before is not asked.
    assert_eq!(copies.combine(&copy([9, 300]), MOST_PIECES, against(&right)), Some(right.clone()));
}

#[test]
fn a_majority_of_many_copies_bears_a_bit_error_rate_of_three_per_cent() {
    // Of one copy of 1500 bytes one in 1e159 is whole at this rate.
    let most = (1..=10).map(|seed| attempts(0.03, seed)).max();
    assert!(most.is_some_and(|most| most <= 15), "{most:?}");
}

#[test]
fn combining_takes_fewer_attempts_than_repetition() {
    for (rate, bound) in [(1e-4, 2.1), (3e-4, 2.4), (1e-3, 3.3), (3e-3, 5.2)] {
        let runs = 60;
        let mean = (1..=runs).map(|seed| attempts(rate, seed)).sum::<usize>() as f64 / runs as f64;
        assert!(mean < bound, "{mean} at {rate}");
        // Repetition alone takes one over the probability that no bit is wrong.
        let repetition = (1.0 - rate).powi(-12_000);
        assert!(mean < 0.7 * repetition, "{mean} instead of {repetition} at {rate}");
    }
}

#[test]
fn copies_of_another_length_are_ignored() {
    let right = packet(40);
    let mut copies = Copies::default();
    copies.keep(packet(50));
    copies.keep(right.clone());
    assert_eq!(copies.bytes(), 50);
    assert_eq!(copies.combine(&right, MOST_PIECES, against(&right)), None);
}

proptest! {
    #[test]
    fn any_copies_are_taken_without_panic(
        copies in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..14),
    ) {
        let mut kept = Copies::default();
        for copy in copies {
            let _ = kept.combine(&copy, MOST_PIECES, against(b"right"));
            kept.keep(copy);
            prop_assert!(kept.bytes() <= 40 * 9);
        }
    }
}
