use std::collections::BTreeSet;

use super::*;

#[test]
fn every_reason_stands_at_its_own_place_and_has_its_own_name() {
    let names: BTreeSet<_> = DropReason::ALL.iter().map(|r| r.name()).collect();
    assert_eq!(names.len(), DropReason::ALL.len());
    for (place, reason) in DropReason::ALL.into_iter().enumerate() {
        assert_eq!(reason as usize, place, "{reason}");
    }
}

#[test]
fn drops_add_up() {
    let mut drops = Drops::default();
    drops.count(DropReason::Lost);
    drops.count(DropReason::Lost);
    drops.count(DropReason::Kernel);
    let mut twice = drops.clone();
    twice.add(&drops);
    assert_eq!((twice.of(DropReason::Lost), twice.total()), (4, 6));
    assert_eq!(drops.iter().collect::<Vec<_>>(), [(DropReason::Lost, 2), (DropReason::Kernel, 1)]);
    let ledger = Ledger { taken: 5, given: 1, held: 1, drops };
    assert!(ledger.balances());
}
