use super::*;

fn ack(bytes: u64) -> Acknowledged {
    let now = Instant::START;
    let rtt = None;
    let sample = None;
    Acknowledged { now, bytes, rtt, limited: true, sample, una: 0, next: 0 }
}

fn loss(in_flight: u64) -> Loss {
    Loss { now: Instant::START, in_flight, in_network: in_flight, offered: 1 << 20 }
}

/// Returns the algorithms that the window alone drives, which are all but the models of the path.
fn window_based() -> impl Iterator<Item = CongestionControl> {
    let all = CongestionControl::BUILT_IN.iter().copied();
    all.filter(|algorithm| !algorithm.start(1_000, 10, true).is_model())
}

/// Starts the controllers that keep to RFC 5681 and to what extends it.
///
/// An algorithm that departs from it on purpose is an exception here, as that of RFC 2001 is.
fn laws() -> impl Iterator<Item = Box<dyn CongestionController>> {
    let standard = window_based().filter(|it| *it != CongestionControl::NET3_RENO);
    standard.map(|algorithm| algorithm.start(1_000, 10, true))
}

#[test]
fn slow_start_doubles_and_avoidance_adds_one_segment_per_round() {
    for byte_counting in [false, true] {
        let mut reno = CongestionControl::RENO.start(1_000, 10, byte_counting);
        (0..10).for_each(|_| reno.on_acknowledged(&ack(1_000)));
        assert_eq!(reno.window(), 20_000);
        reno.on_loss(&loss(20_000));
        assert_eq!((reno.window(), reno.threshold()), (10_000, 10_000));
        (0..10).for_each(|_| reno.on_acknowledged(&ack(1_000)));
        // Equation 3 divides by the window as it grows: a little under one segment per round.
        assert!((10_900..=11_000).contains(&reno.window()), "{}", reno.window());
    }
}

#[test]
fn byte_counting_makes_up_for_stretched_acknowledgments() {
    //= S2.47
    let window = |byte_counting| {
        let mut reno = CongestionControl::RENO.start(1_000, 10, byte_counting);
        (0..5).for_each(|_| reno.on_acknowledged(&ack(2_000)));
        reno.window()
    };
    assert_eq!((window(false), window(true)), (15_000, 20_000));
}

#[test]
fn after_a_timeout_slow_start_begins_with_one_segment() {
    for algorithm in window_based() {
        let mut controller = algorithm.start(1_000, 10, true);
        (0..30).for_each(|_| controller.on_acknowledged(&ack(1_000)));
        controller.on_timeout(&loss(30_000), true);
        assert_eq!(controller.window(), 1_000, "{}", algorithm.name());
        // Some algorithms count whole segments.
        let threshold = (30_000.0 * controller.beta()) as u64;
        assert!(controller.threshold().abs_diff(threshold) < 1_000, "{controller:?}");
    }
}

#[test]
fn net3_reno_halves_the_smaller_window_in_whole_segments() {
    let mut net3 = net3_reno::Net3Reno::new(1_460);
    (0..40).for_each(|_| net3.on_acknowledged(&ack(1_460)));
    net3.on_loss(&Loss { offered: 16_384, ..loss(16_384) });
    // 16384 / 2 / 1460 = 5 whole segments.
    assert_eq!(net3.threshold(), 5 * 1_460);
}

#[test]
fn net3_reno_grows_by_a_segment_for_a_window_of_acknowledgments_above_the_threshold() {
    let mut net3 = net3_reno::Net3Reno::new(1_000);
    net3.on_loss(&Loss { offered: 8_000, ..loss(8_000) });
    assert_eq!((net3.window(), net3.threshold()), (2_000, 2_000));
    let windows = [(); 3].map(|()| {
        net3.on_acknowledged(&ack(1_000));
        net3.window()
    });
    assert_eq!(windows, [3_000, 3_333, 3_633]);
}

#[test]
fn a_window_that_does_not_hold_back_does_not_grow() {
    for mut law in laws() {
        law.on_acknowledged(&Acknowledged { limited: false, ..ack(1_000) });
        assert_eq!(law.window(), 10_000, "{law:?}");
    }
}

/// Returns a controller that has acknowledgments for a window's worth of segments in each round
/// trip of 100 ms, one for `each` segments, from `at` until `seconds` later; returns the window in
/// segments then.
fn rounds(
    controller: &mut dyn CongestionController,
    at: &mut Instant,
    seconds: f64,
    each: u64,
) -> f64 {
    let round = Duration::from_millis(100);
    let end = at.saturating_add(Duration::from_nanos((seconds * 1e9) as u64));
    while *at < end {
        let count = (controller.window() / 1_000 / each).max(1);
        for _ in 0..count {
            let bytes = each * 1_000;
            let ack = Acknowledged { now: *at, rtt: Some(round), ..ack(bytes) };
            controller.on_acknowledged(&ack);
            *at = at.saturating_add(round / count);
        }
    }
    controller.window() as f64 / 1_000.0
}

