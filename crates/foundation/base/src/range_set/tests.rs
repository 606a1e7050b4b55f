use std::collections::BTreeSet;

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn the_set_agrees_with_a_set_of_numbers(
        steps in vec((any::<bool>(), 0_u64..60, 0_u64..20), 0..40), a in 0_u64..70, b in 0_u64..70
    ) {
        let mut set = RangeSet::default();
        let mut model = BTreeSet::new();
        for (insert, start, len) in steps {
            let range = start..start + len;
            if insert {
                let before = model.len();
                model.extend(range.clone());
                prop_assert_eq!(set.insert(range), (model.len() - before) as u64);
            } else {
                model.retain(|n| !range.contains(n));
                set.remove(range);
            }
            prop_assert!(set.iter().flatten().eq(model.iter().copied()));
            prop_assert_eq!(set.total(), model.len() as u64);
            let mut touching = set.iter().zip(set.iter().skip(1));
            prop_assert!(touching.all(|(left, right)| left.end < right.start));
        }
        prop_assert_eq!((set.is_empty(), set.len()), (model.is_empty(), set.iter().count()));
        prop_assert_eq!(set.contains(a), model.contains(&a));
        prop_assert_eq!(set.end(), model.last().map(|n| n + 1));
        let next = set.next_from(a).map(|range| range.start);
        prop_assert_eq!(next, model.range(a..).next().copied());
        let following = set.iter().find(|range| range.start >= a);
        prop_assert_eq!(set.following(a), following);
        let missing = (a..b).filter(|n| !model.contains(n));
        prop_assert!(set.gaps(a..b).flatten().eq(missing));
        let inside: Vec<_> = (a..b).filter(|n| model.contains(n)).collect();
        prop_assert_eq!(set.count_within(a..b), inside.len() as u64);
        prop_assert!(set.within(a..b).flatten().eq(inside));
    }
}

#[test]
fn a_set_that_was_emptied_holds_nothing() {
    let mut set = RangeSet::from(3..7);
    set.clear();
    assert_eq!((set.is_empty(), set.total(), set.containing(3)), (true, 0, None));
}
