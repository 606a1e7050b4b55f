//! Whole connections between two endpoints: opening, data, closing.

use crate::pair::*;
use windfall_base::Duration;
use windfall_tcp::{Config, Event, State, TcpError};

#[test]
fn a_connection_opens_carries_data_both_ways_and_closes() {
    let mut pair = Pair::new(Config::default(), Config::default());
    pair.connect();
    for end in [NEAR, FAR] {
        pair.ends[end].finishes = true;
        pair.ends[end].outgoing = pattern(end, 100_000);
    }
    pair.run_for(Duration::from_secs(5));
    for end in [NEAR, FAR] {
        assert_eq!(pair.ends[end].incoming, pattern(1 - end, 100_000)[..], "{:#?}", pair.timeline);
    }
    assert!(pair.ends[NEAR].events.contains(&Event::Connected));
    assert!(pair.ends[FAR].events.contains(&Event::Accepted));
    let states = [NEAR, FAR].map(|end| pair.connection(end).state());
    assert!(states.contains(&State::TimeWait) || states == [State::Closed; 2], "{states:?}");
    pair.run_for(Duration::from_secs(120));
    assert_eq!([NEAR, FAR].map(|end| pair.connection(end).state()), [State::Closed; 2]);
}

#[test]
fn header_prediction_takes_nearly_every_segment_of_clean_bulk() {
    //= S2.6
    let mut pair = Pair::with(Config { nagle: false, ..Config::default() });
    pair.transfer(5_000_000, Duration::from_secs(60));
    for end in [NEAR, FAR] {
        let operations = pair.connection(end).operations();
        assert!(operations.prediction_rate() > 0.95, "{end}: {operations:?}");
    }
    assert!(pair.connection(NEAR).operations().templates > 3_000);
    assert_eq!(pair.connection(NEAR).operations().retransmissions, 0);
}

#[test]
fn a_refused_connection_says_so() {
    let mut pair = Pair::new(Config::default(), Config::default());
    pair.ends[FAR].tcp.unlisten(address(FAR));
    pair.connect();
    pair.run_for(Duration::from_secs(1));
    assert_eq!(pair.ends[NEAR].events, [Event::Closed(Some(TcpError::Refused))]);
}

#[test]
fn a_silent_peer_ends_the_attempt() {
    let mut pair = Pair::new(Config::default(), Config::default());
    pair.fate = Box::new(|_| Fate::lost());
    pair.connect();
    pair.run_for(Duration::from_secs(600));
    assert_eq!(pair.ends[NEAR].events, [Event::Closed(Some(TcpError::TimedOut))]);
    // One SYN and six more, at 1, 3, 7, 15, 31 and 63 s.
    assert_eq!(pair.seen.len(), 7);
}
