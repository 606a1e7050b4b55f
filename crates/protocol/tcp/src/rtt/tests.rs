use super::*;

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

#[test]
fn the_first_measurements_follow_the_formulas() {
    let mut estimator =
        RttEstimator::new(TimeoutConfig { minimum: ms(1), ..TimeoutConfig::default() });
    assert_eq!(estimator.timeout(), Duration::from_secs(1));
    estimator.sample(ms(100), 1);
    // SRTT = R, RTTVAR = R / 2, RTO = SRTT + 4 RTTVAR (RFC 6298, 2.2).
    assert_eq!(estimator.timeout(), ms(300));
    estimator.sample(ms(180), 1);
    // RTTVAR = 3/4 · 50 + 1/4 · 80, SRTT = 7/8 · 100 + 1/8 · 180 (2.3).
    assert_eq!(estimator.smoothed(), Some(ms(110)));
    assert_eq!(estimator.timeout(), Duration::from_micros(110_000 + 4 * 57_500));
}

#[test]
fn a_round_trip_below_the_mean_adds_as_much_to_the_variation() {
    let mut estimator =
        RttEstimator::new(TimeoutConfig { minimum: ms(1), ..TimeoutConfig::default() });
    estimator.sample(ms(100), 1);
    estimator.sample(ms(20), 1);
    // RTTVAR = 3/4 · 50 + 1/4 · 80, SRTT = 7/8 · 100 + 1/8 · 20.
    assert_eq!(estimator.smoothed(), Some(ms(90)));
    assert_eq!(estimator.timeout(), Duration::from_micros(90_000 + 4 * 57_500));
    assert_eq!((estimator.least(), estimator.samples()), (Some(ms(20)), 2));
}

#[test]
fn the_timeout_doubles_to_its_maximum_and_a_measurement_ends_that() {
    let mut estimator = RttEstimator::new(TimeoutConfig::default());
    for expected in [2, 4, 8, 16, 32, 60, 60] {
        estimator.back_off();
        assert_eq!(estimator.timeout(), Duration::from_secs(expected));
    }
    estimator.sample(ms(10), 1);
    assert_eq!(estimator.timeout(), ms(200));
}

#[test]
fn a_slow_clock_measures_and_fires_in_ticks() {
    //= S3.15
    let tick = ms(500);
    let config = TimeoutConfig { minimum: ms(1_000), tick, ..TimeoutConfig::default() };
    let at = |n: u64| Instant::START.saturating_add(ms(n));
    // Two ticks from 1.3 s end at 2.0 s: the first is cut short.
    assert_eq!(config.deadline(at(1_300), ms(1_000)), at(2_000));
    assert_eq!(config.between(at(1_300), at(1_499)), Duration::ZERO);
    assert_eq!(config.between(at(1_499), at(1_500)), tick);
    let mut estimator = RttEstimator::new(config);
    estimator.sample(Duration::ZERO, 1);
    assert_eq!(estimator.timeout(), ms(1_000));
}

#[test]
fn the_old_estimator_needs_three_ticks_for_a_round_trip_below_one() {
    //= S3.15
    let old = crate::config::TcpConfig::net3_reno().timeout;
    let mut estimator = RttEstimator::new(old);
    assert_eq!(estimator.timeout(), Duration::from_secs(6));
    (0..100).for_each(|_| estimator.sample(Duration::ZERO, 1));
    assert_eq!(estimator.timeout(), ms(1_500));
    // Round trips of two seconds: mean four ticks, and the variation dies down to three quarters.
    (0..100).for_each(|_| estimator.sample(ms(2_000), 1));
    assert_eq!(estimator.timeout(), ms(500) * (4 + 3));
}

#[test]
fn many_measurements_in_one_round_trip_weigh_less() {
    let timeout_after = |expected: u64| {
        let mut estimator = RttEstimator::new(TimeoutConfig::default());
        estimator.sample(ms(100), expected);
        (0..expected).for_each(|_| estimator.sample(ms(200), expected));
        estimator.smoothed().unwrap()
    };
    let (one, twenty) = (timeout_after(1), timeout_after(20));
    assert_eq!(one, Duration::from_micros(112_500));
    // (1 - 1/160)^20 against 1 - 1/8: the difference is second order, below 1/128 of 100 ms.
    assert!(one - twenty < Duration::from_micros(800));
}

#[test]
fn the_first_round_trip_of_the_old_estimator_counts_one_tick_more() {
    //= S3.15
    let mut estimator = RttEstimator::new(crate::config::TcpConfig::net3_reno().timeout);
    // Four ticks: the mean is five, the variation half of that in its units, ten quarters.
    estimator.sample(ms(2_000), 1);
    assert_eq!(estimator.timeout(), ms(500) * (5 + 10));
}

#[test]
fn a_clock_without_ticks_counts_none() {
    let config = TimeoutConfig { in_ticks: true, ..TimeoutConfig::default() };
    let mut estimator = RttEstimator::new(config);
    estimator.sample(ms(100), 1);
    assert_eq!(estimator.timeout(), config.minimum);
}

#[test]
fn the_doubling_can_be_taken_back() {
    let mut estimator = RttEstimator::new(TimeoutConfig::default());
    estimator.back_off();
    estimator.relax();
    assert_eq!(estimator.timeout(), Duration::from_secs(1));
}
