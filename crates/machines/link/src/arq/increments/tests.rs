use std::collections::VecDeque;

use windfall_base::seq::Seq32;
use windfall_base::{Check, Frame, PacketEvent, PacketEventKind, Seed, Stream};
use windfall_wire_link::pipe::IncrementPart;

use super::*;
use crate::output::Output;

fn packet(len: usize, seed: u64) -> Vec<u8> {
    let mut stream = Stream::new(Seed(seed), "packet");
    (0..len).map(|_| stream.bits() as u8).collect()
}

/// The parity of the first `level` places, damaged at every `wrong`th symbol.
fn parity(bytes: &[u8], level: usize, wrong: usize) -> Vec<Option<u8>> {
    let all = parity_of(&bytes.to_vec().into());
    let sent = level * blocks(bytes.len());
    let damaged = |(at, symbol): (usize, u8)| {
        let error = if at % wrong == wrong - 1 { 0x55 } else { 0 };
        (at < sent).then_some(symbol ^ error)
    };
    all.into_iter().enumerate().map(damaged).collect()
}

#[test]
fn a_packet_has_as_few_blocks_as_have_room_and_all_its_bytes_are_in_one() {
    for len in [1, 20, 123, 124, 250, 251, 1_500, 65_531] {
        let blocks = blocks(len);
        assert_eq!((0..blocks).map(|block| data_len(len, block)).sum::<usize>(), len + CHECK_LEN);
        assert!((0..blocks).all(|block| (1..=DATA).contains(&data_len(len, block))), "{len}");
        assert!(blocks == 1 || (len + CHECK_LEN) > (blocks - 1) * DATA);
    }
}

/// An independent count: a block with *e* wrong symbols needs 2 *e* parity symbols, and one more
/// for each symbol of the check that it holds.
#[test]
fn a_copy_is_put_right_by_twice_as_many_symbols_as_are_wrong_in_a_block() {
    for (len, errors) in [(40, 3), (123, 7), (1_500, 4), (1_500, 30)] {
        let right = packet(len, errors as u64);
        let mut copy = right.clone();
        // All errors in the last block, which holds no more than one symbol of the check if there
        // are several blocks, and all four if it is the only one.
        let block = blocks(len) - 1;
        (0..errors).for_each(|n| copy[block + n * blocks(len)] ^= 0xff);
        let of_check = (len..len + CHECK_LEN).filter(|at| at % blocks(len) == block).count();
        let need = 2 * errors + of_check;
        assert_eq!(decode(&copy, None, &parity(&right, need, usize::MAX)), Some(right.clone()));
        assert_eq!(decode(&copy, None, &parity(&right, need - 1, usize::MAX)), None);
    }
}

#[test]
fn damaged_parity_counts_and_places_at_which_two_copies_differ_are_erasures() {
    let right = packet(1_000, 9);
    let damage = |seed: u64| {
        let mut stream = Stream::new(Seed(seed), "damage");
        let mut copy = right.clone();
        copy.iter_mut().for_each(|byte| *byte ^= u8::from(stream.below(4) == 0));
        copy
    };
    let first = damage(1);
    let second = damage(2);
    // A quarter of some 125 symbols of each block is wrong: 62 parity symbols, and more where the
    // parity itself is damaged or a block has more errors than others.
    assert_eq!(decode(&first, None, &parity(&right, 120, 40)), Some(right.clone()));
    assert_eq!(decode(&first, None, &parity(&right, 40, 40)), None);
    // What both have wrong, at the same places and alike, is an error yet, the rest an erasure.
    let most = |wrong: &dyn Fn(usize) -> usize| {
        let of_block = |block| (block..1_000).step_by(blocks(1_000)).map(wrong).sum::<usize>();
        (0..blocks(1_000)).map(of_block).max().unwrap_or_default() + 1
    };
    let alone = most(&|at| 2 * usize::from(second[at] != right[at]));
    let both = most(&|at| match (first[at] != right[at], second[at] != right[at]) {
        (true, true) => 2,
        (false, false) => 0,
        _ => 1,
    });
    for (earlier, need) in [(None, alone), (Some(&first[..]), both)] {
        let made = |level| decode(&second, earlier, &parity(&right, level, usize::MAX));
        assert_eq!(made(need), Some(right.clone()), "{need}");
    }
    assert!(both < alone || decode(&second, None, &parity(&right, both, usize::MAX)).is_some());
}

