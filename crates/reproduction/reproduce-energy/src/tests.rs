use windfall_base::Seed;
use windfall_experiment::{Context, Extent, Figure};

use super::*;

/// Runs a figure in a hurry; its verdict must be the one on record.
fn check(figure: &Figure, claims: usize) {
    let extent = Extent::Quick;
    let seed = Seed(1);
    let context = Context::simulated(extent, seed);
    let finding = figure.run(&context).unwrap();
    assert_eq!(finding.claims.len(), claims);
    assert!(finding.is_as_recorded(), "{}", finding.claims_table().to_text());
}

//= S2.14
#[test]
fn remembered_entries_answer_trains_and_hashing_answers_all() {
    check(&lookup::FIGURE, 4);
}

//= S2.11
#[test]
fn stretched_acknowledgments_have_their_side_effects() {
    check(&stretch::FIGURE, 4);
}

//= S2.16
#[test]
fn a_trailing_checksum_protects_as_well_and_saves_little() {
    check(&trailer::FIGURE, 3);
}
