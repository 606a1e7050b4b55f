use super::*;

const SECOND: u64 = 1_000_000_000;

/// The times of datagrams of 1250 bytes at 1 Mb/s, each 10 ms, within `seconds`.
fn times(spacing: Spacing, number: u64, seconds: u64) -> Vec<u64> {
    let pace = Pace::Rate(Rate::from_mbps(1).expect("a rate"));
    let exact = Departures::exact(Instant::START, pace);
    times_of(Departures { staggered: number > 0, spacing, ..exact }, number, seconds)
}

fn times_of(timing: Departures, number: u64, seconds: u64) -> Vec<u64> {
    let mut schedule = Schedule::new(&timing, 1_250, Seed(4), number);
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
    let on = Duration::from_millis(500);
    let off = Duration::from_millis(1_500);
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
fn jitter_moves_each_datagram_a_little_and_the_pace_holds() {
    let step = SECOND / 100;
    let exact = Departures::exact(Instant::START, Pace::Every(Duration::from_nanos(step)));
    for (jitter, most) in [(None, step / 10), (Some(50_000), 50_000), (Some(3 * step), step)] {
        let timing = Departures { jitter: jitter.map(Duration::from_nanos), ..exact };
        let times = times_of(timing, 0, 1_000);
        assert_eq!((times[0], times.len()), (0, 100_000));
        let gaps = times.windows(2).map(|pair| pair[1].abs_diff(pair[0]).abs_diff(step));
        assert!(gaps.max().is_some_and(|off| (most * 9 / 10..=most).contains(&off)), "{jitter:?}");
        let late = |(number, time): (u64, &u64)| time - number * step;
        let delays: Vec<u64> = (0..).zip(&times).map(late).collect();
        assert!(delays.iter().all(|delay| *delay < step));
        assert_ne!(times, times_of(timing, 1, 1_000));
    }
}

/// Otherwise chance would decide for good how often a sender finds room in a full queue.
#[test]
fn a_delay_is_everywhere_in_its_step_alike_often() {
    let step = SECOND / 100;
    let exact = Departures::exact(Instant::START, Pace::Every(Duration::from_nanos(step)));
    let times = times_of(Departures { jitter: None, ..exact }, 0, 1_000);
    let delays = (0..).zip(&times).map(|(number, time): (u64, &u64)| time - number * step);
    let mut tenths = [0.0; 10];
    delays.for_each(|delay| tenths[(delay * 10 / step) as usize] += 1e-5);
    // It takes about thirty steps to forget where it was: 3 000 places, of which a tenth has a
    // deviation of 0.0055.
    assert!(tenths.iter().all(|share| (share - 0.1_f64).abs() < 0.025), "{tenths:?}");
}