#[test]
fn the_first_increment_is_what_was_enough_before_and_copies_go_where_nothing_is() {
    let mut choice = Choice::default();
    assert!(choice.first(1_500, 0.0).is_some_and(|level| level <= 1));
    (0..100).for_each(|_| choice.note_enough(Some(3)));
    assert_eq!(choice.first(1_500, 0.0), Some(3));
    (0..100).for_each(|_| choice.note_enough(Some(0)));
    assert_eq!(choice.first(1_500, 0.0), Some(0));
    // Damage beyond all parity, while every second copy arrives.
    (0..100).for_each(|_| choice.note_enough(None));
    let tries = (0..64).filter(|_| choice.first(1_500, 0.0).is_some()).count();
    assert_eq!(tries, 2, "one in thirty-two finds out whether it is so still");
    // What is to be as sure as most copies are takes more than what is cheapest.
    assert_eq!(Choice::default().first(1_500, 0.0), Some(0));
    assert_eq!(Choice::default().first(1_500, 0.6), Some(1));
    // Parity of a packet that is shorter than it is a copy that is longer.
    assert_eq!(Choice::default().first(4, 0.0), None);
    assert!((0..LEVELS.len()).all(|level| !fits(4, 0, LEVELS[level])));
}

#[test]
fn with_few_attempts_one_packet_tries_parity_until_it_was_enough() {
    let mut choice = Choice::default();
    assert!(choice.has_room() && !choice.is_trusted());
    choice.count_under_way(true);
    assert!(!choice.has_room(), "what is under way is not known to be enough");
    choice.count_under_way(false);
    (0..9).for_each(|_| choice.note_enough(Some(0)));
    (0..9).for_each(|_| choice.count_under_way(true));
    assert!(choice.has_room() && choice.is_trusted());
    // One that needed more undoes two that did not.
    choice.note_more(0);
    assert!(!choice.has_room() && choice.is_trusted());
    (0..4).for_each(|_| choice.note_more(0));
    assert!(!choice.is_trusted());
}

#[test]
fn a_level_that_was_not_enough_says_that_more_is_needed_and_not_how_much() {
    let mut choice = Choice::default();
    let before = choice.reaches(1, 1);
    choice.note_more(0);
    assert!((choice.reaches(1, 1) - before).abs() < 1e-9, "of those that need more as many");
    assert!(choice.reaches(0, 0) < 0.2, "of 0.4 before");
    // Damage beyond all parity, while two copies of five arrive: nothing is worth a copy, and
    // trials that fail become rare.
    (0..200).for_each(|nth| choice.note_copy(nth % 5 < 2));
    let mut tries = 0;
    for _ in 0..4_000 {
        if let Some(level) = choice.first(1_500, choice.least()) {
            choice.note_more(level);
            tries += 1;
        }
    }
    assert!(tries < 40, "{tries}");
    // Once parity is enough again, that is found.
    for _ in 0..20_000 {
        if choice.first(1_500, choice.least()).is_some() {
            choice.note_enough(Some(0));
        }
    }
    assert!(choice.first(1_500, choice.least()).is_some());
}

/// A store, and what it has reported.
struct Kept {
    store: IncrementStore,
    events: VecDeque<PacketEvent>,
}

impl Kept {
    fn new(room: usize) -> Self {
        Self { store: IncrementStore::new(room), events: VecDeque::new() }
    }

    /// Takes a copy whose bytes at these places are wrong.
    fn take_copy(&mut self, seq: u32, right: &[u8], wrong: &[usize]) -> Increment {
        let mut copy = right.to_vec();
        wrong.iter().for_each(|at| copy[*at] ^= 0xff);
        let mut out = Output { deliveries: &mut VecDeque::new(), events: &mut self.events };
        self.store.take_copy(Seq32(seq), &Frame::packet(copy), &mut out)
    }

