//! Whole connections between two endpoints: opening, data, closing.

use crate::pair::*;
use windfall_base::Duration;
use windfall_tcp::{Corruption, NotificationMode, TcpConfig, TcpError, TcpEvent, TcpState};

#[test]
fn a_connection_opens_carries_data_both_ways_and_closes() {
    let mut pair = Pair::new(TcpConfig::default(), TcpConfig::default());
    pair.connect();
    for end in [NEAR, FAR] {
        pair.ends[end].finishes = true;
        pair.ends[end].outgoing = pattern(end, 100_000);
    }
    pair.run_for(Duration::from_secs(5));
    for end in [NEAR, FAR] {
        assert_eq!(pair.ends[end].incoming, pattern(1 - end, 100_000)[..], "{:#?}", pair.timeline);
    }
    assert!(pair.ends[NEAR].events.contains(&TcpEvent::Connected));
    assert!(pair.ends[FAR].events.contains(&TcpEvent::Accepted));
    let states = [NEAR, FAR].map(|end| pair.connection(end).state());
    assert!(states.contains(&TcpState::TimeWait) || states == [TcpState::Closed; 2], "{states:?}");
    pair.run_for(Duration::from_secs(120));
    assert_eq!([NEAR, FAR].map(|end| pair.connection(end).state()), [TcpState::Closed; 2]);
}

#[test]
fn header_prediction_takes_nearly_every_segment_of_clean_bulk() {
    //= S2.6
    let mut pair = Pair::with(TcpConfig::default().with(|it| it.nagle = false));
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
    let mut pair = Pair::new(TcpConfig::default(), TcpConfig::default());
    pair.ends[FAR].tcp.unlisten(address(FAR));
    pair.connect();
    pair.run_for(Duration::from_secs(1));
    assert_eq!(pair.ends[NEAR].events, [TcpEvent::Closed(Some(TcpError::Refused))]);
}

#[test]
fn a_message_that_the_peer_is_unreachable_ends_an_attempt_and_no_open_connection() {
    // RFC 5461, section 4.1. A sequence number that is not in flight is a guess.
    let mut pair = Pair::new(TcpConfig::default(), TcpConfig::default());
    pair.fate = Box::new(|_| Fate::lost());
    pair.connect().run_for(ms(10));
    let id = pair.ends[NEAR].id.unwrap();
    let syn = pair.sent(NEAR).next().unwrap().header.seq;
    pair.ends[NEAR].tcp.handle_refusal(id, syn + 1);
    assert_eq!(pair.connection(NEAR).state(), TcpState::SynSent);
    pair.ends[NEAR].tcp.handle_refusal(id, syn);
    pair.settle();
    assert_eq!(pair.ends[NEAR].events, [TcpEvent::Closed(Some(TcpError::Refused))]);

    let mut pair = Pair::with(TcpConfig::default());
    pair.send(NEAR, 100).run_for(ms(5));
    let id = pair.ends[NEAR].id.unwrap();
    let data = pair.sent(NEAR).last().unwrap().header.seq;
    pair.ends[NEAR].tcp.handle_refusal(id, data);
    pair.run_for(Duration::from_secs(1));
    assert_eq!(pair.connection(NEAR).state(), TcpState::Established);
}

#[test]
fn a_silent_peer_ends_the_attempt() {
    let mut pair = Pair::new(TcpConfig::default(), TcpConfig::default());
    pair.fate = Box::new(|_| Fate::lost());
    pair.connect();
    pair.run_for(Duration::from_secs(600));
    assert_eq!(pair.ends[NEAR].events, [TcpEvent::Closed(Some(TcpError::TimedOut))]);
    // One SYN and six more, at 1, 3, 7, 15, 31 and 63 s.
    assert_eq!(pair.seen.len(), 7);
}

