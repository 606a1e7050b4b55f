use super::*;

#[test]
fn the_cube_root_is_exact_to_twelve_digits() {
    for value in [1e-9, 0.001, 0.5, 1.0, 2.0, 27.0, 1e3, 1e9] {
        let root = cube_root(value);
        assert!((root * root * root / value - 1.0).abs() < 1e-12, "{value}: {root}");
    }
}

#[test]
fn the_window_returns_to_the_plateau_when_the_cubic_says() {
    let mut cubic = Cubic::new(1_000, 100);
    let loss = Loss { now: Instant::START, in_flight: 100_000, in_network: 0, offered: u64::MAX };
    cubic.on_loss(&loss);
    assert_eq!(cubic.window(), 70_000);
    // K = cbrt(30 / 0.4) = 4.217 s; acknowledgments of one segment each, 100 per RTT of 1 s.
    let rtt = Duration::from_secs(1);
    let mut reached = None;
    for step in 0..1_000_u64 {
        let now = Instant::START.saturating_add(Duration::from_millis(10 * step));
        cubic.on_acknowledged(&Acknowledged { now, rtt: Some(rtt), ..ack(0, 1, true) });
        if cubic.window() >= 99_900 && reached.is_none() {
            reached = Some(now.as_secs_f64());
        }
    }
    // The window chases a target one RTT ahead and is one RTT late: within one RTT of K.
    let reached = reached.unwrap();
    assert!((reached - 4.217).abs() < 1.0, "{reached}");
}

/// Returns an acknowledgment of `segments` segments at `millis`.
fn ack(millis: u64, segments: u64, limited: bool) -> Acknowledged {
    let now = Instant::START.saturating_add(Duration::from_millis(millis));
    let rtt = Some(Duration::from_millis(100));
    Acknowledged { now, bytes: segments * 1_000, rtt, limited, sample: rtt, una: 0, next: 0 }
}

#[test]
fn a_reduction_leaves_whole_segments() {
    // As Linux does: 0.7 of 9.5 segments in flight are 6, of 10 in flight exactly 7.
    for (in_flight, window) in [(9_500, 6_000), (10_000, 7_000), (700_000, 490_000)] {
        let mut cubic = Cubic::new(1_000, 10);
        let now = Instant::START;
        let offered = u64::MAX;
        cubic.on_loss(&Loss { now, in_flight, in_network: 0, offered });
        assert_eq!(cubic.window(), window, "{in_flight}");
    }
}

#[test]
fn the_estimate_of_reno_grows_at_one_pace_above_the_last_window_too() {
    let mut cubic = Cubic::new(1_000, 10);
    let now = Instant::START;
    let offered = u64::MAX;
    cubic.on_loss(&Loss { now, in_flight: 10_000, in_network: 0, offered });
    let mut windows = Vec::new();
    // Round trips of 1 ms, in which the cubic itself hardly moves.
    for round in 0..24_u64 {
        let segments = cubic.window() / 1_000;
        (0..segments).for_each(|n| {
            let now = Instant::START.saturating_add(Duration::from_micros(1_000 * round + n));
            cubic.on_acknowledged(&Acknowledged { now, ..ack(0, 1, true) });
        });
        windows.push(cubic.window() as f64 / 1_000.0);
    }
    // From 7 on by 3 · 0.3 / 1.7 = 0.53 per round trip, past the 10 of the reduction.
    let pace = |rounds: core::ops::Range<usize>| {
        (windows[rounds.end] - windows[rounds.start]) / rounds.len() as f64
    };
    let below = pace(0..4);
    let above = pace(12..22);
    assert!((0.45..0.6).contains(&below) && (0.45..0.6).contains(&above), "{below}, {above}");
}

#[test]
fn after_a_timeout_slow_start_counts_one_segment_and_the_cubic_begins_flat() {
    // RFC 3465, section 2.3; RFC 9438, section 4.8: W_max is the window then, not that before.
    let mut cubic = Cubic::new(1_000, 100);
    let now = Instant::START;
    let offered = u64::MAX;
    cubic.on_timeout(&Loss { now, in_flight: 10_000, in_network: 0, offered }, true);
    assert_eq!((cubic.window(), cubic.threshold()), (1_000, 7_000));
    (0..6).for_each(|n| cubic.on_acknowledged(&ack(n, 44, true)));
    assert_eq!(cubic.window(), 7_000);
    (0..10).for_each(|n| cubic.on_acknowledged(&ack(100 + 10 * n, 1, true)));
    assert_eq!(cubic.plateau, 7.0);
    // A plateau of 100 segments would be 4.5 segments away at this slope.
    assert!(cubic.window() < 8_500, "{}", cubic.window());
}

#[test]
fn time_in_which_the_application_limits_is_not_part_of_the_cubic() {
    // RFC 9438, sections 4.2 and 5.8.
    let window = |pause: u64| {
        let mut cubic = Cubic::new(1_000, 100);
        cubic.on_loss(&Loss {
            now: Instant::START,
            in_flight: 100_000,
            in_network: 0,
            offered: u64::MAX,
        });
        (0..100).for_each(|n| cubic.on_acknowledged(&ack(10 * n, 1, true)));
        let before = cubic.window();
        (0..10).for_each(|n| cubic.on_acknowledged(&ack(1_000 + n * pause / 10, 1, false)));
        assert_eq!(cubic.window(), before);
        (0..100).for_each(|n| cubic.on_acknowledged(&ack(1_000 + pause + 10 * n, 1, true)));
        cubic.window()
    };
    assert_eq!(window(60_000), window(0));
}

#[test]
fn without_a_plateau_the_cubic_begins_at_the_window_itself() {
    // RFC 9438, section 4.8: as after a slow start that ended without a loss, K is 0.
    let mut cubic = Cubic::new(1_000, 10);
    cubic.threshold = 10.0;
    for step in 0..600 {
        let bytes = cubic.window() / 10;
        cubic.on_acknowledged(&Acknowledged { bytes, ..ack(10 * step, 1, true) });
    }
    // 0.4 · 6³ segments above it, less a round trip of delay at most.
    let window = cubic.window() as f64 / 1_000.0;
    assert!((91.5..101.0).contains(&window), "{window}");
}

#[test]
fn a_plateau_sinks_only_if_the_window_did_not_come_back_to_it() {
    // RFC 9438, section 4.7: cwnd < W_max.
    for (plateau, sunk) in [(9.0, 10.0), (10.0, 10.0), (11.0, 8.0)] {
        let mut cubic = Cubic::new(1_000, 10);
        cubic.plateau = plateau;
        let now = Instant::START;
        let offered = u64::MAX;
        cubic.on_loss(&Loss { now, in_flight: 10_000, in_network: 0, offered });
        assert_eq!(cubic.plateau, sunk, "{plateau}");
    }
}
