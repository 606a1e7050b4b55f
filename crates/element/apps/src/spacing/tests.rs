use super::*;

const SECOND: u64 = 1_000_000_000;

/// The times of datagrams of 1250 bytes at 1 Mb/s, each 10 ms, within `seconds`.
fn times(spacing: Spacing, number: u64, seconds: u64) -> Vec<u64> {
    let pace = Pace::Rate(Rate::from_mbps(1).expect("a rate"));
    let exact = Departures::exact(Instant::START, pace);
    times_of(Departures { staggered: number > 0, spacing, ..exact }, number, seconds)
}

fn times_of(timing: Departures, number: u64, seconds: u64) -> Vec<u64> {
    let mut schedule = Schedule::new(&timing, 1_250, (Seed(4), number));
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

#[test]
fn jitter_delays_each_datagram_by_a_time_of_its_own_and_the_pace_holds() {
    let exact = Departures::exact(Instant::START, Pace::Every(Duration::from_millis(10)));
    for jitter in [50_000, 30_000_000] {
        let timing = Departures { jitter: Duration::from_nanos(jitter), ..exact };
        let times = times_of(timing, 0, 100);
        assert!(times.is_sorted());
        let late = |(number, time): (u64, &u64)| time - number * (SECOND / 100);
        let delays: Vec<u64> = (0..).zip(&times).map(late).collect();
        // Evenly within the jitter, and at most a step: 4 deviations of a mean of 10 000.
        let most = jitter.min(SECOND / 100) as f64;
        assert!(delays.iter().all(|delay| (*delay as f64) < most));
        let mean = delays.iter().sum::<u64>() as f64 / delays.len() as f64;
        assert!((mean / most - 0.5).abs() < 4.0 * 0.289 / 100.0, "{mean}");
        assert_ne!(times, times_of(timing, 1, 100));
    }
}
