use super::*;

const SECOND: u64 = 1_000_000_000;

/// The times of datagrams of 1250 bytes at 1 Mb/s, each 10 ms, within `seconds`.
fn times(spacing: Spacing, number: u64, seconds: u64) -> Vec<u64> {
    let pace = Pace::Rate(Rate::from_mbps(1).expect("a rate"));
    let start = (Instant::START, number > 0);
    let mut schedule = Schedule::new(start, pace, 1_250, spacing, (Seed(4), number));
    let mut times = Vec::new();
    while schedule.next < Instant::START + Duration::from_secs(seconds) {
        times.push(schedule.next.as_nanos());
        schedule.advance();
    }
    times
}

#[test]
fn poisson_arrivals_have_the_mean_and_the_spread_of_their_law() {
    let times = times(Spacing::Poisson, 0, 1_000);
    let count = times.len() as f64;
    // 100 000 expected, with a deviation of their root.
    assert!((count - 1e5).abs() < 4.0 * 1e5_f64.sqrt(), "{count}");
    let gaps: Vec<f64> = times.windows(2).map(|pair| (pair[1] - pair[0]) as f64 / 1e7).collect();
    let longer = |than: f64| gaps.iter().filter(|gap| **gap > than).count() as f64 / count;
    for than in [0.1_f64, 1.0, 3.0] {
        let share = (-than).exp();
        let error = 4.0 * (share * (1.0 - share) / count).sqrt();
        assert!((longer(than) - share).abs() < error, "{than}: {}", longer(than));
    }
}

#[test]
fn on_and_off_times_have_their_means_and_the_pace_holds_while_it_is_on() {
    let (on, off) = (Duration::from_millis(500), Duration::from_millis(1_500));
    let times = times(Spacing::OnOff { on, off }, 0, 20_000);
    let mut silences = 0;
    for pair in times.windows(2) {
        let gap = pair[1] - pair[0];
        assert!(gap >= SECOND / 100, "{gap}");
        silences += u64::from(gap > SECOND / 100);
    }
    // A quarter of 100 a second, over 10 000 periods of which each varies by about its mean.
    let share = times.len() as f64 / 2e6;
    assert!((share / 0.25 - 1.0).abs() < 0.06, "{share}");
    assert!((silences as f64 / 1e4 - 1.0).abs() < 0.06, "{silences}");
}

#[test]
fn senders_of_one_pace_begin_within_a_step_and_each_at_a_moment_of_its_own() {
    let first = |number| times(Spacing::Even, number, 1)[0];
    let firsts: std::collections::BTreeSet<u64> = (0..20).map(first).collect();
    assert_eq!((firsts.len(), first(0)), (20, 0));
    assert!(firsts.iter().all(|time| *time < SECOND / 100), "{firsts:?}");
    assert_eq!(times(Spacing::Poisson, 3, 5), times(Spacing::Poisson, 3, 5));
    assert_ne!(times(Spacing::Poisson, 3, 5), times(Spacing::Poisson, 4, 5));
}
