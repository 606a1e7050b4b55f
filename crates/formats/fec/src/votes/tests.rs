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
