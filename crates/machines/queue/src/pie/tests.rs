use windfall_base::Seed;

use super::*;

fn at(ms: u64) -> Instant {
    Instant::START + Duration::from_millis(ms)
}

fn controller(seed: u64) -> Pie {
    Pie::new(PieConfig::USUAL, Stream::new(Seed(seed), "pie"))
}

/// Keeps the delay at `delay` from `from` to `until`, in ms, and returns the probability after
/// each update.
fn hold(pie: &mut Pie, (from, until): (u64, u64), delay: u64) -> Vec<f64> {
    let times = (from..until).step_by(15);
    times
        .map(|ms| {
            pie.update(at(ms), Some(at(ms.saturating_sub(delay))));
            pie.probability
        })
        .collect()
}

#[test]
fn the_probability_follows_the_controller_of_the_rfc() {
    let mut pie = controller(1);
    let got = hold(&mut pie, (15, 15 * 60), 40);
    // An own calculation, step by step, of the delay held at 40 ms (25 ms above the target).
    let mut p = 0.0_f64;
    let mut old = 0.0;
    for (step, got) in got.iter().enumerate() {
        let delay = (15.0 * (step as f64 + 1.0)).min(40.0) / 1e3;
        let divisor = match p {
            p if p < 1e-6 => 2048.0,
            p if p < 1e-5 => 512.0,
            p if p < 1e-4 => 128.0,
            p if p < 1e-3 => 32.0,
            p if p < 1e-2 => 8.0,
            p if p < 1e-1 => 2.0,
            _ => 1.0,
        };
        let change = (0.125 * (delay - 0.015) + 1.25 * (delay - old)) / divisor;
        p = (p + if p >= 0.1 { change.min(0.02) } else { change }).clamp(0.0, 1.0);
        old = delay;
        assert!((p - got).abs() < 1e-12, "step {step}: {p} {got}");
    }
    assert!(p > 0.001, "{p}");
}

#[test]
fn a_short_delay_lets_the_probability_go_and_bursts_in() {
    let mut pie = controller(1);
    hold(&mut pie, (15, 3_000), 60);
    assert!(pie.probability > 0.01);
    assert!(pie.burst.is_zero());
    for ms in (3_000..90_000).step_by(15) {
        pie.update(at(ms), None);
    }
    assert_eq!((pie.probability, pie.burst), (0.0, PieConfig::USUAL.burst));
}

#[test]
fn a_long_time_without_packets_is_bounded_work_and_forgets_all() {
    let mut pie = controller(1);
    hold(&mut pie, (15, 3_000), 60);
    pie.update(at(1_000_000_000), None);
    assert!(pie.probability == 0.0 && pie.next > at(999_999_999));
}

#[test]
fn packets_are_hit_as_often_as_the_probability_says_and_never_in_clumps() {
    let mut rates = Vec::new();
    for seed in 0..10 {
        let mut pie = controller(seed);
        (pie.probability, pie.burst, pie.delay) = (0.05, Duration::ZERO, at(40) - Instant::START);
        let mut hits = Vec::new();
        for packet in 0..20_000_u32 {
            if pie.judge(100_000).is_some() {
                hits.push(packet);
            }
        }
        let gaps: Vec<u32> = hits.windows(2).map(|pair| pair[1] - pair[0]).collect();
        // The sum of probabilities between two hits is 0.85 to 8.5, but for rounding.
        assert!(gaps.iter().all(|gap| (17..=171).contains(gap)), "{gaps:?}");
        rates.push(hits.len() as f64 / 20_000.0);
    }
    // A hit comes after 16 packets that are spared and a geometric wait of mean 20: one in 36.
    let mean = rates.iter().sum::<f64>() / 10.0;
    assert!((mean - 1.0 / 36.0).abs() < 0.001, "{mean}: {rates:?}");
}

#[test]
fn marks_are_enough_up_to_a_probability_of_ten_percent() {
    let mut pie = controller(3);
    (pie.burst, pie.delay, pie.sum) = (Duration::ZERO, Duration::from_millis(40), 9.0);
    pie.probability = 0.1;
    assert_eq!(pie.judge(100_000), Some(CanMark(true)));
    (pie.probability, pie.sum) = (0.11, 9.0);
    assert_eq!(pie.judge(100_000), Some(CanMark(false)));
    pie.sum = 9.0;
    assert_eq!(pie.judge(SHORT), None, "a queue so short is spared");
}

#[test]
fn a_burst_is_borne_again_after_two_delays_below_half_the_target() {
    // RFC 8033, section 4.4; the target is 15 ms.
    for (probability, before, now, is_borne) in [
        (0.0, 7.4, 7.4, true),
        (0.0, 7.5, 7.4, false),
        (0.0, 7.4, 7.5, false),
        (0.0, 14.0, 14.0, false),
        (0.0, 7.4, 7.0, true),
        (0.5, 7.4, 7.4, false),
    ] {
        let mut pie = controller(1);
        let delay = |ms: f64| Duration::from_secs_f64(ms / 1e3);
        (pie.probability, pie.burst, pie.delay) = (probability, Duration::ZERO, delay(before));
        pie.step(delay(now));
        let expected = if is_borne { PieConfig::USUAL.burst } else { Duration::ZERO };
        assert_eq!(pie.burst, expected, "{probability} {before} {now}");
        assert_eq!(pie.delay, delay(now));
    }
}

#[test]
fn a_short_delay_spares_packets_while_the_probability_is_below_a_fifth() {
    // RFC 8033, section 4.1: safeguards; two packets are always spared.
    for (delay, probability, waiting, burst, is_hit) in [
        (7_400, 0.19, 513, 0, false),
        (7_500, 0.19, 513, 0, true),
        (7_400, 0.2, 513, 0, true),
        (40_000, 0.19, 512, 0, false),
        (40_000, 0.19, 513, 1, false),
        (40_000, 0.0, 513, 0, false),
    ] {
        let mut pie = controller(1);
        (pie.probability, pie.sum) = (probability, 9.0);
        (pie.delay, pie.burst) = (Duration::from_micros(delay), Duration::from_millis(burst));
        let is_dropped = pie.judge(waiting).is_some();
        assert_eq!(is_dropped, is_hit, "{delay} {probability} {waiting} {burst}");
    }
    // Without a probability nothing of earlier ones counts (section 5.4).
    let mut pie = controller(1);
    (pie.sum, pie.burst, pie.delay) = (9.0, Duration::ZERO, Duration::from_millis(40));
    pie.judge(513);
    assert_eq!(pie.sum, 0.0);
}

#[test]
fn updates_that_are_due_follow_the_delay_of_the_packet_at_the_head() {
    let mut pie = controller(1);
    // Three are due at 45 ms: the packet came at 20 ms and had waited for 0, 10 and 25 ms then.
    let mut same = controller(1);
    pie.update(at(45), Some(at(20)));
    for ms in [0, 10, 25] {
        same.step(Duration::from_millis(ms));
    }
    assert_eq!((pie.probability, pie.delay, pie.next), (same.probability, same.delay, at(60)));
    pie.update(at(59), Some(at(20)));
    assert_eq!(pie.next, at(60), "none is due");
}
