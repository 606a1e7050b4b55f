//! The manner of Linux: which segments carry PSH, and how its window grows.

use windfall_base::Duration;
use windfall_tcp::{Manner, TcpConfig};
use windfall_wire_net::TcpFlags;

use crate::pair::*;

/// Returns the lengths of the bursts of a first window of `segments`, after a wire of `delay` each
/// way: PSH ends each of them.
fn bursts(delay: Duration, segments: u16) -> Vec<usize> {
    let near = TcpConfig::default().with(|it| {
        it.initial_window = segments;
        it.manner = Manner::LINUX;
        it.send_buffer = (4 << 20).into();
    });
    let mut pair = Pair::new(near, TcpConfig::default());
    pair.delay = delay;
    pair.connect().run_for(ms(200));
    pair.send(NEAR, 1_000_000).settle();
    let data: Vec<&Seen> = pair.sent(NEAR).filter(|seen| seen.is_data()).collect();
    let pushes = data.iter().enumerate().filter(|(_, it)| it.header.flags.has(TcpFlags::PSH));
    let ends: Vec<usize> = pushes.map(|(number, _)| number + 1).collect();
    let starts = std::iter::once(&0).chain(&ends);
    starts.zip(&ends).map(|(start, end)| end - start).collect()
}

#[test]
fn a_burst_carries_what_leaves_in_a_millisecond_at_the_pace_of_slow_start() {
    // Two windows in each round trip, of which 1/1024 s is 1414 and 5939 bytes at 20 ms: two
    // segments at least, and four.
    assert_eq!(bursts(ms(10), 10), [2; 5]);
    let expected: Vec<usize> = [4; 10].into_iter().chain([2]).collect();
    assert_eq!(bursts(ms(10), 42), expected, "the last one is shorter");
}

#[test]
fn a_burst_is_at_most_half_of_the_window_of_either_end() {
    // At a round trip of 1 ms the pace allows more.
    assert_eq!(bursts(Duration::from_micros(500), 10), [5, 5]);
    // 65 535 bytes are offered in the SYN-ACK, half of which are 22 segments.
    assert_eq!(bursts(Duration::from_micros(500), 100)[..2], [22, 22]);
}