#[test]
fn cubic_comes_back_to_its_plateau_along_the_cubic() {
    let mut cubic = cubic::Cubic::new(1_000, 1_000);
    let mut now = Instant::START;
    cubic.on_loss(&Loss { now, ..loss(1_000_000) });
    assert_eq!((cubic.window(), cubic.threshold()), (700_000, 700_000));
    // RFC 9438, equations 1 and 2: W(t) = 0.4 (t - K)³ + 1000 with K = ∛(300 / 0.4) = 9.086 s,
    // a round trip ahead, which it does not quite reach where it is steep.
    while now < Instant::START.saturating_add(Duration::from_secs(12)) {
        let window = rounds(&mut cubic, &mut now, 1.0, 1);
        let passed = now.saturating_since(Instant::START).as_secs_f64();
        let expected = 0.4 * (passed + 0.1 - 9.086).powi(3) + 1_000.0;
        assert!((window - expected).abs() < 8.0, "{passed} s: {window} instead of {expected}");
    }
}

#[test]
fn cubic_releases_bandwidth_when_the_plateau_sinks() {
    let mut cubic = cubic::Cubic::new(1_000, 1_000);
    let mut now = Instant::START;
    cubic.on_loss(&loss(1_000_000));
    let window = rounds(&mut cubic, &mut now, 0.5, 1);
    assert!((700.0..800.0).contains(&window), "{window}");
    cubic.on_loss(&Loss { now, ..loss(700_000) });
    assert!(cubic.window().abs_diff(490_000) <= 1);
    // Fast convergence (section 4.7): the new plateau is 0.85 of the window at this loss, which is
    // reached after K = ∛((0.85 W - 490) / 0.4).
    let plateau = 0.85 * window;
    let to_plateau = ((plateau - 490.0) / 0.4).cbrt();
    let reached = rounds(&mut cubic, &mut now, to_plateau, 2);
    assert!((reached - plateau).abs() < 3.0, "{reached} instead of {plateau}");
}

#[test]
fn cubic_is_never_slower_than_reno_where_windows_are_small() {
    // Section 4.3: below the plateau the estimate grows by 3 · 0.3 / 1.7 of a segment a round.
    // A receiver that acknowledges every second segment changes nothing.
    for each in [1, 2] {
        let mut cubic = cubic::Cubic::new(1_000, 10);
        let mut now = Instant::START;
        cubic.on_loss(&loss(10_000));
        let window = rounds(&mut cubic, &mut now, 0.5, each);
        let expected = 7.0 + 5.0 * 0.9 / 1.7;
        assert!((window - expected).abs() < 0.6, "{window} instead of {expected}");
    }
}

#[test]
fn a_limit_lowers_the_window_and_never_below_one_segment() {
    for algorithm in CongestionControl::BUILT_IN {
        let mut controller = algorithm.start(1_000, 10, false);
        (0..20).for_each(|_| controller.on_acknowledged(&ack(1_000)));
        let before = controller.window();
        controller.limit(before + 5_000);
        assert_eq!(controller.window(), before, "{}", algorithm.name());
        controller.limit(4_500);
        assert_eq!(controller.window(), 4_500, "{}", algorithm.name());
        controller.limit(1);
        assert_eq!(controller.window(), 1_000, "{}", algorithm.name());
    }
}

#[test]
fn smaller_segments_leave_the_window_as_many_of_them() {
    for algorithm in window_based() {
        let mut controller = algorithm.start(1_000, 10, false);
        (0..20).for_each(|_| controller.on_acknowledged(&ack(1_000)));
        let segments = controller.window() / 1_000;
        assert!(segments > 10, "{}", algorithm.name());
        controller.set_mss(600);
        assert_eq!(controller.window(), segments * 600, "{}", algorithm.name());
        // And after a pause it begins with as many as at first, which for the old algorithm is one.
        controller.on_idle();
        let initial = if algorithm == CongestionControl::NET3_RENO { 1 } else { 10 };
        assert_eq!(controller.window(), initial * 600, "{}", algorithm.name());
        controller.on_timeout(&loss(6_000), true);
        assert_eq!(controller.window(), 600, "{}", algorithm.name());
    }
}

#[test]
fn each_law_has_the_name_that_chooses_it() {
    let laws = CongestionControl::BUILT_IN;
    for (place, law) in laws.iter().enumerate() {
        assert_eq!(CongestionControl::built_in(law.name()), Some(*law));
        assert!(!laws[..place].contains(law), "{law:?} is the name of two");
    }
    assert_eq!(CongestionControl::CUBIC.name(), "cubic");
    assert_eq!(CongestionControl::BBR.name(), "bbr");
    assert_eq!(CongestionControl::RENO.name(), "reno");
    assert_eq!(CongestionControl::NET3_RENO.name(), "net3-reno");
    assert_eq!(CongestionControl::built_in("vegas"), None);
    assert_eq!(format!("{:?}", CongestionControl::default()), "cubic");
}

