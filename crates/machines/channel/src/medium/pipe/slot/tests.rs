use super::*;

fn at(us: u64) -> Instant {
    Instant::START + Duration::from_micros(us)
}

fn slots(text: &str) -> Slots {
    Slots::new(text.parse().expect(text), Seed(7), "pipe")
}

/// When frames of 1000 bytes leave that come at these times, in microseconds, and are due so much
/// later.
fn left(text: &str, delay: u64, came: impl IntoIterator<Item = u64>) -> Vec<u64> {
    let mut slots = slots(text);
    let left = came.into_iter().map(|us| slots.leave(at(us), at(us + delay), 1000));
    left.map(|left| (left - Instant::START).as_nanos() / 1000).collect()
}

#[test]
fn what_has_come_leaves_together_at_the_next_slot() {
    // The first slot is there at the start; a frame after it waits for the next.
    let came = [0, 1_000, 2_000, 11_000, 12_000, 90_000];
    assert_eq!(left("10ms", 0, came), [0, 11_000, 11_000, 11_000, 22_000, 100_000]);
}

#[test]
fn a_slot_carries_so_many_packets_or_bytes() {
    assert_eq!(left("10ms packets 2", 0, [0; 5]), [0, 0, 10_000, 10_000, 20_000]);
    // The frame with which the bytes are reached still leaves.
    assert_eq!(left("10ms bytes 2500B", 0, [0; 4]), [0, 0, 0, 10_000]);
    assert_eq!(left("10ms packets 2 bytes 1kB", 0, [0; 3]), [0, 10_000, 20_000]);
}

#[test]
fn a_slot_before_a_frame_is_due_is_over_for_it() {
    // Drawn from when it came, and once more from when it is due.
    assert_eq!(left("30ms", 20_000, [5_000]), [35_000]);
    assert_eq!(left("3ms", 20_000, [5_000]), [28_000]);
}

/// Returns mean, least and greatest of 20 000 gaps, in milliseconds.
fn gaps(text: &str) -> (f64, f64, f64) {
    let left = left(text, 0, [0; 20_001]);
    let gaps: Vec<f64> = left.windows(2).map(|it| (it[1] - it[0]) as f64 / 1000.0).collect();
    let fold = |start, of: fn(f64, f64) -> f64| gaps.iter().copied().fold(start, of);
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    (mean, fold(f64::MAX, f64::min), fold(0.0, f64::max))
}

#[test]
fn gaps_have_their_distribution() {
    let (mean, least, most) = gaps("20ms 40ms packets 1");
    // The standard error of the mean is 0.04 ms.
    assert!((mean - 30.0).abs() < 0.2 && least >= 20.0 && most <= 40.0, "{mean} {least} {most}");
    assert!(least < 20.1 && most > 39.9, "{least} {most}");
    let (mean, least, most) = gaps("distribution normal 20ms 2ms packets 1");
    assert!((mean - 20.0).abs() < 0.08 && (12.0..15.0).contains(&least), "{mean} {least}");
    assert!((25.0..=28.0).contains(&most), "{most}");
    let (mean, least, _) = gaps("distribution pareto 20ms 2ms packets 1");
    assert!((mean - 20.0).abs() < 0.1 && least > 18.0, "{mean} {least}");
}

#[test]
fn gaps_have_the_distribution_of_a_table() {
    // One jitter below the mean, or above: nothing in between.
    let slot = "distribution normal 20ms 5ms packets 1".parse::<Slotting>().expect("slots");
    let slot = slot.with_table("# two entries\n-8192\n8192\n").expect("a table");
    assert!(slot.has_distribution());
    let mut slots = Slots::new(slot.clone(), Seed(7), "pipe");
    let left: Vec<_> = (0..2_001).map(|_| slots.leave(at(0), at(0), 1000)).collect();
    let gaps: Vec<_> = left.windows(2).map(|it| (it[1] - it[0]).as_nanos() / 1_000_000).collect();
    let short = gaps.iter().filter(|gap| **gap == 15).count();
    assert_eq!(short + gaps.iter().filter(|gap| **gap == 25).count(), 2_000);
    // The deviation of the count is 22.
    assert!((900..1_100).contains(&short), "{short}");
    assert!(slot.with_table("none").is_err());
    let even = "20ms 40ms".parse::<Slotting>().expect("slots");
    assert!(!even.has_distribution());
    assert_eq!(even.clone().with_table("8192"), Ok(even));
}

#[test]
fn other_slots_begin_behind_the_frames_that_wait_for_those_before() {
    for seed in 1..=10 {
        let made = |text: &str| Slots::new(text.parse().expect(text), Seed(seed), "pipe");
        let mut slots = made("20ms 40ms packets 5");
        let mut last = Instant::START;
        for number in 0..1_000_u64 {
            if number == 500 {
                slots = made("5ms").behind(Some(&slots));
            }
            let left = slots.leave(at(number * 2_000), at(number * 2_000), 1000);
            assert!(left >= last, "seed {seed}, frame {number}: {left:?} before {last:?}");
            last = left;
        }
        // The new slots take what comes, once those before are through with what waited.
        assert!(last - at(999 * 2_000) < Duration::from_secs(2), "seed {seed}: {last:?}");
    }
}

#[test]
fn a_seed_repeats_the_slots() {
    let times = || left("1ms 9ms packets 3", 0, (0..300).map(|it| it * 200));
    assert_eq!(times(), times());
}

#[test]
fn texts_are_those_of_netem() {
    let same =
        ["20ms", "20ms 40ms packets 32 bytes 64000B", "distribution normal 20ms 5ms bytes 9B"];
    for text in same {
        assert_eq!(text.parse::<Slotting>().expect(text).to_string(), text);
    }
    for wrong in [
        "",
        "0ms",
        "40ms 20ms",
        "20ms packets 0",
        "20ms packets",
        "20ms 1 2",
        "distribution even 1ms 1ms",
        "20ms packets 1 packets 2",
        "20ms bytes 0B",
    ] {
        assert!(wrong.parse::<Slotting>().is_err(), "{wrong}");
    }
}

#[test]
fn gaps_may_be_of_centuries() {
    let gap = Duration::from_secs(12_000_000_000);
    for text in ["12000000000s packets 1", "12000000000s 12000000000s bytes 1B"] {
        assert_eq!(slots(text).timing().wait, gap, "{text}");
    }
    let both = slots("9400000000s 18000000000s packets 2").timing();
    assert_eq!(both.per_frame, Duration::from_secs(6_850_000_000));
    // The second frame would leave behind the end of time.
    let left = left("12000000000s packets 1", 0, [1, 2, 3]);
    assert_eq!(left, [12_000_000_000_000_001, u64::MAX / 1_000, u64::MAX / 1_000]);
}
