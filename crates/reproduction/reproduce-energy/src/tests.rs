use windfall_base::Seed;
use windfall_experiment::{Context, Extent, Figure};

use super::*;

/// Runs a figure in a hurry: its verdict must be the one on record, and another one if its
/// mechanism is broken.
fn check(figure: &Figure, claims: usize) {
    let context = || Context::simulated(Extent::Quick, Seed(1));
    let finding = figure.run(&context()).unwrap();
    assert_eq!(finding.claims.len(), claims);
    assert!(finding.is_as_recorded(), "{}", finding.claims_table().to_text());
    let mutated = figure.run(&Context { is_mutated: true, ..context() }).unwrap();
    assert!(!mutated.is_as_recorded(), "{}", mutated.claims_table().to_text());
}

//= S2.25
#[test]
fn the_laptop_lasts_223_minutes_idle_and_110_sending() {
    check(&lifetimes::FIGURE, 3);
}

//= S2.20
//= S2.29
//= S2.40
#[test]
fn larger_packets_carry_more_bytes_in_less_time() {
    check(&segment_size::FIGURE, 5);
}

//= S2.14
#[test]
fn remembered_entries_answer_trains_and_hashing_answers_all() {
    check(&lookup::FIGURE, 5);
}

//= S2.11
#[test]
fn stretched_acknowledgments_have_their_side_effects() {
    check(&stretch::FIGURE, 9);
}

//= S2.16
#[test]
fn a_trailing_checksum_protects_as_well_and_saves_little() {
    check(&trailer::FIGURE, 3);
}
