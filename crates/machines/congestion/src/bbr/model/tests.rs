//! The rules of draft-ietf-ccwg-bbr, one at a time.

use super::*;

/// A sample of 1 000 bytes after `millis` of a connection that loses nothing: the round trip that
/// began with the byte `before` ends with the byte `delivered`.
fn sample(millis: u64, before: u64, delivered: u64, rate: f64) -> Delivery {
    Delivery {
        now: at(millis),
        rate,
        delivered,
        delivered_before: before,
        newly_delivered: 1_000,
        newly_lost: 0,
        lost: 0,
        lost_since: 0,
        sent_in_flight: delivered - before,
        in_flight: delivered - before,
        is_app_limited: false,
        limited: true,
        round_trip: None,
    }
}

fn at(millis: u64) -> Instant {
    Instant::START.saturating_add(Duration::from_millis(millis))
}

#[test]
fn a_slower_sample_counts_only_if_the_application_did_not_limit_it() {
    // Section 5.5.5, BBRUpdateMaxBw.
    let mut model = Model::default();
    let limited = |rate| Delivery { is_app_limited: true, ..sample(0, 0, 1_000, rate) };
    model.learn(&sample(0, 0, 1_000, 5e3), true, 10_000);
    model.learn(&limited(4e3), true, 10_000);
    assert_eq!(model.most, [0.0, 5e3]);
    model.learn(&limited(6e3), true, 10_000);
    assert_eq!(model.most, [0.0, 6e3]);
    // The maximum of the last probe and of this one (section 5.5.6): the older is forgotten.
    (model.is_ending_probe, model.is_round_start) = (true, true);
    model.end_probe(&sample(0, 0, 1_000, 5e3), true);
    assert_eq!(model.most, [6e3, 0.0]);
    model.learn(&limited(5.9e3), true, 10_000);
    assert_eq!(model.most, [6e3, 0.0]);
    model.learn(&sample(0, 0, 1_000, 2e3), true, 10_000);
    assert_eq!((model.most, model.most_bandwidth()), ([6e3, 2e3], 6e3));
}

#[test]
fn the_most_bandwidth_is_forgotten_a_round_after_a_probe_that_cycles_and_not_before() {
    // Section 5.3.3.6, BBRAdaptUpperBounds.
    let it = sample(0, 0, 1_000, 5e3);
    let app_limited = Delivery { is_app_limited: true, ..it };
    for (is_round_start, cycles, it, forgets) in [
        (true, true, it, true),
        (false, true, it, false),
        (true, false, it, false),
        (true, true, app_limited, false),
    ] {
        let mut model = Model { most: [7e3, 5e3], samples_probe: true, ..Model::default() };
        model.begin_probe_end(&it);
        model.is_round_start = is_round_start;
        model.end_probe(&it, cycles);
        assert_eq!(model.most == [5e3, 0.0], forgets, "{is_round_start} {cycles}");
        assert_eq!(model.samples_probe, !is_round_start);
    }
    // A probe without samples has nothing to replace the last one with.
    let mut model = Model { most: [7e3, 0.0], is_round_start: true, ..Model::default() };
    model.begin_probe_end(&it);
    model.is_round_start = true;
    model.end_probe(&it, true);
    assert_eq!(model.most, [7e3, 0.0]);
}

#[test]
fn a_round_trip_ends_when_what_was_sent_after_its_beginning_is_delivered() {
    // Section 5.5.1, BBRUpdateRound.
    let mut model = Model::default();
    model.learn(&sample(0, 0, 1_000, 1e3), true, 10_000);
    assert!(model.is_round_start);
    for (before, delivered, starts) in
        [(0, 2_000, false), (999, 3_000, false), (1_000, 4_000, true), (2_000, 5_000, false)]
    {
        model.learn(&sample(1, before, delivered, 1e3), true, 10_000);
        assert_eq!(model.is_round_start, starts, "{before}");
        assert_eq!(model.is_loss_round_start, starts, "{before}");
    }
    assert_eq!(model.rounds, 2);
}

/// A model at 10 kB/s whose last round trip delivered `rate` and told of a loss.
fn lossy(rate: f64, probes: bool) -> Model {
    let mut model = Model { most: [10e3, 0.0], ..Model::default() };
    model.learn(&sample(0, 0, 4_000, rate), probes, 10_000);
    model.end(&sample(0, 0, 4_000, rate));
    model.note_loss(&sample(1, 0, 4_000, rate));
    // Of the same round trip as the loss, and then the first one after it.
    model.learn(&sample(1, 3_999, 5_000, rate), probes, 10_000);
    assert_eq!((model.short, model.bound_short), (None, None));
    model.learn(&sample(2, 4_000, 8_000, rate), probes, 10_000);
    model
}

