use windfall_base::Seed;
use windfall_scenario::Scenario;
use windfall_scenario::sim::Simulation;

use super::ends::{Pair, ProtocolUnderTest};
use super::office::Office;
use super::streamer::{Outcome, Run, StreamerMode};
use super::*;
use crate::experiment::{Context, Extent};

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
fn the_speed_of_a_walker_is_judged_as_on_record() {
    check(&fig7::FIGURE, 6);
}

//= S0.55
//= S0.72
//= S0.73
#[test]
fn the_regularity_and_age_of_positions_are_judged_as_on_record() {
    check(&fig8::FIGURE, 6);
}

//= S0.72
#[test]
fn a_lossy_last_hop_causes_no_retransmission_before_it() {
    check(&upstream::FIGURE, 6);
}

//= S0.74
#[test]
fn a_tracker_among_networks_is_judged_as_on_record() {
    check(&interference::FIGURE, 3);
}

//= S0.57
#[test]
fn precise_bulk_of_the_paper_is_slow_and_the_standard_profile_is_not() {
    check(&bulk::FIGURE, 10);
}

//= S0.48
#[test]
fn the_rate_decides_little_where_few_frames_are_retried() {
    check(&rates::FIGURE, 6);
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

/// The seconds of a transfer of 200 KB over a pipe, by the driver of the figures and by the
/// application of a scenario; both have the same link and the same parameters of SAP.
fn transfers(protocol: ProtocolUnderTest, link: &str, seeds: core::ops::Range<u64>) -> [f64; 2] {
    const KILOBYTES: u64 = 200;
    let size = bulk::message(protocol);
    let bytes = KILOBYTES * 1_024 / size as u64 * size as u64;
    let profile = if protocol == ProtocolUnderTest::Paper { "paper" } else { "standard" };
    let text = format!(
        "format = 1\nduration = \"120s\"\n[[station]]\nname = \"a\"\n[[station]]\n\
         name = \"b\"\n[[link]]\nstations = [\"a\", \"b\"]\nmtu = 1500\n{link}\n[[app]]\n\
         kind = \"sap-bulk\"\nstation = \"a\"\nto = \"b\"\nbytes = {bytes}\nsize = {size}\n\
         profile = \"{profile}\"\n"
    );
    let scenario = Scenario::parse("", &text).unwrap_or_else(|error| panic!("{error}"));
    let no_files = &mut |_: &str| Err(std::io::Error::from(std::io::ErrorKind::NotFound));
    let topology = scenario.topology(0, ("", &text), no_files).expect("it makes sense");
    let count = (seeds.end - seeds.start) as f64;
    let mut sums = [0.0; 2];
    for seed in seeds {
        let pair = Pair::over(&topology.network, protocol, size, seed);
        let mut pair = pair.expect("the two reach each other");
        sums[0] += bulk::seconds(&mut pair, protocol, KILOBYTES, bulk::PATIENCE);
        let mut simulation = Simulation::new(&topology, Seed(seed)).expect("it can be built");
        simulation.finish();
        let now = simulation.now();
        let report = simulation.network().station(0).and_then(|it| it.reports(now).next());
        let report = report.expect("the application reports");
        let seconds = report.into_iter().find(|(name, _)| *name == "transfer_mean_seconds");
        sums[1] += seconds.expect("it measures them").1.number();
    }
    sums.map(|sum| sum / count)
}

//= S0.24
#[test]
fn the_application_of_a_scenario_takes_as_long_as_the_driver_of_the_figures() {
    let calm = "rate = \"4Mbps\"\ndelay = \"5ms\"";
    // The driver waits for the receiver, the application for the acknowledgement of the end: half
    // a round trip more. The search for larger datagrams comes before the driver's transfer.
    for (protocol, tolerance) in
        [(ProtocolUnderTest::Paper, 0.02), (ProtocolUnderTest::Precise, 0.1)]
    {
        let [driver, application] = transfers(protocol, calm, 1..2);
        let ratio = application / driver;
        assert!((ratio - 1.0).abs() < tolerance, "{protocol:?}: {driver} {application}");
    }
    // Of the 200 messages and their acknowledgements 4 % are lost, each for 50 ms: 8 in a transfer
    // of 3 s with a deviation of 2.8, so that the mean over twelve is known to 1.3 %.
    let lossy = format!("{calm}\nloss = \"2%\"");
    let [driver, application] = transfers(ProtocolUnderTest::Paper, &lossy, 1..13);
    let ratio = application / driver;
    assert!((ratio - 1.0).abs() < 0.08, "{driver} {application}");
}
