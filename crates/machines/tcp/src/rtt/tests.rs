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
    let one = timeout_after(1);
    let twenty = timeout_after(20);
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

/// The timeout of NetBSD 1.2 in ticks, after round trips of `round_trips` ticks.
fn of_netbsd(round_trips: &[u64]) -> (RttEstimator, u64) {
    let mut estimator = RttEstimator::new(crate::config::TcpConfig::netbsd_1_2().timeout);
    round_trips.iter().for_each(|ticks| estimator.sample(ms(500) * *ticks, 1));
    let ticks = estimator.timeout().as_nanos() / ms(500).as_nanos();
    (estimator, ticks)
}

#[test]
fn the_scaled_estimator_needs_two_ticks_for_a_round_trip_below_one() {
    //= S3.15
    assert_eq!(of_netbsd(&[]).1, 12);
    assert_eq!(of_netbsd(&[0]).1, 2);
    // The first that crosses a tick: mean 4 of 4, variation 8 of 4, together three ticks.
    assert_eq!(of_netbsd(&[0, 1]).1, 3);
    // Later the variation dies down: two ticks, one more while the last round trip crossed one.
    let mut settled = [[1].as_slice(), &[0; 40]].concat();
    assert_eq!(of_netbsd(&settled).1, 2);
    settled.push(1);
    assert_eq!(of_netbsd(&settled).1, 3);
    settled.push(0);
    assert_eq!(of_netbsd(&settled).1, 2);
    // Round trips of four ticks: the mean and what is left of the variation, or four and two.
    assert_eq!(of_netbsd(&[4; 100]).1, 6);
}

#[test]
fn a_timeout_of_the_scaled_estimator_doubles_what_was_estimated_and_not_its_least() {
    //= S3.15
    let after = |round_trips: &[u64], timeouts: u32| {
        let (mut estimator, _) = of_netbsd(round_trips);
        (0..timeouts).for_each(|_| estimator.back_off());
        estimator.timeout()
    };
    let short = [[1].as_slice(), &[0; 40]].concat();
    assert_eq!([1, 2, 3].map(|timeouts| after(&short, timeouts)), [ms(1_000); 3]);
    // A first round trip of two ticks: 8 and 16 quarters.
    let of = |ticks: u64| ms(500) * ticks;
    assert_eq!([0, 1, 2, 3].map(|it| after(&[2], it)), [of(6), of(12), of(24), of(48)]);
    assert_eq!(after(&[2], 9), Duration::from_secs(64));
}

#[test]
fn an_estimator_in_ticks_counts_those_that_fell_into_a_round_trip() {
    //= S3.15
    let at = |n: u64| Instant::START.saturating_add(ms(n));
    let (netbsd, _) = of_netbsd(&[]);
    // A round trip of 20 ms crosses a tick or does not.
    assert_eq!(netbsd.seen(at(1_010), ms(20)), ms(500));
    assert_eq!(netbsd.seen(at(1_030), ms(20)), Duration::ZERO);
    assert_eq!(RttEstimator::new(TimeoutConfig::default()).seen(at(1_010), ms(20)), ms(20));
}

#[test]
fn a_row_of_timeouts_makes_the_next_round_trip_the_first() {
    //= S3.15
    let (mut estimator, _) = of_netbsd(&[8; 60]);
    (0..4).for_each(|_| estimator.back_off());
    estimator.sample(ms(500), 1);
    // One tick as if it were the first: 4 and 8 quarters.
    assert_eq!(estimator.timeout(), ms(1_500));
}

#[test]
fn a_clock_without_ticks_counts_none() {
    let config = TimeoutConfig { in_ticks: TickEstimation::Net3, ..TimeoutConfig::default() };
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

#[test]
fn forgetting_the_mean_keeps_the_timeout_that_doubles() {
    //= S3.15
    // As 4.4BSD's tcp_timers: the mean joins the variation, so that only the next sample differs.
    let after = |timeouts: u32| {
        let (mut estimator, _) = of_netbsd(&[2; 60]);
        (0..timeouts).for_each(|_| estimator.back_off());
        estimator.timeout()
    };
    let first = after(1);
    assert!(first >= ms(2_000), "{first:?}");
    for timeouts in 2..=5 {
        assert_eq!(after(timeouts), (first * (1 << (timeouts - 1))).min(Duration::from_secs(64)));
    }
}

#[test]
fn the_estimators_in_ticks_follow_the_fixed_point_of_their_systems() {
    //= S3.15
    // Net/3: mean in eighths of a tick, variation in quarters.
    let mut net3 = Ticks::default();
    net3.sample(TickEstimation::Net3, 3);
    assert_eq!((net3.smoothed, net3.variation, net3.last), (32, 8, 3));
    // An error of +6: 32 + 6, 8 + 6 - 2.
    net3.sample(TickEstimation::Net3, 10);
    assert_eq!((net3.smoothed, net3.variation, net3.last), (38, 12, 10));
    // One of -4: 38 - 4, 12 + 4 - 3; the timeout is 34 / 8 + 13.
    net3.sample(TickEstimation::Net3, 0);
    assert_eq!((net3.smoothed, net3.variation, net3.of_net3()), (34, 13, 17));
    // NetBSD: round trips in quarters.
    let mut netbsd = Ticks::default();
    netbsd.sample(TickEstimation::NetBsd, 3);
    assert_eq!((netbsd.smoothed, netbsd.variation), (96, 24));
    // 40 quarters are 28 above the mean of 12: 96 + 28, 24 + 28 - 6.
    netbsd.sample(TickEstimation::NetBsd, 10);
    assert_eq!((netbsd.smoothed, netbsd.variation), (124, 46));
    // (15 + 46) / 4 ticks, and the last round trip and two ticks if that is more.
    assert_eq!([0, 1, 6, 7].map(|timeouts| netbsd.of_netbsd(timeouts)), [15, 30, 960, 960]);
    netbsd.last = 13;
    assert_eq!(netbsd.of_netbsd(0), 15);
    netbsd.last = 14;
    assert_eq!([0, 1].map(|timeouts| netbsd.of_netbsd(timeouts)), [16, 30]);
    netbsd.forget();
    assert_eq!((netbsd.smoothed, netbsd.variation), (0, 61));
}

#[test]
fn a_timer_of_a_slow_clock_runs_for_a_tick_at_least() {
    let config = TimeoutConfig { tick: ms(500), ..TimeoutConfig::default() };
    let at = |n: u64| Instant::START.saturating_add(ms(n));
    for (now, span, fires) in
        [(0, 0, 500), (0, 500, 500), (0, 501, 1_000), (499, 1, 500), (500, 1, 1_000)]
    {
        assert_eq!(config.deadline(at(now), ms(span)), at(fires), "{now} {span}");
    }
    let exact = TimeoutConfig::default();
    assert_eq!(exact.deadline(at(499), ms(1)), at(500));
    assert_eq!(exact.between(at(3), at(10)), ms(7));
    assert_eq!(config.between(at(600), at(2_400)), ms(1_500));
}

#[test]
fn the_least_timeout_stands_for_the_variation_where_it_is_added() {
    let mut estimator = RttEstimator::new(TimeoutConfig::default());
    (0..200).for_each(|_| estimator.sample(ms(300), 1));
    // Without variation a millisecond is added (RFC 6298, 2.3: the granularity of the clock).
    let bare = estimator.timeout();
    assert!((ms(301)..ms(303)).contains(&bare), "{bare:?}");
    estimator.add_least();
    assert_eq!(estimator.timeout(), ms(500));
}