#[test]
fn a_round_trip_with_losses_lowers_the_bounds_to_seven_tenths_or_to_what_it_delivered() {
    // Section 5.5.10.3, BBRLossLowerBounds.
    let model = lossy(2e3, false);
    assert_eq!((model.short, model.bound_short), (Some(7e3), Some(7_000)));
    assert_eq!(model.bandwidth(), 7e3);
    assert_eq!(model.most_bandwidth(), 10e3);
    assert_eq!(lossy(8e3, false).short, Some(8e3));
    // It delivered more than 7 000 bytes.
    let mut model = Model { most: [10e3, 0.0], loses: true, ..Model::default() };
    model.learn(&sample(0, 0, 9_000, 2e3), false, 10_000);
    assert_eq!(model.bound_short, Some(9_000));
    // While it probes, losses are those of the probe.
    let model = lossy(2e3, true);
    assert_eq!((model.short, model.bound_short), (None, None));
    assert_eq!(model.bandwidth(), 10e3);
}

#[test]
fn a_second_round_trip_with_losses_lowers_what_the_first_one_left() {
    let mut model = lossy(2e3, false);
    model.end(&sample(2, 4_000, 8_000, 2e3));
    model.learn(&sample(3, 8_000, 9_000, 2e3), false, 10_000);
    model.end(&sample(3, 8_000, 9_000, 2e3));
    assert_eq!(model.short, Some(7e3), "without losses nothing is lowered");
    model.note_loss(&sample(4, 8_000, 9_000, 2e3));
    model.learn(&sample(4, 9_000, 10_000, 2e3), false, 10_000);
    assert!((model.short.unwrap() - 4_900.0).abs() < 1e-6);
    assert_eq!(model.bound_short, Some(4_900));
    model.forget_short_term();
    assert_eq!((model.bandwidth(), model.bound_short.or_unlimited()), (10e3, u64::MAX));
}

#[test]
fn what_comes_above_the_bandwidth_is_aggregation_and_at_most_the_window() {
    // Section 5.5.9, BBRUpdateACKAggregation.
    let mut model = Model { most: [0.0, 10e3], ..Model::default() };
    let mut take = |millis, newly_delivered, window| {
        let it = Delivery { newly_delivered, ..sample(millis, 0, 1_000, 0.0) };
        model.learn_aggregation(&it, window);
        model.extra()
    };
    assert_eq!(take(1_000, 3_000, 10_000), 3_000);
    // 100 ms explain 1 000 of the 5 500 bytes.
    assert_eq!(take(1_100, 2_500, 10_000), 4_500);
    // 500 ms explain 5 000 of 6 000; the most is kept.
    assert_eq!(take(1_500, 500, 10_000), 4_500);
    // 600 ms explain all of 6 000: the interval begins again.
    assert_eq!(take(1_600, 5_000, 10_000), 5_000);
    assert_eq!(take(1_600, 90_000, 7_000), 7_000);
}

#[test]
fn aggregation_is_remembered_for_ten_rounds_and_in_startup_for_one() {
    for (is_full, life) in [(true, 10), (false, 1)] {
        let mut model = Model { most: [0.0, 1e6], is_full, ..Model::default() };
        model.learn_aggregation(&sample(0, 0, 1_000, 0.0), 10_000);
        assert_eq!(model.extra, [0, 1_000]);
        let mut later = |rounds| {
            model.rounds = rounds;
            let it = Delivery { newly_delivered: 1, ..sample(60_000, 0, 1_000, 0.0) };
            model.extra_delivered = 0;
            model.learn_aggregation(&it, 10_000);
            model.extra()
        };
        assert_eq!(later(life - 1), 1_000);
        assert_eq!(later(life), 1_000);
        assert_eq!(later(2 * life - 1), 1_000);
        assert_eq!(later(2 * life), 1);
    }
}

#[test]
fn startup_bears_five_losses_in_a_round_trip_or_two_in_a_hundred() {
    // Section 5.3.1.3, BBRCheckStartupHighLoss.
    let too_much = |losses: u32, lost: u64, delivered: u64, is_loss_round_start: bool| {
        let mut model = Model { delivered_lately: delivered, lost_from: 500, ..Model::default() };
        for _ in 0..losses {
            model.note_loss(&sample(0, 0, 1_000, 1e3));
        }
        model.is_loss_round_start = is_loss_round_start;
        model.loses_too_much(&Delivery { lost: 500 + lost, ..sample(0, 0, 1_000, 1e3) })
    };
    assert!(too_much(6, 3_000, 100_000, true));
    assert!(!too_much(5, 3_000, 100_000, true));
    assert!(!too_much(6, 3_000, 100_000, false));
    // 2 000 of 100 000 bytes are 2 %.
    assert!(!too_much(6, 2_000, 98_000, true));
    assert!(too_much(6, 2_100, 98_000, true));
}

