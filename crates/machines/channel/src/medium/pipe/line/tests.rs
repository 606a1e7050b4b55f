use proptest::prelude::*;
use windfall_base::Duration;

use super::*;

fn at(ms: u64) -> Instant {
    Instant::START + Duration::from_millis(ms)
}

/// A line by its rate in kb/s, 0 for a pause.
fn line(kbps: u64) -> Line {
    Rate::from_bps(kbps * 1000).map_or(Line::Paused, Line::Rate)
}

/// When a frame of `bytes` bytes that begins at once has left, on a line that changes.
fn ends(first: (Line, Option<Bucket>), bytes: usize, changes: &[(u64, Line)]) -> Option<Instant> {
    let mut state = LineState::new(first.0, first.1);
    state.begin(Instant::START, false, bytes);
    for (ms, line) in changes {
        if state.ends().is_none_or(|ends| ends > at(*ms)) {
            state.change(at(*ms), line, first.1);
        }
    }
    state.ends()
}

#[test]
fn the_rest_of_a_frame_leaves_at_the_new_rate() {
    // 1000 bytes are 8 kbit: at 1 kb/s 8 s.
    let trace = |text: &str| Line::Trace(text.parse().expect("a trace"));
    const PAUSE: &str = r#"{"StaticBwConfig":{"bw":"0bps"}}"#;
    let steady = r#"{"StaticBwConfig":{"bw":"4Mbps","duration":"1s"}}"#;
    for (first, changes, due) in [
        (line(1), vec![], Some(8_000)),
        (line(1), vec![(1_000, line(7_000))], Some(1_001)),
        (line(1), vec![(4_000, line(2))], Some(6_000)),
        (line(1), vec![(4_000, line(0)), (9_000, line(1))], Some(13_000)),
        (line(1), vec![(4_000, line(0))], None),
        (line(0), vec![], None),
        (line(0), vec![(3_000, line(8))], Some(4_000)),
        (line(1), vec![(4_000, Line::Instant)], Some(4_000)),
        (line(1), vec![(4_000, trace(steady))], Some(4_001)),
        // 500 of the bytes are left: the opportunity of the millisecond after takes them.
        (line(1), vec![(4_000, trace("7\n"))], Some(4_004)),
        (trace("3000\n"), vec![(1_000, line(8))], Some(2_000)),
        (trace(r#"{"StaticBwConfig":{"bw":"1kbps"}}"#), vec![(4_000, line(4))], Some(5_000)),
        // A trace of rate 0 alone is a pause.
        (trace(PAUSE), vec![], None),
        (trace(PAUSE), vec![(3_000, line(8))], Some(4_000)),
        (line(1), vec![(4_000, trace(PAUSE)), (9_000, line(1))], Some(13_000)),
    ] {
        let said = format!("{first:?} {changes:?}");
        assert_eq!(ends((first, None), 1000, &changes), due.map(at), "{said}");
    }
}

#[test]
fn the_rest_of_a_frame_that_waits_for_tokens_leaves_at_the_new_rate() {
    for (bucket, changes, due) in [
        // 500 bytes of tokens are there, and 500 must come.
        ("500B", vec![], Some(4_000)),
        ("500B", vec![(2_000, line(2))], Some(3_000)),
        ("500B", vec![(2_000, line(0)), (5_000, line(1))], Some(7_000)),
        ("500B", vec![(2_000, line(0))], None),
        ("500B", vec![(2_000, Line::Instant)], Some(2_000)),
        // The peak takes longer than the tokens.
        ("5000B 2kbps", vec![], Some(4_000)),
        ("5000B 2kbps", vec![(1_000, line(0)), (2_000, line(1))], Some(5_000)),
    ] {
        let said = format!("{bucket} {changes:?}");
        let bucket = Some(bucket.parse().expect(bucket));
        assert_eq!(ends((line(1), bucket), 1000, &changes), due.map(at), "{said}");
    }
}

#[test]
fn a_change_to_the_same_line_changes_nothing() {
    let trace = Line::Trace("3\n5\n".parse().expect("a trace"));
    for first in [line(3), trace] {
        let unchanged = ends((first.clone(), None), 4000, &[]);
        assert_eq!(ends((first.clone(), None), 4000, &[(4, first)]), unchanged);
    }
}

proptest! {
    /// A frame has left when the sum of what its line carries reaches its bits, to the nanosecond.
    #[test]
    fn a_frame_takes_as_long_as_its_bits_at_all_rates(
        rates in proptest::collection::vec((0_u64..5_000, 1_u64..2_000), 1..12),
        bytes in 1_usize..3_000,
    ) {
        let mut changes = Vec::new();
        let mut now = 0;
        let mut left = bytes as u128 * 8 * BIT;
        let mut due = None;
        for (number, (kbps, ms)) in rates.iter().enumerate() {
            if number > 0 {
                changes.push((now, line(*kbps)));
            }
            let rate = u128::from(kbps * 1000);
            let last = number + 1 == rates.len();
            let span = if last { u64::MAX } else { ms * 1_000_000 };
            if due.is_none() && rate > 0 && left <= rate * u128::from(span) {
                due = Some(at(now) + time_of(left, kbps * 1000));
            }
            left = left.saturating_sub(rate * u128::from(ms * 1_000_000));
            now += ms;
        }
        prop_assert_eq!(ends((line(rates[0].0), None), bytes, &changes), due);
    }
}