#[test]
fn what_byte_counting_has_left_over_counts_for_the_next_segment() {
    // RFC 3465, section 2.1.
    let mut reno = CongestionControl::RENO.start(1_000, 10, true);
    reno.on_loss(&loss(20_000));
    reno.on_acknowledged(&ack(10_500));
    assert_eq!(reno.window(), 11_000);
    reno.on_acknowledged(&ack(10_500));
    assert_eq!(reno.window(), 12_000);
}

#[test]
fn a_spurious_timeout_brings_window_and_threshold_back() {
    // RFC 4015, section 3.2; RFC 9438, section 4.9.
    for mut law in laws() {
        law.on_loss(&loss(10_000));
        law.on_recovered();
        let before = (law.window(), law.threshold());
        law.on_timeout(&loss(5_000), true);
        assert_eq!(law.window(), 1_000);
        assert!(law.threshold() < before.1);
        law.on_spurious_timeout();
        assert_eq!((law.window(), law.threshold()), before, "{law:?}");
        // It is taken back once, not for a later one.
        law.limit(2_000);
        law.on_spurious_timeout();
        assert_eq!(law.window(), 2_000, "{law:?}");
    }
}

#[test]
fn a_spurious_loss_brings_the_window_before_the_recovery_back_through_a_timeout_too() {
    for timeout in [false, true] {
        for mut law in laws() {
            (0..10).for_each(|_| law.on_acknowledged(&ack(1_000)));
            let before = (law.window(), law.threshold());
            law.on_loss(&loss(20_000));
            if timeout {
                law.on_timeout(&loss(10_000), true);
            }
            law.on_spurious_loss();
            assert_eq!((law.window(), law.threshold()), before, "{law:?}");
        }
    }
    // After the recovery a timeout is its own: what it found comes back.
    for mut law in laws() {
        law.on_loss(&loss(10_000));
        law.on_recovered();
        let between = law.window();
        law.on_timeout(&loss(5_000), true);
        law.on_spurious_timeout();
        assert_eq!(law.window(), between, "{law:?}");
    }
}

#[test]
fn a_timeout_that_fires_again_halves_nothing_again() {
    // RFC 5681, section 3.1: the threshold is held at its value for data sent again already.
    for mut law in laws() {
        law.on_timeout(&loss(20_000), true);
        let threshold = law.threshold();
        law.on_timeout(&loss(4_000), false);
        assert_eq!((law.window(), law.threshold()), (1_000, threshold), "{law:?}");
    }
}

#[test]
fn after_a_timeout_a_stretched_acknowledgment_counts_for_one_segment() {
    // RFC 3465, section 2.3, until congestion avoidance.
    let mut reno = CongestionControl::RENO.start(1_000, 10, true);
    reno.on_timeout(&loss(8_000), true);
    reno.on_acknowledged(&ack(2_000));
    assert_eq!(reno.window(), 2_000);
    (0..2).for_each(|_| reno.on_acknowledged(&ack(1_000)));
    assert_eq!(reno.window(), reno.threshold());
    reno.on_acknowledged(&ack(1_000));
    assert_eq!(reno.window(), 4_000);
    // At most two segments without one, however many were acknowledged.
    let mut reno = CongestionControl::RENO.start(1_000, 10, true);
    reno.on_acknowledged(&ack(5_000));
    assert_eq!(reno.window(), 12_000);
}

#[test]
fn equation_3_adds_a_byte_at_least() {
    // RFC 5681, section 3.1: rounded up to 1 byte where it yields 0.
    let mut reno = CongestionControl::RENO.start(100, 1_000, false);
    reno.on_loss(&loss(100_000));
    reno.on_acknowledged(&ack(100));
    assert_eq!(reno.window(), 50_001);
}

#[test]
fn half_of_what_is_in_flight_is_two_segments_at_least() {
    // RFC 5681, equation 4; RFC 9438, section 4.6.
    for mut law in laws() {
        law.on_loss(&loss(1_000));
        assert_eq!((law.window(), law.threshold()), (2_000, 2_000), "{law:?}");
    }
}

#[test]
fn a_pause_leaves_the_initial_window_and_a_smaller_one_as_it_is() {
    // RFC 5681, section 4.1.
    for mut law in laws() {
        (0..10).for_each(|_| law.on_acknowledged(&ack(1_000)));
        assert_eq!(law.window(), 20_000);
        law.on_idle();
        assert_eq!(law.window(), 10_000, "{law:?}");
        law.limit(3_000);
        law.on_idle();
        assert_eq!(law.window(), 3_000, "{law:?}");
    }
}

