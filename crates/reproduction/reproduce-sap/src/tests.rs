use windfall_base::Seed;
use windfall_experiment::{Context, Extent};

use super::office::Office;
use super::streamer::{Outcome, Run, StreamerMode};
use super::*;

fn run(metres: f64, mbps: u64, mode: StreamerMode, seeds: core::ops::Range<u64>) -> Outcome {
    // A run has only few fades: several together.
    let one = |seed| Run::new(Office::at(metres, mbps), mode, 300, Seed(seed)).stream();
    seeds.map(one).fold(Outcome::default(), |sum, outcome| sum + outcome)
}

#[test]
fn near_stations_lose_little_and_far_ones_much() {
    let near = run(1.0, 54, StreamerMode::Precise, 1..3);
    assert_eq!((near.datagrams.sent, near.datagrams.arrived), (600, 600));
    assert_eq!(near.datagrams.damaged, 0);
    assert!(near.retransmitted_share() < Some(0.1), "{near:?}");
    let far = run(12.2, 54, StreamerMode::Precise, 1..6);
    assert_eq!((far.datagrams.arrived, far.datagrams.damaged), (1_500, 0), "{far:?}");
    assert!(far.retransmitted_share() > Some(0.08), "{far:?}");
}

#[test]
fn approximate_datagrams_are_sent_once_and_arrive_damaged() {
    let far = run(12.2, 54, StreamerMode::Approximate, 1..6);
    assert_eq!((far.frames.sent, far.retransmitted), (1_500, 0));
    let Outcome { frames, datagrams, .. } = far;
    assert!(frames.damaged > 50 && frames.flr_but_damaged() < frames.flr(), "{far:?}");
    assert!(frames.bit_error_rate() < Some(0.05) && frames.intact_bits() > Some(0.98), "{far:?}");
    // A frame whose IP, UDP-Lite or SAP header broke has no datagram.
    assert!(datagrams.arrived < frames.arrived && datagrams.damaged > 0, "{far:?}");
    let strict = run(12.2, 54, StreamerMode::Discarding, 1..6);
    assert_eq!(strict.frames.damaged, 0);
}

#[test]
fn the_same_seed_streams_the_same() {
    let once = run(10.0, 48, StreamerMode::Approximate, 7..8);
    assert_eq!(once, run(10.0, 48, StreamerMode::Approximate, 7..8));
    assert_ne!(once, run(10.0, 48, StreamerMode::Approximate, 8..9));
}

/// Runs a figure with quick effort; its verdict must be the recorded one.
fn check(figure: &Figure, claims: usize) {
    let extent = Extent::Quick;
    let seed = Seed(1);
    let context = Context::simulated(extent, seed);
    let finding = figure.run(&context).unwrap();
    assert_eq!(finding.claims.len(), claims);
    assert!(finding.is_as_recorded(), "{}", finding.claims_table().to_text());
}

//= S0.54
#[test]
fn the_speed_of_a_walker_degrades_gracefully() {
    check(&fig7::FIGURE, 6);
}

//= S0.55
//= S0.72
//= S0.73
#[test]
fn positions_arrive_more_regularly_and_earlier_than_over_tcp() {
    check(&fig8::FIGURE, 6);
}

//= S0.72
#[test]
fn a_lossy_last_hop_causes_no_retransmission_before_it() {
    check(&upstream::FIGURE, 6);
}

//= S0.74
#[test]
fn a_tracker_tolerates_more_interference_over_sap_than_over_tcp() {
    check(&interference::FIGURE, 2);
}

//= S0.57
#[test]
fn precise_bulk_of_the_paper_is_slow_and_the_standard_profile_is_not() {
    check(&bulk::FIGURE, 10);
}

//= S0.48
#[test]
fn the_rate_decides_little_where_few_frames_are_retried() {
    check(&fig6::FIGURE, 6);
}

//= S0.45
//= S0.48
#[test]
fn the_share_of_retries_decides_what_approximation_gains() {
    check(&map::FIGURE, 5);
}

//= S0.24
#[test]
fn precise_bulk_approaches_the_bound_of_air_time() {
    check(&bound::FIGURE, 3);
}

//= S0.27
//= S0.38
#[test]
fn a_picture_is_recognised_despite_bit_errors() {
    check(&fig1::FIGURE, 6);
}

//= S0.59
//= S0.60
//= S0.62
#[test]
fn a_bit_error_destroys_encrypted_and_compressed_data() {
    check(&encrypted::FIGURE, 6);
}
