//! What a sender takes from its application and what it counts as retransmitted.

use windfall_base::Duration;
use windfall_tcp::{AckPolicy, Cork, TcpConfig, TcpEvent};

use crate::pair::*;

#[test]
fn room_is_told_of_only_to_those_who_found_too_little() {
    for (len, told) in [(999, false), (1_000, false), (1_001, true)] {
        let config = TcpConfig::default().with(|it| it.send_buffer = 1_000.into());
        let mut pair = Pair::with(config);
        pair.send(NEAR, len).run_for(Duration::from_secs(1));
        assert_eq!(pair.ends[FAR].incoming.len(), len);
        assert_eq!(pair.ends[NEAR].events.contains(&TcpEvent::Writable), told, "{len}");
    }
}

#[test]
fn what_is_sent_again_is_counted_and_nothing_else() {
    for losses in [0, 1, 3] {
        let mut pair = Pair::with(TcpConfig::default());
        let mut number = 0;
        pair.fate = Box::new(move |seen| {
            number += u64::from(seen.from == NEAR && seen.is_data());
            let lost = seen.from == NEAR && seen.is_data() && !seen.again;
            if lost && number >= 5 && number < 5 + losses { Fate::lost() } else { Fate::default() }
        });
        pair.send(NEAR, 60_000).run_for(Duration::from_secs(5));
        assert_eq!(pair.ends[FAR].incoming.len(), 60_000);
        let again = pair.retransmissions(NEAR).len() as u64;
        assert_eq!(again, losses);
        assert_eq!(pair.connection(NEAR).operations().retransmissions, again);
    }
}

#[test]
fn without_timestamps_one_segment_at_a_time_is_measured() {
    let config = TcpConfig::default().with(|it| it.timestamps = false);
    let mut pair = Pair::new(config.clone(), config);
    pair.delay = ms(50);
    pair.connect().run_for(ms(300));
    // RFC 6298, section 2: 100 + 4 · 50, and after a second sample of 100 ms 100 + 4 · 0.75 · 50.
    let timeout = |pair: &Pair| pair.connection(NEAR).retransmission_timeout();
    assert_eq!(timeout(&pair), ms(300));
    pair.send(NEAR, 1_000).run_for(Duration::from_secs(1));
    assert_eq!(timeout(&pair), ms(250));
}

#[test]
fn headers_that_are_written_in_full_are_counted() {
    let pair = Pair::with(TcpConfig::default());
    // The SYN and the acknowledgment of the other one.
    assert_eq!(pair.connection(NEAR).operations().headers, 2);
    assert_eq!(pair.connection(FAR).operations().headers, 1);
}

/// Returns the lengths of the data segments that an end has sent.
fn lengths(pair: &Pair, end: usize) -> Vec<usize> {
    pair.sent(end).filter(|seen| seen.is_data()).map(|seen| seen.len).collect()
}

#[test]
fn no_segment_crosses_the_end_of_a_record() {
    let mut pair = Pair::with(TcpConfig::default().with(|it| it.nagle = false));
    let id = pair.ends[NEAR].id.unwrap();
    for len in [300, 2_000, 500] {
        let tcp = &mut pair.ends[NEAR].tcp;
        assert_eq!(tcp.write(id, &vec![7; len]), Ok(len));
        tcp.end_record(id).unwrap();
    }
    pair.run_for(ms(15));
    assert_eq!(lengths(&pair, NEAR), [300, 1_448, 552, 500]);
}

#[test]
fn a_cork_holds_back_what_does_not_fill_a_segment() {
    let mut pair = Pair::with(TcpConfig::default().with(|it| it.nagle = false));
    let id = pair.ends[NEAR].id.unwrap();
    pair.ends[NEAR].tcp.cork(id, Cork::On).unwrap();
    pair.send(NEAR, 2 * 1_448).run_for(ms(15));
    assert_eq!(lengths(&pair, NEAR), [1_448; 2]);
    pair.run_for(Duration::from_secs(1));
    pair.send(NEAR, 2 * 1_448 + 100).run_for(ms(15));
    assert_eq!(lengths(&pair, NEAR), [1_448; 4]);
    pair.ends[NEAR].tcp.cork(id, Cork::Off).unwrap();
    pair.settle();
    assert_eq!(lengths(&pair, NEAR)[4..], [100]);
}

#[test]
fn data_are_held_back_after_more_was_announced_until_the_next_acknowledgment() {
    let each = AckPolicy::EverySegments { segments: 1, delay: ms(40), tick: Duration::ZERO };
    let mut pair = Pair::with(TcpConfig::default().with(|it| it.acks = each));
    let id = pair.ends[NEAR].id.unwrap();
    pair.ends[NEAR].tcp.cork(id, Cork::More).unwrap();
    pair.send(NEAR, 2 * 1_448 + 100).run_for(ms(15));
    assert_eq!(lengths(&pair, NEAR), [1_448; 2]);
    pair.run_for(ms(10));
    assert_eq!(lengths(&pair, NEAR), [1_448, 1_448, 100]);
    assert_eq!(pair.connection(NEAR).cork_now(), Cork::Off);
}
