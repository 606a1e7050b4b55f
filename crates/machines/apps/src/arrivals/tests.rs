use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

#[test]
fn gaps_are_missing_until_they_are_filled() {
    let mut arrivals = Arrivals::default();
    assert_eq!(arrivals.note(0), ArrivalOrder::Ahead);
    assert_eq!(arrivals.note(3), ArrivalOrder::Ahead);
    assert_eq!(arrivals.missing(), 2);
    assert_eq!(arrivals.note(1), ArrivalOrder::Late);
    assert_eq!(arrivals.note(1), ArrivalOrder::Duplicate);
    assert_eq!(arrivals.note(3), ArrivalOrder::Duplicate);
    assert_eq!((arrivals.missing(), arrivals.distinct(), arrivals.next()), (1, 3, 4));
}

proptest! {
    #[test]
    fn equals_a_set_within_the_window(numbers in prop::collection::vec(0_u64..1000, 0..300)) {
        let mut arrivals = Arrivals::default();
        let mut set = BTreeSet::new();
        for number in numbers {
            let highest = set.last().copied();
            let expected = match (set.insert(number), highest.is_some_and(|last| number < last)) {
                (false, _) => ArrivalOrder::Duplicate,
                (true, true) => ArrivalOrder::Late,
                (true, false) => ArrivalOrder::Ahead,
            };
            prop_assert_eq!(arrivals.note(number), expected);
            prop_assert_eq!(arrivals.distinct(), set.len() as u64);
            let highest = set.last().map_or(0, |last| last + 1);
            prop_assert_eq!(arrivals.missing(), highest - set.len() as u64);
        }
    }

    #[test]
    fn no_number_panics(numbers in prop::collection::vec(any::<u64>(), 0..50)) {
        let mut arrivals = Arrivals::default();
        for number in numbers {
            arrivals.note(number);
            prop_assert!(arrivals.distinct() <= arrivals.next());
        }
    }
}