#[test]
fn hystart_slows_the_first_slow_start_and_ends_it_before_a_loss() {
    // RFC 9406: a quarter of the growth for five rounds, and then congestion avoidance.
    for mut law in laws() {
        law.use_hystart();
        let mut una = 0;
        let mut round = |law: &mut dyn CongestionController, millis| {
            let before = law.window();
            for _ in 0..10 {
                una += 1_000;
                let sample = Some(Duration::from_millis(millis));
                let it = Acknowledged { sample, una, next: una + 10_000, ..ack(1_000) };
                law.on_acknowledged(&it);
            }
            law.window() - before
        };
        assert_eq!(round(&mut *law, 40), 10_000, "{law:?}");
        assert!(round(&mut *law, 60) < 10_000);
        assert_eq!(round(&mut *law, 60), 2_500, "{law:?}");
        (0..3).for_each(|_| _ = round(&mut *law, 60));
        assert!(law.threshold() > 1 << 40, "{law:?}");
        (0..2).for_each(|_| _ = round(&mut *law, 60));
        assert!(law.threshold() <= law.window(), "{law:?}");
        assert!(round(&mut *law, 60) < 1_000, "{law:?}");
    }
    // Without, and after the first loss, no round trip matters.
    for mut law in laws() {
        law.use_hystart();
        law.on_loss(&loss(100_000));
        law.on_timeout(&loss(100_000), true);
        for n in 0..40 {
            let sample = Some(Duration::from_millis(40 + 10 * n));
            law.on_acknowledged(&Acknowledged {
                sample,
                una: n * 500,
                next: n * 500 + 1,
                ..ack(1_000)
            });
        }
        assert_eq!(law.window().min(41_000), 41_000, "{law:?}");
    }
}

#[test]
fn net3_reno_grows_to_64_kilobytes_and_forgets_no_timeout() {
    // RFC 2001 without window scaling; it knew of no spurious timeouts.
    let mut net3 = CongestionControl::NET3_RENO.start(1_000, 10, false);
    assert_eq!((net3.window(), net3.threshold()), (1_000, 65_535));
    (0..70).for_each(|_| net3.on_acknowledged(&Acknowledged { limited: false, ..ack(1_000) }));
    assert_eq!(net3.window(), 65_535);
    net3.on_timeout(&loss(1_000), true);
    net3.on_spurious_timeout();
    assert_eq!((net3.window(), net3.threshold()), (1_000, 32_000));
    // At the threshold it still grows by a segment; above, by a part of one.
    (0..31).for_each(|_| net3.on_acknowledged(&ack(1_000)));
    assert_eq!(net3.window(), 32_000);
    net3.on_acknowledged(&ack(1_000));
    assert_eq!(net3.window(), 33_000);
    net3.on_acknowledged(&ack(1_000));
    assert_eq!(net3.window(), 33_030);
}

#[test]
fn a_model_of_the_path_paces_and_no_other_controller_does() {
    for law in CongestionControl::BUILT_IN.iter().map(|it| it.start(1_000, 10, false)) {
        for round_trip in [None, Some(Duration::from_millis(10))] {
            assert_eq!(law.pacing_rate(round_trip).is_some(), law.is_model(), "{law:?}");
        }
    }
    assert!(CongestionControl::BBR.start(1_000, 10, false).is_model());
    assert!(!CongestionControl::CUBIC.start(1_000, 10, false).is_model());
}

#[test]
fn a_mark_reduces_as_a_loss_does() {
    // RFC 3168, section 6.1.2.
    for (mut lost, mut marked) in laws().zip(laws()) {
        lost.on_loss(&loss(10_000));
        marked.on_mark(&loss(10_000));
        assert!(marked.window() < 10_000);
        assert_eq!((marked.window(), marked.threshold()), (lost.window(), lost.threshold()));
    }
}

#[test]
fn a_window_that_has_grown_since_a_spurious_loss_stays() {
    // RFC 4015, section 3.2: the window never falls by that.
    for mut law in laws() {
        law.on_loss(&loss(10_000));
        law.on_recovered();
        let mut now = Instant::START;
        rounds(&mut *law, &mut now, 8.0, 1);
        let grown = law.window();
        assert!(grown > 20_000, "{law:?}");
        law.on_spurious_loss();
        assert_eq!(law.window(), grown, "{law:?}");
    }
}

#[test]
fn the_segments_of_now_stay_when_a_loss_proves_spurious() {
    for mut law in laws() {
        law.on_loss(&loss(10_000));
        law.set_mss(600);
        law.on_spurious_loss();
        law.limit(1);
        assert_eq!(law.window(), 600, "{law:?}");
    }
}
