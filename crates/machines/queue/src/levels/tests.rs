use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

/// The reference: an ordered set by level, then order of arrival.
#[derive(Default)]
struct Reference {
    flows: BTreeSet<(u64, u64, usize)>,
    places: Vec<Option<(u64, u64)>>,
    arrivals: u64,
}

impl Reference {
    fn insert(&mut self, flow: usize, level: u64) {
        self.arrivals += 1;
        self.places.resize(self.places.len().max(flow + 1), None);
        self.places[flow] = Some((level, self.arrivals));
        self.flows.insert((level, self.arrivals, flow));
    }

    fn remove(&mut self, flow: usize) {
        if let Some((level, arrival)) = self.places.get_mut(flow).and_then(Option::take) {
            self.flows.remove(&(level, arrival, flow));
        }
    }
}

proptest! {
    #[test]
    fn it_gives_what_a_set_in_order_gives(
        steps in prop::collection::vec(
            (0_usize..12, 0_u32..50, any::<u64>(), any::<bool>()),
            1..400,
        ),
    ) {
        let mut levels = Levels::new();
        let mut reference = Reference::default();
        let mut floor = 0;
        for (flow, magnitude, draw, leaves) in steps {
            levels.remove(flow);
            reference.remove(flow);
            if !leaves {
                let level = floor + (draw & ((1 << magnitude) - 1));
                levels.insert(flow, level);
                reference.insert(flow, level);
            }
            // Sometimes the lowest lies beyond the bound, and the floor must stay where it was.
            let bound = floor + (draw.rotate_left(32) & 0xfff_ffff);
            let first = reference.flows.first().filter(|(level, ..)| *level <= bound);
            prop_assert_eq!(levels.first(bound), first.map(|(.., flow)| *flow));
            floor = first.map_or(bound, |(level, ..)| *level);
            prop_assert_eq!(levels.near().is_some(), !reference.flows.is_empty());
        }
    }
}

#[test]
fn levels_at_the_end_of_the_range_are_no_trouble() {
    let mut levels = Levels::new();
    levels.insert(0, u64::MAX);
    levels.insert(1, u64::MAX - 1);
    assert_eq!(levels.first(u64::MAX - 2), None);
    assert_eq!(levels.first(u64::MAX), Some(1));
    levels.remove(1);
    assert_eq!(levels.first(u64::MAX), Some(0));
    levels.insert(2, 5);
    levels.remove(0);
    assert_eq!(levels.first(u64::MAX), Some(2));
}
