use super::*;

const VALUES: [f64; 5] = [2.0, 4.0, 4.0, 5.0, 10.0];

//= S0.58
#[test]
fn transfer_times_have_median_mean_and_standard_error() {
    assert_eq!(mean(&VALUES), Some(5.0));
    assert_eq!(median(&VALUES), Some(4.0));
    assert_eq!(median(&[1.0, 2.0]), Some(1.5));
    assert_eq!(range(&VALUES), Some((2.0, 10.0)));
    // Squares 9 + 1 + 1 + 0 + 25 = 36, over 4; the root of 9 / 5.
    assert_eq!(variance(&VALUES), Some(9.0));
    assert_eq!(standard_error(&VALUES), Some(1.8_f64.sqrt()));
}

#[test]
fn too_few_observations_say_nothing() {
    assert_eq!(mean(&[]), None);
    assert_eq!(median(&[]), None);
    assert_eq!(range(&[]), None);
    assert_eq!(standard_error(&[1.0]), None);
    assert_eq!(inter_arrival_variance(&[1.0, 2.0]), None);
    assert_eq!(frame_loss_rate(0, 0, 0), None);
    assert_eq!(quality_error(1.0, 0.0), None);
}

//= S0.58
#[test]
fn losses_are_counted_both_ways() {
    assert_eq!(frame_loss_rate(5, 15, 100), Some(0.2));
    assert_eq!(frame_loss_rate_but_damaged(5, 100), Some(0.05));
    assert_eq!(retransmitted_fraction(30, 100), Some(0.3));
    assert_eq!(bit_error_rate_in_damaged(8, 8000), Some(1e-3));
}

//= S0.58
#[test]
fn regular_arrivals_have_no_variance() {
    assert_eq!(inter_arrival_variance(&[0.0, 0.5, 1.0, 1.5]), Some(0.0));
    assert_eq!(inter_arrival_variance(&[0.0, 1.0, 4.0]), Some(2.0));
    assert_eq!(quality_error(1.5, 2.0), Some(0.25));
}

//= S3.12
#[test]
fn the_papers_counts_of_retransmissions_follow_from_the_formula() {
    assert_eq!(residual_loss(0.5, 0), 0.5);
    assert_eq!(residual_loss(0.1, 2), 0.1_f64.powi(3));
    let needed = |loss| retransmissions_needed(loss, 0.01);
    assert_eq!([needed(0.5), needed(0.8), needed(0.9)], [Some(6), Some(20), Some(43)]);
    assert_eq!(needed(0.0), Some(0));
    assert_eq!(needed(0.001), Some(0));
    // A loss of exactly the target is not below it.
    assert_eq!(needed(0.1), Some(2));
    assert_eq!(needed(1.0), None);
    assert_eq!(retransmissions_needed(0.5, 0.0), None);
}

//= S3.12
#[test]
fn losses_in_bursts_leave_more() {
    // Without repetition a burst makes no difference.
    assert!((residual_loss_in_bursts(0.3, 20.0, 0) - 0.3).abs() < 1e-12);
    // Bursts of 1 / (1 − p) frames are what independent losses look like.
    for (loss, n) in [(0.5, 1), (0.5, 6), (0.8, 20)] {
        let independent = residual_loss_in_bursts(loss, 1.0 / (1.0 - loss), n);
        assert!((independent - residual_loss(loss, n)).abs() < 1e-12, "p = {loss}, n = {n}");
        assert!(residual_loss_in_bursts(loss, 20.0, n) > residual_loss(loss, n));
    }
}
