//! How long a segment the path carries (RFC 1191, 4821, 5927, 8201, 8899).

use windfall_base::{Duration, Rate};
use windfall_tcp::TcpConfig;

use crate::pair::*;

/// A path of 2 Mb/s that has been busy for a second, with enough left to send.
fn busy() -> Pair {
    let mut pair = Pair::with(TcpConfig::default());
    (pair.rate, pair.queue) = (Rate::from_mbps(2), Some(50));
    pair.ends[NEAR].finishes = true;
    pair.send(NEAR, 8_000_000).run_for(Duration::from_secs(1));
    assert_eq!(pair.connection(NEAR).segment_size(), 1_448);
    pair
}

fn report(pair: &mut Pair, mtu: u16) {
    let id = pair.ends[NEAR].id.unwrap();
    let seq = pair.sent(NEAR).last().unwrap().header.seq;
    assert!(pair.ends[NEAR].tcp.handle_too_big(id, seq, mtu).unwrap());
    pair.settle();
}

#[test]
fn a_forged_report_shortens_segments_for_seconds_and_never_below_what_every_host_takes() {
    let mut pair = busy();
    report(&mut pair, 68);
    assert_eq!(pair.connection(NEAR).segment_size(), 576 - 40 - 12);
    pair.run_for(Duration::from_secs(9));
    assert_eq!(pair.connection(NEAR).segment_size(), 576 - 40 - 12);
    // A probe finds out that longer ones pass all the same.
    pair.run_for(Duration::from_secs(3));
    assert_eq!(pair.connection(NEAR).segment_size(), 1_448);
}

#[test]
fn a_second_report_may_go_below_what_every_host_takes() {
    let mut pair = busy();
    report(&mut pair, 300);
    report(&mut pair, 300);
    assert_eq!(pair.connection(NEAR).segment_size(), 300 - 40 - 12);
}

#[test]
fn a_true_report_costs_one_probe_in_ten_minutes_and_no_window() {
    let mut pair = busy();
    pair.fate = Box::new(|seen| Fate { lost: seen.len > 988, ..Fate::default() });
    report(&mut pair, 1_040);
    pair.queue = None;
    pair.run_for(Duration::from_secs(4));
    let before = pair.connection(NEAR).operations().reductions;
    let from = pair.seen.len();
    pair.run_for(Duration::from_secs(12));
    assert_eq!(pair.connection(NEAR).segment_size(), 988);
    let probes = pair.seen[from..].iter().filter(|seen| seen.len > 988);
    assert_eq!(probes.map(|seen| seen.len).collect::<Vec<_>>(), [1_448]);
    assert_eq!(pair.connection(NEAR).operations().reductions, before);
}

#[test]
fn a_path_that_loses_long_segments_without_a_word_is_searched() {
    let mut pair = busy();
    pair.fate = Box::new(|seen| Fate { lost: seen.len > 1_000, ..Fate::default() });
    let done =
        pair.run_until(Duration::from_secs(300), |pair| pair.ends[FAR].incoming.len() == 8_000_000);
    assert!(done, "{} arrived", pair.ends[FAR].incoming.len());
    assert_eq!(pair.ends[FAR].incoming, pattern(NEAR, 8_000_000)[..]);
    let size = pair.connection(NEAR).segment_size();
    assert!((960..=1_000).contains(&size), "{size}");
}
