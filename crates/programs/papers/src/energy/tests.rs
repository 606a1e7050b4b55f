use windfall_base::Seed;

use super::*;
use crate::experiment::{Context, Extent, Figure};

/// Runs a figure in a hurry: its verdict must be the one on record, and another one if its
/// mechanism is broken.
fn check(figure: &Figure, claims: usize) {
    let context = || Context::simulated(Extent::Quick, Seed(1));
    let finding = figure.run(&context()).unwrap();
    for (_, t) in &finding.tables {
        eprintln!("{}", t.to_text());
    }
    eprintln!("{}", finding.claims_table().to_text());
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

//= S2.30
//= S2.31
//= S2.32
//= S2.33
//= S2.34
//= S2.43
#[test]
fn timestamps_and_acknowledgments_cost_bytes_of_a_battery() {
    check(&options::FIGURE, 7);
}

//= S2.35
//= S2.36
//= S2.37
//= S2.38
//= S2.39
#[test]
fn the_best_settings_carry_more_bytes() {
    check(&best::FIGURE, 7);
}

//= S2.38
#[test]
fn far_apart_fewer_bytes_arrive() {
    let near = laptops::Laptops::new("S2.fig5.7", &Context::simulated(Extent::Quick, Seed(1)));
    let far = laptops::Laptops { metres: Some(160.0), ..near.clone() };
    assert!(far.run(Seed(1)).unwrap().bytes < near.run(Seed(1)).unwrap().bytes * 9 / 10);
}

//= S2.52
//= S2.53
//= S2.56
#[test]
fn the_best_packet_size_depends_on_the_channel() {
    check(&quality::FIGURE, 8);
}

//= S2.41
#[test]
fn a_third_laptop_takes_bytes_and_leaves_minutes() {
    check(&interference::FIGURE, 5);
}

//= S2.54
//= S2.55
#[test]
fn rare_acknowledgments_collide_less_often() {
    check(&acknowledgments::FIGURE, 2);
}

//= S2.42
#[test]
fn compression_pays_below_a_line() {
    check(&compression::FIGURE, 2);
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
