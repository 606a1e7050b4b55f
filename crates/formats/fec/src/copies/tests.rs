use proptest::prelude::*;

use super::*;

#[test]
fn the_newest_copy_is_taken_out_first_with_how_sure_its_bytes_are() {
    let mut copies = Copies::default();
    copies.keep_as_sure(vec![1, 2], Some(vec![30, 40]));
    copies.keep(vec![3, 4]);
    assert_eq!(copies.take_newest(), Some((vec![3, 4], None)));
    assert_eq!(copies.take_newest(), Some((vec![1, 2], Some(vec![30, 40]))));
    assert_eq!(copies.take_newest(), None);
    assert!(copies.is_empty());
}

#[test]
fn two_copies_are_cut_where_they_agree_for_longest() {
    let right = vec![0; 300];
    let mut copy = right.clone();
    [10, 11, 50, 51, 200].iter().for_each(|at| copy[*at] = 1);
    assert_eq!(pieces_of(&copy, &right, 3), [(10, 11), (50, 51), (200, 200)]);
    assert_eq!(pieces_of(&copy, &right, 2), [(10, 51), (200, 200)]);
    assert_eq!(pieces_of(&copy, &right, 9).len(), 5);
    assert_eq!(pieces_of(&right, &right, 3), []);
}

/// A check that is a sum over the bits, as a CRC is.
fn check(bytes: &[u8]) -> u32 {
    bytes.iter().fold(7, |sum, byte| sum.rotate_left(5) ^ u32::from(*byte))
}

#[test]
fn two_copies_that_are_damaged_at_different_places_make_the_right_bytes() {
    let right: Vec<u8> = (0..200).collect();
    let wrong = |bytes: &[u8]| check(bytes) ^ check(&right);
    let damaged = |errors: &[(usize, u8)]| {
        let mut bytes = right.clone();
        errors.iter().for_each(|(at, error)| bytes[*at] ^= error);
        bytes
    };
    let new = damaged(&[(10, 1), (150, 6)]);
    let mut copies = Copies::default();
    assert_eq!(copies.combine(&new, 8, wrong), None, "no other copy is kept");
    copies.keep(damaged(&[(90, 4)]));
    assert!(!copies.is_empty());
    assert_eq!(copies.combine(&new, 8, wrong), Some(right.clone()));
    // Of a place at which both are damaged neither has the right byte.
    let same_place = damaged(&[(10, 1), (90, 3)]);
    assert_eq!(copies.combine(&same_place, 8, wrong), None);
}

proptest! {
    #[test]
    fn most_is_the_majority_of_each_bit(words in prop::collection::vec(any::<u64>(), 1..=15)) {
        let half = words.len() / 2;
        let expected = (0..64).fold(0, |all, bit| {
            let set = words.iter().filter(|word| *word >> bit & 1 == 1).count();
            all | u64::from(set > half) << bit
        });
        prop_assert_eq!(most(words.into_iter().map(|word| [word]), half), [expected]);
    }

    #[test]
    fn pieces_hold_every_difference_and_are_few(
        a in prop::collection::vec(0..4_u8, 0..200),
        b in prop::collection::vec(0..4_u8, 200),
        most in 1..=MOST_PIECES,
    ) {
        let b = &b[..a.len()];
        let pieces = pieces_of(&a, b, most);
        prop_assert!(pieces.len() <= most);
        for at in 0..a.len() {
            let holding = pieces.iter().filter(|(first, last)| (*first..=*last).contains(&at));
            let count = holding.count();
            prop_assert!(count <= 1 && (count == 1 || a[at] == b[at]), "{}", at);
        }
    }

    /// Words and the bytes behind them say the same.
    #[test]
    fn a_majority_is_that_of_each_byte(
        copies in prop::collection::vec(prop::collection::vec(any::<u8>(), 150), 3..=9),
    ) {
        let mut kept = Copies::default();
        copies[1..].iter().for_each(|copy| kept.keep(copy.clone()));
        let odd = copies.len() - usize::from(copies.len().is_multiple_of(2));
        let voters = || copies[1..].iter().rev().take(odd - 1).chain([&copies[0]]);
        let expected: Vec<u8> = (0..150)
            .map(|at| most(voters().map(|copy| [u64::from(copy[at])]), odd / 2)[0] as u8)
            .collect();
        prop_assert_eq!(kept.majority(&copies[0]), Some(expected));
    }
}
