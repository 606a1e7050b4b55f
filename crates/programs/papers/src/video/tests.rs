use std::process::Command;

use windfall_base::Seed;

use super::*;
use crate::experiment::{Context, Extent, Figure};

/// Runs a figure in a hurry: its verdict must be the one on record.
fn check(figure: &Figure, claims: usize) {
    let context = Context::simulated(Extent::Quick, Seed(1));
    let finding = figure.run(&context).unwrap();
    assert_eq!(finding.claims.len(), claims);
    assert!(finding.is_as_recorded(), "{}", finding.claims_table().to_text());
}

/// Skips the test where there is no ffmpeg.
macro_rules! require_ffmpeg {
    () => {
        if Command::new("ffmpeg").arg("-version").output().is_err() {
            windfall_testkit::skip!("ffmpeg is not installed");
        }
    };
}

//= S1.9
//= S1.66
#[test]
fn a_larger_socket_buffer_trades_loss_for_delay() {
    check(&buffer::FIGURE, 4);
}

//= S1.47
//= S1.61
#[test]
fn delays_are_those_of_the_line_and_of_retransmissions() {
    check(&fig13::FIGURE, 6);
}

//= S1.48
#[test]
fn the_mean_time_between_arrivals_hardly_depends_on_the_combination() {
    check(&fig14::FIGURE, 2);
}

//= S1.49
#[test]
fn rlp_loses_nothing_and_udp_lite_less_than_udp() {
    check(&fig15::FIGURE, 5);
}

//= S1.50
#[test]
fn throughput_follows_from_the_loss() {
    check(&fig16::FIGURE, 2);
}

//= S1.51
#[test]
fn rlp_has_the_better_pictures() {
    require_ffmpeg!();
    check(&fig17::FIGURE, 2);
}

//= S1.68
#[test]
fn a_stream_gains_nothing_without_a_checksum() {
    require_ffmpeg!();
    check(&channels::FIGURE, 2);
}

//= S1.27
//= S1.28
//= S1.53
#[test]
fn pings_by_mode_and_clocks_that_differ() {
    check(&modes::FIGURE, 9);
}

//= S1.55
#[test]
fn a_camera_gains_by_retransmission_and_by_damage_each_in_its_own_measure() {
    require_ffmpeg!();
    check(&camera::FIGURE, 5);
}
