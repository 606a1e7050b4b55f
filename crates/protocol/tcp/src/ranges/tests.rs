use std::collections::BTreeSet;

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn the_set_agrees_with_a_set_of_numbers(
        steps in vec((0_u64..60, 0_u64..12, any::<bool>()), 0..40), a in 0_u64..70, b in 0_u64..70
    ) {
        let (mut set, mut model) = (RangeSet::default(), BTreeSet::new());
        for (start, len, insert) in steps {
            if insert {
                let before = model.len();
                model.extend(start..start + len);
                prop_assert_eq!(set.insert(start..start + len), (model.len() - before) as u64);
            } else if len == 0 {
                set.remove_below(start);
                model.retain(|n| *n >= start);
            }
            let flat: Vec<_> = set.iter().flatten().collect();
            prop_assert!(flat.iter().eq(&model));
            prop_assert_eq!(set.total(), model.len() as u64);
        }
        prop_assert_eq!(set.containing(a).is_some(), model.contains(&a));
        let gaps: Vec<_> = set.gaps(a..b).flatten().collect();
        let missing: Vec<_> = (a..b).filter(|n| !model.contains(n)).collect();
        prop_assert_eq!(gaps, missing);
        let inside = (a..b).filter(|n| model.contains(n)).count() as u64;
        prop_assert_eq!(set.count_within(a..b), inside);
        let mut touching = set.iter().zip(set.iter().skip(1));
        prop_assert!(touching.all(|(left, right)| left.end < right.start));
    }
}

#[test]
fn a_set_that_was_emptied_holds_nothing() {
    let mut set = RangeSet::default();
    set.insert(3..7);
    set.clear();
    assert_eq!((set.is_empty(), set.total(), set.containing(3)), (true, 0, None));
}
