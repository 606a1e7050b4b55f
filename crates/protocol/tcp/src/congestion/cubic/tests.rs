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
    let loss = Loss { now: Instant::START, in_flight: 100_000, offered: u64::MAX };
    cubic.on_loss(&loss);
    assert_eq!(cubic.window(), 70_000);
    // K = cbrt(30 / 0.4) = 4.217 s; acknowledgments of one segment each, 100 per RTT of 1 s.
    let rtt = Duration::from_secs(1);
    let mut reached = None;
    for step in 0..1_000_u64 {
        let now = Instant::START.saturating_add(Duration::from_millis(10 * step));
        cubic.on_acknowledged(&Acknowledged { now, bytes: 1_000, rtt: Some(rtt), limited: true });
        if cubic.window() >= 99_900 && reached.is_none() {
            reached = Some(now.as_secs_f64());
        }
    }
    // The window chases a target one RTT ahead and is one RTT late: within one RTT of K.
    let reached = reached.unwrap();
    assert!((reached - 4.217).abs() < 1.0, "{reached}");
}
