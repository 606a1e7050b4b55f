use proptest::prelude::*;

use super::*;

fn ballot(bytes: &[u8]) -> Ballot<'_> {
    Ballot { bytes, reliability: None }
}

#[test]
fn a_draw_is_a_margin_of_nothing_and_the_surer_copy_wins() {
    let votes = count(&[ballot(&[1, 2, 3]), ballot(&[1, 2, 7])]);
    assert_eq!((&votes.bytes[..], &votes.margins[..]), (&[1, 2, 3][..], &[32, 32, 0][..]));
    let sure = Ballot { bytes: &[1, 2, 7], reliability: Some(&[40, 4, 40]) };
    let votes = count(&[ballot(&[1, 9, 3]), sure]);
    assert_eq!((&votes.bytes[..], &votes.margins[..]), (&[1, 9, 7][..], &[56, 12, 24][..]));
    assert_eq!(count(&[]), Votes::default());
}

#[test]
fn the_symbols_that_are_least_sure_are_erased() {
    let code = ReedSolomon::new(8).expect("legal");
    let mut right: Vec<u8> = (0..40).collect();
    code.encode(&mut right).expect("a length of blocks");
    // Seven wrong symbols are beyond four errors, and within eight erasures.
    let mut block = right.clone();
    let mut margins = [50; 40];
    for at in [0, 3, 8, 11, 20, 33, 39] {
        block[at] ^= 0x5a;
        margins[at] = 10;
    }
    let corrected = correct(&code, &mut block, &margins, &[], core::iter::empty());
    assert_eq!(corrected, Some(Corrected { errors: 7, erasures: 0 }));
    assert_eq!(block, right);
    // Symbols that have not come leave less parity for others.
    let mut block = right.clone();
    block[5] ^= 1;
    let missing = [7, 9, 30, 31, 32, 35];
    missing.iter().for_each(|at| block[usize::from(*at)] = 0);
    let corrected = correct(&code, &mut block, &[16; 40], &missing, core::iter::empty());
    assert!(corrected.is_some() && block == right);
}

#[test]
fn of_several_codewords_the_one_against_the_least_margin_is_taken() {
    let code = ReedSolomon::new(8).expect("legal");
    let right = vec![0; 40];
    let mut other = vec![0; 40];
    other[4] = 1;
    code.encode(&mut other).expect("a length of blocks");
    let differing: Vec<usize> = (0..40).filter(|at| other[*at] != 0).collect();
    assert_eq!(differing.len(), 9, "no two codewords are nearer");
    // The block is nearer to the other one, but by symbols that are not sure.
    let mut block = right.clone();
    let mut margins = [100; 40];
    for at in &differing[..5] {
        block[*at] = other[*at];
        margins[*at] = 1;
    }
    let corrected = correct(&code, &mut block, &margins, &[], core::iter::empty());
    assert_eq!(corrected, Some(Corrected { errors: 5, erasures: 0 }));
    assert_eq!(block, right);
    // A guess that is a codeword is one of those that are compared.
    let mut block = other.clone();
    differing[..5].iter().for_each(|at| block[*at] = 0);
    let mut margins = [100; 40];
    differing[5..].iter().for_each(|at| margins[*at] = 200);
    correct(&code, &mut block, &margins, &[], core::iter::once(other.clone()));
    assert_eq!(block, other);
}

proptest! {
    #[test]
    fn three_equal_copies_have_the_majority_of_each_bit(
        a in prop::collection::vec(any::<u8>(), 1..40), b in any::<u8>(), c in any::<u8>(),
    ) {
        let [second, third] = [b, c].map(|mask| a.iter().map(|it| it ^ mask).collect::<Vec<_>>());
        let votes = count(&[ballot(&a), ballot(&second), ballot(&third)]);
        let most: Vec<u8> = a.iter().map(|it| it ^ (b & c)).collect();
        prop_assert_eq!(votes.bytes, most);
    }

    #[test]
    fn any_ballots_and_margins_are_taken_without_a_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..300),
        reliability in prop::collection::vec(any::<u8>(), 0..300),
        margins in prop::collection::vec(any::<u16>(), 0..300),
    ) {
        let all = [ballot(&bytes), Ballot { bytes: &bytes, reliability: Some(&reliability) }];
        prop_assert_eq!(count(&all).bytes, bytes.clone());
        let code = ReedSolomon::new(8).expect("legal");
        let mut block = bytes;
        let _ = correct(&code, &mut block, &margins, &[], core::iter::empty());
    }
}