    /// Takes `count` symbols of the parity of each block from `first` on, of which the frame has
    /// `bytes`.
    fn take_parity(&mut self, seq: u32, part: IncrementPart, bytes: Vec<u8>) -> Increment {
        let mut frame = Frame::packet(bytes);
        frame.damage.frame = Check::Good;
        let mut out = Output { deliveries: &mut VecDeque::new(), events: &mut self.events };
        self.store.take_parity(Seq32(seq), part, &frame, &mut out)
    }
}

#[test]
fn a_packet_is_made_of_its_copies_and_its_parity_and_says_of_how_many() {
    let right = packet(300, 1);
    let mut kept = Kept::new(10_000);
    assert!(matches!(kept.take_copy(7, &right, &[10]), Increment::Kept));
    assert!(matches!(kept.take_copy(7, &right, &[20]), Increment::Kept));
    let part = IncrementPart { packet: 300, first: 0, count: 8 };
    let parity = parity_of(&right.clone().into())[..8 * blocks(300)].to_vec();
    let Increment::Made(made) = kept.take_parity(7, part, parity) else {
        panic!("eight symbols suffice for one wrong byte in a block");
    };
    assert_eq!(made.payload.to_bytes()[..], right[..]);
    assert_eq!((made.damage.frame, made.damage.corrected), (Check::Good, 1));
    let kinds: Vec<_> = kept.events.iter().map(|event| event.kind.clone()).collect();
    assert_eq!(kinds, [PacketEventKind::Combined { copies: 3 }]);
}

/// A place at which the last two copies differ is an erasure, which takes one symbol of parity in
/// place of two.
#[test]
fn the_copy_before_the_newest_tells_where_the_newest_is_wrong() {
    let right = packet(300, 1);
    let parity = parity_of(&right.clone().into())[..8 * blocks(300)].to_vec();
    let part = IncrementPart { packet: 300, first: 0, count: 8 };
    // Six wrong bytes in the first block, and none there in the other copy.
    let wrong: Vec<usize> = (0..6).map(|nth| nth * blocks(300)).collect();
    for (earlier, is_made) in [(&[][..], false), (&[&wrong[..]], false), (&[&[1]], true)] {
        let mut kept = Kept::new(10_000);
        for wrong in earlier.iter().chain(&[&wrong[..]]) {
            assert!(matches!(kept.take_copy(7, &right, wrong), Increment::Kept));
        }
        let made = matches!(kept.take_parity(7, part, parity.clone()), Increment::Made(_));
        assert_eq!(made, is_made, "after {earlier:?}");
    }
}

#[test]
fn parity_that_the_code_does_not_have_is_useless() {
    let right = packet(300, 1);
    let mut kept = Kept::new(10_000);
    assert!(matches!(kept.take_copy(0, &right, &[10]), Increment::Kept));
    // More symbols than the code has, and more or fewer than the header says.
    for (first, count, len) in [(120, 20, 20 * 3), (0, 129, 129 * 3), (0, 2, 5), (0, 2, 7)] {
        let part = IncrementPart { packet: 300, first, count };
        let taken = kept.take_parity(0, part, vec![0; len]);
        assert!(matches!(taken, Increment::Useless), "{first} {count} {len}");
    }
    let part = IncrementPart { packet: 300, first: 126, count: 2 };
    assert!(matches!(kept.take_parity(0, part, vec![0; 2 * 3]), Increment::Kept));
}

#[test]
fn what_arrived_whole_or_is_past_makes_room_for_other_packets() {
    let right = packet(300, 1);
    let mut kept = Kept::new(300);
    assert!(matches!(kept.take_copy(0, &right, &[10]), Increment::Kept));
    assert!(matches!(kept.take_copy(1, &right, &[10]), Increment::Useless));
    kept.store.forget(Seq32(0));
    assert!(matches!(kept.take_copy(1, &right, &[10]), Increment::Kept));
    kept.store.forget_before(Seq32(1));
    assert!(matches!(kept.take_copy(2, &right, &[10]), Increment::Useless));
    kept.store.forget_before(Seq32(2));
    assert!(matches!(kept.take_copy(2, &right, &[10]), Increment::Kept));
}
