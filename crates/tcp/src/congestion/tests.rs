use super::*;

fn ack(bytes: u64) -> Acknowledged {
    Acknowledged { now: Instant::START, bytes, rtt: None, limited: true }
}

fn loss(in_flight: u64) -> Loss {
    Loss { now: Instant::START, in_flight, offered: 1 << 20 }
}

#[test]
fn slow_start_doubles_and_avoidance_adds_one_segment_per_round() {
    for byte_counting in [false, true] {
        let mut reno = Law::Reno.start(1_000, 10, byte_counting);
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
        let mut reno = Law::Reno.start(1_000, 10, byte_counting);
        (0..5).for_each(|_| reno.on_acknowledged(&ack(2_000)));
        reno.window()
    };
    assert_eq!((window(false), window(true)), (15_000, 20_000));
}

#[test]
fn after_a_timeout_slow_start_begins_with_one_segment() {
    for law in [Law::Net3Reno, Law::Reno, Law::Cubic] {
        let mut controller = law.start(1_000, 10, true);
        (0..30).for_each(|_| controller.on_acknowledged(&ack(1_000)));
        controller.on_timeout(&loss(30_000), true);
        assert_eq!(controller.window(), 1_000, "{}", law.name());
        assert!(controller.threshold() >= 15_000 && controller.threshold() <= 21_000);
    }
}

#[test]
fn the_old_law_halves_the_smaller_window_in_whole_segments() {
    let mut net3 = net3_reno::Net3Reno::new(1_460);
    (0..40).for_each(|_| net3.on_acknowledged(&ack(1_460)));
    net3.on_loss(&Loss { offered: 16_384, ..loss(16_384) });
    // 16384 / 2 / 1460 = 5 whole segments.
    assert_eq!(net3.threshold(), 5 * 1_460);
}

#[test]
fn a_window_that_does_not_hold_back_does_not_grow() {
    for law in [Law::Reno, Law::Cubic] {
        let mut controller = law.start(1_000, 10, true);
        controller.on_acknowledged(&Acknowledged { limited: false, ..ack(1_000) });
        assert_eq!(controller.window(), 10_000);
    }
}