#[test]
fn the_path_is_full_after_three_rounds_that_grow_by_less_than_a_quarter() {
    // Section 5.3.1.2, BBRCheckFullBWReached.
    let mut model = Model::default();
    let mut round = |rate| {
        model.is_round_start = true;
        model.check_full(&sample(0, 0, 1_000, rate));
        (model.is_full, model.is_full_now, model.flat_rounds)
    };
    assert_eq!(round(1e3), (false, false, 0));
    assert_eq!(round(1_249.0), (false, false, 1));
    assert_eq!(round(1_250.0), (false, false, 0));
    assert_eq!(round(1_300.0), (false, false, 1));
    assert_eq!(round(1_400.0), (false, false, 2));
    assert_eq!(round(1_500.0), (true, true, 3));
    // It watches again in a later probe, but was full once and for all.
    model.watch_full(&sample(0, 0, 1_000, 2e3));
    assert_eq!((model.is_full, model.is_full_now), (true, false));
    // Neither within a round nor limited by the application.
    model.is_round_start = false;
    model.check_full(&sample(0, 0, 1_000, 2e3));
    model.is_round_start = true;
    model.check_full(&Delivery { is_app_limited: true, ..sample(0, 0, 1_000, 2e3) });
    assert_eq!(model.flat_rounds, 0);
}

#[test]
fn the_least_round_trip_lives_for_ten_seconds_and_is_asked_for_after_five() {
    // Section 5.3.4.3, BBRUpdateMinRTT.
    let mut model = Model::default();
    let mut take = |millis, trip: Option<u64>| {
        let it = sample(millis, 0, 1_000, 1e3);
        let it = Delivery { round_trip: trip.map(Duration::from_millis), ..it };
        let is_stale = model.learn_round_trip(&it);
        (is_stale, model.least_round_trip.map(|least| least.as_nanos() / 1_000_000))
    };
    assert_eq!(take(0, None), (false, None));
    assert_eq!(take(100, Some(50)), (false, Some(50)));
    assert_eq!(take(200, Some(60)), (false, Some(50)));
    assert_eq!(take(300, Some(40)), (false, Some(40)));
    assert_eq!(take(5_300, Some(45)), (false, Some(40)));
    assert_eq!(take(5_301, None), (true, Some(40)));
    // It asks for a probe; the least one of all stays.
    assert_eq!(take(5_301, Some(45)), (true, Some(40)));
    assert_eq!(take(5_302, Some(46)), (false, Some(40)));
    // Ten seconds after the 40 ms the 45 ms take their place.
    assert_eq!(take(10_300, Some(47)), (false, Some(40)));
    assert_eq!(take(10_301, Some(47)), (false, Some(45)));
}

#[test]
fn a_round_trip_that_is_as_short_as_the_least_does_not_put_the_probe_off() {
    let mut model = Model::default();
    let mut take = |millis| {
        let round_trip = Some(Duration::from_millis(50));
        model.learn_round_trip(&Delivery { round_trip, ..sample(millis, 0, 1_000, 1e3) })
    };
    assert_eq!([take(100), take(4_000), take(5_100), take(5_101)], [false, false, false, true]);
}

#[test]
fn a_spurious_recovery_takes_the_lower_bounds_back_and_no_higher_ones() {
    // Section 5.5.11, BBRHandleSpuriousLossDetection.
    let before = Model {
        short: Some(9e3),
        bound_short: Some(9_000),
        bound_long: Some(20_000),
        ..Model::default()
    }
    .bounds();
    let mut model = Model {
        short: Some(6e3),
        bound_short: Some(12_000),
        bound_long: Some(14_000),
        loses: true,
        losses: 4,
        full: 1e3,
        flat_rounds: 2,
        is_full_now: true,
        ..Model::default()
    };
    model.loosen(&before);
    assert_eq!((model.short, model.bound_short), (Some(9e3), Some(12_000)));
    assert_eq!(model.bound_long, Some(20_000));
    assert_eq!((model.loses, model.losses), (false, 0));
    assert_eq!((model.full, model.flat_rounds, model.is_full_now), (0.0, 0, false));
    // What was unlimited before is unlimited again.
    model.loosen(&Model::default().bounds());
    assert_eq!((model.short, model.bound_short, model.bound_long), (None, None, None));
}

#[test]
fn a_least_round_trip_that_comes_again_does_not_live_longer() {
    let mut model = Model::default();
    let mut take = |millis, trip| {
        let round_trip = Some(Duration::from_millis(trip));
        model.learn_round_trip(&Delivery { round_trip, ..sample(millis, 0, 1_000, 1e3) });
        model.least_round_trip.map_or(0, Duration::as_millis)
    };
    assert_eq!([take(100, 50), take(5_101, 50), take(10_102, 60)], [50, 50, 60]);
}

#[test]
fn losses_of_a_probe_lower_no_bound_after_it() {
    // Section 5.3.3.1: a probe that ends begins the account of a round trip anew.
    let mut model = Model { most: [10e3, 0.0], loses: true, ..Model::default() };
    (model.bandwidth_lately, model.delivered_lately) = (9e3, 9_000);
    model.forget_lately();
    model.learn(&sample(0, 0, 1_000, 1e3), false, 10_000);
    assert_eq!((model.short, model.bound_short), (None, None));
    assert_eq!((model.bandwidth_lately, model.delivered_lately), (1e3, 1_000));
}