#[test]
fn as_many_timeouts_as_the_settings_say_end_a_connection() {
    let config = TcpConfig::new_reno().with(|it| {
        it.retries = 3;
        it.syn_retries = 2;
    });
    let mut pair = Pair::with(config);
    pair.fate = Box::new(|_| Fate::lost());
    let from = pair.seen.len();
    let began = pair.now;
    pair.send(NEAR, 1_000).run_for(Duration::from_secs(60));
    let sent = pair.seen[from..].iter().filter(|seen| seen.from == NEAR);
    // The segment leaves four times, at 0, 200, 600 and 1400 ms; at 3 s a reset follows.
    let times: Vec<_> = sent.map(|seen| (seen.len, seen.now.saturating_since(began))).collect();
    let lens: Vec<_> = times.iter().map(|(len, _)| *len).collect();
    assert_eq!(lens, [1_000, 1_000, 1_000, 1_000, 0], "{times:?}");
    assert_eq!(times[4].1, ms(3_000), "{times:?}");
    assert!(pair.ends[NEAR].events.contains(&TcpEvent::Closed(Some(TcpError::TimedOut))));
    // A SYN counts by a setting of its own.
    let mut pair =
        Pair::new(TcpConfig::new_reno().with(|it| it.syn_retries = 2), TcpConfig::default());
    pair.fate = Box::new(|_| Fate::lost());
    pair.connect().run_for(Duration::from_secs(60));
    assert_eq!(pair.seen.len(), 3);
    let again = pair.connection(NEAR).operations();
    assert_eq!((again.retransmissions, again.timeouts), (2, 0));
}

#[test]
fn every_step_is_counted_for_connections_that_are_gone_too() {
    let mut pair = Pair::with(TcpConfig::default().with(|it| it.nagle = false));
    pair.transfer(100_000, Duration::from_secs(5));
    let far = *pair.connection(FAR).operations();
    // All that arrived but the SYN, for which there was no connection yet.
    let segments = pair.sent(NEAR).count() as u64;
    assert_eq!((far.lookups, far.keys_compared), (segments - 1, segments - 1));
    let bytes: usize = pair.sent(NEAR).skip(1).map(|seen| seen.len + 32).sum();
    assert!(far.checksum_bytes > bytes as u64, "what it sends is summed too: {far:?}");
    assert_eq!(far.paws_checks, far.lookups);
    // Prediction begins behind the acknowledgment of the SYN.
    assert_eq!(far.predicted_data + far.predicted_acks + far.mispredicted, far.lookups - 1);
    let bare = |seen: &&Seen| seen.header.flags == windfall_wire_net::TcpFlags::ACK;
    assert_eq!(far.acks_sent, pair.sent(FAR).filter(bare).count() as u64);
    assert!(far.copied_bytes < 1_448, "large segments are shared, not copied");
    for end in [NEAR, FAR] {
        let id = pair.ends[end].id.unwrap();
        pair.ends[end].tcp.close(pair.now, id).unwrap();
    }
    pair.run_for(Duration::from_secs(120));
    assert!(pair.ends[FAR].tcp.is_empty());
    let near = pair.ends[NEAR].tcp.operations();
    let bare = pair.sent(FAR).filter(bare).count();
    assert_eq!(near.acks_received, bare as u64);
    let all = pair.ends[FAR].tcp.operations();
    let arrived = pair.sent(NEAR).count() as u64;
    assert_eq!((all.lookups, all.segments_received), (arrived, arrived - 1));
    assert_eq!(all.data_received, far.data_received);
}

#[test]
fn what_one_end_does_not_want_is_not_agreed_on() {
    //= S2.2
    //= S2.4
    //= S2.5
    let base = || {
        TcpConfig::new_reno().with(|it| {
            it.timestamps = false;
            it.sack = false;
            it.window_scale = false;
            it.ecn = false;
        })
    };
    let extended = Corruption::on(NotificationMode::Extended);
    let safe = Corruption::on(NotificationMode::DraftSafe);
    for (with, without) in [
        (base().with(|it| it.timestamps = true), base()),
        (base().with(|it| it.sack = true), base()),
        (base().with(|it| it.window_scale = true), base()),
        (base().with(|it| it.ecn = true), base()),
        (base().with(|it| it.accurate_ecn = true), base()),
        (base().with(|it| it.corruption = extended), base().with(|it| it.corruption = safe)),
    ] {
        // An end that wants nothing agrees on nothing.
        let nothing = *Pair::with(base()).connection(NEAR).negotiated();
        let both = Pair::with(with.clone());
        let one = Pair::established(with.clone(), without.clone());
        let other = Pair::established(without, with);
        for end in [NEAR, FAR] {
            assert_ne!(*both.connection(end).negotiated(), nothing);
            assert_eq!(*one.connection(end).negotiated(), nothing);
            assert_eq!(*other.connection(end).negotiated(), nothing);
        }
    }
}
