use super::*;

fn at(us: u64) -> Instant {
    Instant::START + Duration::from_micros(us)
}

fn tokens(bucket: &str) -> Tokens {
    with("8Mbps", bucket)
}

fn with(rate: &str, bucket: &str) -> Tokens {
    Tokens::new(Some(rate.parse().expect(rate)), bucket.parse().expect(bucket))
}

impl Tokens {
    /// When a frame of `length` bytes, which begins at `began`, has left.
    fn finish(&mut self, began: Instant, length: u64) -> Instant {
        self.begin(began, u128::from(length) * 8 * BIT).expect("it leaves")
    }

    fn behind(mut self, before: &Self, now: Instant) -> Self {
        self.continue_from(before, now);
        self
    }
}

#[test]
fn a_burst_leaves_at_once_and_the_rest_at_the_rate() {
    // 8 Mb/s are a byte each microsecond.
    let mut tokens = tokens("5000B");
    let ends: Vec<_> = (0..8).map(|_| tokens.finish(at(100), 1_000)).collect();
    let expected = [100, 100, 100, 100, 100, 1_100, 2_100, 3_100];
    assert_eq!(ends, expected.map(at));
    // Idle time fills it, up to the burst: after 2.4 ms two more leave at once, then the rate.
    let later: Vec<_> = (0..4).map(|_| tokens.finish(at(5_500), 1_000)).collect();
    assert_eq!(later, [5_500, 5_500, 6_100, 7_100].map(at));
}

#[test]
fn a_peak_rate_spreads_the_burst() {
    let mut tokens = tokens("3000B 80Mbps");
    let mut now = at(0);
    let ends: Vec<_> = (0..5)
        .map(|_| {
            now = tokens.finish(now, 1_000);
            now
        })
        .collect();
    // 100 us each at the peak; meanwhile 100 bytes of tokens come with each.
    assert_eq!(ends, [100, 200, 300, 1_000, 2_000].map(at));
}

#[test]
fn a_change_of_the_rate_keeps_the_bytes_that_it_holds() {
    for (rate, gap) in [("80Mbps", 100), ("800kbps", 10_000)] {
        // Empty at 100 us, it stays empty: each frame takes its time at the new rate.
        let mut before = tokens("5000B");
        assert_eq!(before.finish(at(100), 5_000), at(100));
        let mut now = at(100);
        let mut after = with(rate, "5000B").behind(&before, now);
        for number in 1..4 {
            now = after.finish(now, 1_000);
            assert_eq!(now, at(100 + number * gap), "{rate}");
        }
    }
    // Of 5000 bytes 2000 are left; a larger bucket holds no more of them, a smaller one fewer.
    for (burst, leave) in [("9000B", 2), ("2000B", 2), ("1000B", 1)] {
        let mut before = tokens("5000B");
        before.finish(at(100), 3_000);
        let mut after = with("80Mbps", burst).behind(&before, at(100));
        let ends = [(); 3].map(|()| after.finish(at(100), 1_000));
        let at_once = ends.iter().filter(|end| **end == at(100)).count();
        assert_eq!(at_once, leave, "{burst}: {ends:?}");
    }
}

#[test]
fn over_a_long_time_it_sends_at_the_rate() {
    let mut tokens = tokens("64kB");
    let mut now = at(0);
    for _ in 0..10_000 {
        now = tokens.finish(now, 1_500);
    }
    assert_eq!(now, at(10_000 * 1_500 - 64_000));
}

#[test]
fn texts_are_read_as_they_are_written() {
    for text in ["20kB", "20kB 100Mbps"] {
        let bucket: Bucket = text.parse().expect(text);
        assert_eq!(bucket.to_string().parse(), Ok(bucket));
    }
    for text in ["", "0B", "20kB 1Mbps 3", "20kB fast", "-1"] {
        let error = text.parse::<Bucket>().expect_err(text).to_string();
        assert!(error.contains("such as 20kB"), "{error}");
    }
}
