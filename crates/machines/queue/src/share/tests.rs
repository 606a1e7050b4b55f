use proptest::prelude::*;

use super::*;

fn flow(weight: f64, power_factor: f64, error_rate: f64) -> Demand {
    Demand { weight, power_factor, error_rate }
}

fn close(got: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(got.len(), expected.len());
    for (got, expected) in got.iter().zip(expected) {
        assert!((got - expected).abs() <= tolerance, "{got} instead of {expected}");
    }
}

//= S3.29
#[test]
fn the_adjusted_weight_makes_up_for_errors_up_to_the_power_factor() {
    assert_eq!(flow(2.0, 3.0, 0.0).adjusted_weight(), 2.0);
    assert_eq!(flow(2.0, 3.0, 0.5).adjusted_weight(), 4.0);
    assert_eq!(flow(2.0, 3.0, 0.9).adjusted_weight(), 6.0);
    assert_eq!(flow(2.0, 3.0, 1.0).adjusted_weight(), 6.0);
    assert_eq!(flow(2.0, f64::INFINITY, 1.0).adjusted_weight(), f64::INFINITY);
}

//= S3.30
#[test]
fn crossovers_lie_where_the_paper_has_them() {
    for (power, crossover) in [(1.4, 0.2857), (1.2, 0.1667), (3.0, 0.6667), (2.23, 0.5516)] {
        close(&[flow(1.0, power, 0.0).crossover()], &[crossover], 5e-5);
        assert_eq!(flow(1.0, power, crossover - 0.01).region(), Region::Outcome);
        assert_eq!(flow(1.0, power, crossover + 0.01).region(), Region::Effort);
    }
    assert_eq!(flow(1.0, f64::INFINITY, 1.0).region(), Region::Outcome);
    assert_eq!([Region::Outcome, Region::Effort].map(Region::name), ["outcome", "effort"]);
}

//= S3.26
//= S3.47
#[test]
fn table_2_is_exact_with_reservations_and_near_with_weights() {
    let weights = |power| [1.0, 44.0, 27.5, 27.5].map(|weight| flow(weight, power, 0.0));
    close(&by_weights(&weights(1.0), 800.0), &[8.0, 352.0, 220.0, 220.0], 1e-9);
    let damaged = [1.0, 44.0, 27.5, 27.5].map(|weight| flow(weight, 1.0, 0.5));
    close(&by_weights(&damaged, 800.0), &[4.0, 176.0, 110.0, 110.0], 1e-9);
    let expected = with_reservations(
        &[flow(8.0 / 800.0, 2.0, 0.0), flow(350.0 / 800.0, 2.0, 0.0)],
        &[flow(1.0, 2.0, 0.0); 2],
        800.0,
    );
    close(&expected.0, &[8.0, 350.0], 1e-9);
    close(&expected.1, &[221.0, 221.0], 1e-9);
    let preferable = with_reservations(
        &[flow(8.0 / 800.0, 2.0, 0.5), flow(350.0 / 800.0, 2.0, 0.5)],
        &[flow(1.0, 2.0, 0.5); 2],
        800.0,
    );
    close(&preferable.0, &[8.0, 350.0], 1e-9);
    close(&preferable.1, &[21.0, 21.0], 1e-9);
}

//= S3.27
#[test]
fn a_priority_scheduler_would_starve_best_effort_beyond_55_per_cent() {
    assert!((358.0_f64 / 400.0 - 0.895).abs() < 1e-12);
    let at = |error| {
        let reserved = [8.0, 350.0].map(|rate| flow(rate / 800.0, f64::INFINITY, error));
        with_reservations(&reserved, &[flow(1.0, 1.0, error)], 800.0).1[0]
    };
    assert!(at(0.55) > 0.0 && at(0.5526) == 0.0);
}

//= S3.28
//= S3.34
#[test]
fn table_3_follows_with_a_power_factor_of_two() {
    let video = |error, power| flow(0.125, power, error);
    let desirable = with_reservations(
        &[video(0.0, 2.0), video(0.5, 2.0)],
        &[flow(1.0, 2.0, 0.0), flow(1.0, 2.0, 0.5)],
        800.0,
    );
    close(&desirable.0, &[100.0, 100.0], 1e-9);
    close(&desirable.1, &[500.0 / 3.0, 500.0 / 3.0], 1e-9);
    let priority = with_reservations(
        &[video(0.0, 2.0), video(0.5, 2.0)],
        &[flow(1.0, 1.0, 0.0), flow(1.0, 1.0, 0.5)],
        800.0,
    );
    close(&priority.1, &[250.0, 125.0], 1e-9);
    let effort = [(1.0, 0.0), (3.0, 0.0), (1.0, 0.5), (3.0, 0.5)].map(|(w, e)| flow(w, 1.0, e));
    close(&by_weights(&effort, 800.0), &[100.0, 300.0, 50.0, 150.0], 1e-9);
}

fn flows() -> impl Strategy<Value = Vec<Demand>> {
    let one = (0.1..10.0, 1.0..5.0, 0.0..1.0).prop_map(|(w, p, e)| flow(w, p, e));
    prop::collection::vec(one, 1..12)
}

proptest! {
    //= S3.31
    #[test]
    fn the_four_identities_hold(flows in flows(), error in 0.0..0.99, link in 1.0..1e6) {
        let weights: f64 = flows.iter().map(|flow| flow.weight).sum();
        // Without errors: weighted fair queueing.
        let clean: Vec<_> = flows.iter().map(|f| flow(f.weight, f.power_factor, 0.0)).collect();
        for (t, f) in by_weights(&clean, link).iter().zip(&flows) {
            prop_assert!((t - f.weight / weights * link).abs() < 1e-6 * link);
        }
        // All in the outcome region at one error rate: the same on a degraded link.
        let equal: Vec<_> = flows.iter().map(|f| flow(f.weight, f64::INFINITY, error)).collect();
        for (t, f) in by_weights(&equal, link).iter().zip(&flows) {
            prop_assert!((t - f.weight / weights * link * (1.0 - error)).abs() < 1e-6 * link);
        }
        // All in the effort region: shares by P · W.
        let pushed = |f: &Demand| flow(f.weight, f.power_factor, 1.0 - 0.1 / f.power_factor);
        let hard: Vec<_> = flows.iter().map(pushed).collect();
        let powers: f64 = flows.iter().map(|f| f.power_factor * f.weight).sum();
        for (t, f) in by_weights(&hard, link).iter().zip(&hard) {
            let expected = f.power_factor * f.weight / powers * link * (1.0 - f.error_rate);
            prop_assert!((t - expected).abs() < 1e-6 * link);
        }
    }

    //= S3.32
    #[test]
    fn no_flow_exceeds_its_greatest_share(mut flows in flows()) {
        let one = flows.pop().expect("at least one");
        let sum: f64 = flows.iter().map(Demand::adjusted_weight).sum();
        let adjusted = one.adjusted_weight();
        prop_assert!(adjusted / (adjusted + sum) <= one.greatest_share(&flows) + 1e-12);
    }

    //= S3.36
    #[test]
    fn power_factors_below_two_keep_efficiency_above_one_half(
        flows in prop::collection::vec((0.1..10.0, 1.0..2.0, 0.0..0.5), 1..12),
    ) {
        let flows: Vec<_> = flows.into_iter().map(|(w, p, e)| flow(w, p, e)).collect();
        let efficiency: f64 = by_weights(&flows, 1.0).iter().sum();
        prop_assert!(efficiency > 0.5);
    }
}
