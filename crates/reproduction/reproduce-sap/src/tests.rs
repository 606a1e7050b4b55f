use super::*;

fn run(metres: f64, mbps: u64, mode: Mode, seed: u64) -> Outcome {
    Run::new(Office::busy(metres, mbps), mode, 1_500, seed).stream()
}

#[test]
fn near_stations_lose_little_and_far_ones_much() {
    let near = run(1.0, 54, Mode::Precise, 1);
    assert_eq!((near.sent, near.arrived, near.damaged), (1_500, 1_500, 0));
    assert!(near.retransmitted_fraction() < Some(0.1), "{near:?}");
    // A run has only few fades: several together.
    let far = (1..6).map(|seed| run(12.2, 54, Mode::Precise, seed));
    let far = far.fold(Outcome::default(), |sum, outcome| sum + outcome);
    assert!(far.retransmitted_fraction() > Some(0.08), "{far:?}");
}

#[test]
fn approximate_datagrams_are_sent_once_and_arrive_damaged() {
    let far = (1..4).map(|seed| run(12.2, 54, Mode::Approximate, seed));
    let far = far.fold(Outcome::default(), |sum, outcome| sum + outcome);
    assert_eq!((far.sent, far.retransmitted), (4_500, 0));
    assert!(far.damaged > 100 && far.flr_but_damaged() < far.flr(), "{far:?}");
    assert!(far.bit_error_rate() < Some(0.05) && far.intact_bits() > Some(0.98), "{far:?}");
}

#[test]
fn the_same_seed_streams_the_same() {
    let once = run(10.0, 48, Mode::Approximate, 7);
    assert_eq!(once, run(10.0, 48, Mode::Approximate, 7));
    assert_ne!(once, run(10.0, 48, Mode::Approximate, 8));
}

/// Runs a figure with quick effort; its verdict must be the recorded one.
fn check(figure: &Figure, claims: usize) {
    let extent = Extent::Quick;
    let seed = windfall_base::Seed(1);
    let context = Context::simulated(extent, seed);
    let finding = figure.run(&context).unwrap();
    assert_eq!(finding.claims.len(), claims);
    assert!(finding.is_as_recorded(), "{}", finding.claims_table().to_text());
}

//= S0.54
#[test]
fn the_speed_of_a_walker_degrades_gracefully() {
    check(&fig7::FIGURE, 4);
}

//= S0.55
//= S0.72
//= S0.73
#[test]
fn positions_arrive_more_regularly_and_earlier_than_over_tcp() {
    check(&fig8::FIGURE, 5);
}

//= S0.72
#[test]
fn a_lossy_last_hop_causes_no_retransmission_before_it() {
    check(&upstream::FIGURE, 3);
}

//= S0.74
#[test]
fn a_tracker_tolerates_more_interference_over_sap_than_over_tcp() {
    check(&interference::FIGURE, 2);
}

//= S0.57
#[test]
fn precise_bulk_of_the_paper_is_slow_and_the_standard_profile_is_not() {
    check(&bulk::FIGURE, 3);
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
    check(&fig1::FIGURE, 3);
}

//= S0.59
//= S0.60
//= S0.62
#[test]
fn a_bit_error_destroys_encrypted_and_compressed_data() {
    check(&encrypted::FIGURE, 5);
}
