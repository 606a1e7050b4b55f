use std::collections::BTreeSet;

use windfall_base::{Instant, Seed, Stream};

use super::Agenda;
use crate::ElementId;

#[test]
fn an_empty_agenda_has_nothing_next() {
    assert_eq!(Agenda::new(1).next(), None);
    assert_eq!(Agenda::new(0).next(), None);
}

#[test]
fn elements_that_share_an_instant_come_in_their_order() {
    let mut agenda = Agenda::new(3);
    for element in [2, 0, 1] {
        agenda.set(ElementId(element), Some(Instant::from_nanos(7)));
    }
    for element in [0, 1, 2] {
        assert_eq!(agenda.next(), Some((Instant::from_nanos(7), ElementId(element))));
        agenda.set(ElementId(element), None);
    }
    assert_eq!(agenda.next(), None);
}

#[test]
fn the_last_instant_is_a_wake_up_like_every_other() {
    let mut agenda = Agenda::new(2);
    agenda.set(ElementId(1), Some(Instant::from_nanos(u64::MAX)));
    assert_eq!(agenda.next(), Some((Instant::from_nanos(u64::MAX), ElementId(1))));
}

#[test]
fn agrees_with_an_ordered_set_under_random_changes() {
    let mut stream = Stream::new(Seed(1), "agenda");
    for elements in [1_usize, 2, 5, 64, 100] {
        let mut agenda = Agenda::new(elements);
        let mut waits = vec![None; elements];
        let mut ordered = BTreeSet::new();
        for _ in 0..2_000 {
            let index = stream.below(elements as u64) as usize;
            let at = (stream.below(4) > 0).then(|| Instant::from_nanos(stream.below(50)));
            if let Some(old) = std::mem::replace(&mut waits[index], at) {
                ordered.remove(&(old, index));
            }
            if let Some(at) = at {
                ordered.insert((at, index));
            }
            agenda.set(ElementId(index as u32), at);
            let expected = ordered.first().map(|&(at, index)| (at, ElementId(index as u32)));
            assert_eq!(agenda.next(), expected);
        }
    }
}
