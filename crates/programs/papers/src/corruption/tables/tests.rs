use crate::experiment::Finding;

use super::*;

fn finding(is_mutated: bool) -> Finding {
    let context = Context { is_mutated, ..Context::simulated(Extent::Quick, Seed(1)) };
    FIGURE.run(&context).unwrap()
}

//= S4.15
//= S4.16
//= S4.17
//= S4.18
#[test]
fn the_tables_have_the_verdicts_on_record_and_others_without_damaged_frames() {
    let measured = finding(false);
    assert!(measured.is_as_recorded(), "{}", measured.claims_table().to_text());
    // Eight transfers, five counts as in the paper and five measures of the rate.
    assert_eq!(measured.tables[0].1.rows().len(), 8 * 10);
    let seconds = &measured.tables.iter().find(|(name, _)| *name == "seconds").unwrap().1;
    assert_eq!((seconds.rows().len(), seconds.columns().len()), (400, 1 + 2 * 8));
    let mutated = finding(true);
    assert!(!mutated.is_as_recorded(), "{}", mutated.claims_table().to_text());
}
