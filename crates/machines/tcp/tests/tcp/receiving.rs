//! What a receiver says at once and what it keeps for later, and what its window lets through.

use windfall_base::{DropReason, Duration};
use windfall_tcp::{TcpConfig, TcpEvent, TcpState};
use windfall_wire_net::TcpFlags;
use windfall_wire_net::tcp::Timestamps;

use crate::pair::*;

/// Acknowledgments that the far end has sent.
fn acks(pair: &Pair) -> u64 {
    pair.connection(FAR).operations().acks_sent
}

#[test]
fn a_duplicate_is_acknowledged_at_once() {
    let mut pair = Pair::with(TcpConfig::default().with(|it| it.timestamps = false));
    pair.send(NEAR, 1_000).run_for(Duration::from_secs(1));
    let mut again = pair.forged(FAR, TcpFlags::ACK);
    again.seq = again.seq + 1_000_u32.wrapping_neg();
    let before = acks(&pair);
    assert_eq!(pair.inject(FAR, &again, &[0; 1_000]), Err(DropReason::Duplicate));
    assert_eq!(acks(&pair), before + 1);
}

#[test]
fn an_end_beyond_a_hole_is_acknowledged_at_once() {
    let mut pair = Pair::with(TcpConfig::default().with(|it| it.timestamps = false));
    pair.send(NEAR, 1_000).run_for(Duration::from_secs(1));
    let mut fin = pair.forged(FAR, TcpFlags::ACK | TcpFlags::FIN);
    fin.seq = fin.seq + 500;
    let before = acks(&pair);
    assert_eq!(pair.inject(FAR, &fin, &[]), Ok(()));
    assert_eq!(acks(&pair), before + 1, "it asks for the hole");
}

#[test]
fn the_scale_of_the_window_counts_from_the_first_segment_after_the_opening() {
    let config = TcpConfig::default().with(|it| it.receive_buffer = (1 << 20).into());
    assert!(config.window_shift() >= 4);
    let mut pair = Pair::with(config);
    let segments = |pair: &Pair| pair.sent(FAR).filter(|seen| seen.is_data()).count();
    // The client has said no more than the third segment of the opening.
    pair.send(FAR, 100_000).run_for(ms(5));
    assert_eq!(segments(&pair), 10, "a whole initial window");
}

#[test]
fn after_a_timeout_only_the_hole_is_sent_again() {
    let mut pair = Pair::with(TcpConfig::default().with(|it| it.nagle = false));
    let mut lost = false;
    pair.fate = Box::new(move |seen| {
        if seen.is_data() && !lost {
            lost = true;
            return Fate::lost();
        }
        Fate::default()
    });
    // One segment of 500 bytes is lost, and one of 400 behind it reported: too little evidence for
    // anything but the timeout.
    pair.send(NEAR, 500).run_for(ms(1));
    pair.send(NEAR, 400).run_for(Duration::from_secs(5));
    assert_eq!(pair.ends[FAR].incoming.len(), 900);
    let again: Vec<usize> =
        pair.sent(NEAR).filter(|seen| seen.again).map(|seen| seen.len).collect();
    assert_eq!(again, [500]);
}

#[test]
fn a_reset_counts_however_old_its_timestamp_is() {
    // RFC 7323, section 5.2: resets are not held against the timestamps.
    for flags in [TcpFlags::ACK, TcpFlags::RST] {
        let mut pair = Pair::with(TcpConfig::default());
        pair.send(NEAR, 1_000).run_for(Duration::from_secs(1));
        let last = pair.sent(NEAR).last().unwrap().header.options.timestamps.unwrap();
        let mut old = pair.forged(FAR, flags);
        let value = last.value.wrapping_sub(10_000);
        old.options.timestamps = Some(Timestamps { value, echo: last.echo });
        let result = pair.inject(FAR, &old, &[]);
        if flags == TcpFlags::RST {
            assert_eq!((result, pair.connection(FAR).state()), (Ok(()), TcpState::Closed));
        } else {
            assert_eq!(result, Err(DropReason::TcpOldTimestamp));
        }
    }
}

#[test]
fn the_end_of_the_stream_is_where_the_first_fin_said() {
    let mut pair = Pair::with(TcpConfig::default().with(|it| it.timestamps = false));
    pair.ends[FAR].follows = false;
    let data = pair.forged(FAR, TcpFlags::ACK);
    let mut fin = pair.forged(FAR, TcpFlags::ACK | TcpFlags::FIN);
    fin.seq = fin.seq + 500;
    assert_eq!(pair.inject(FAR, &fin, &[]), Ok(()));
    assert_eq!(pair.inject(FAR, &data, &[1; 501]), Err(DropReason::TcpSequence));
    assert!(pair.ends[FAR].incoming.is_empty());
    assert_eq!(pair.inject(FAR, &data, &[1; 500]), Ok(()));
    assert_eq!(pair.ends[FAR].incoming.len(), 500);
    assert_eq!(pair.connection(FAR).state(), TcpState::CloseWait);
    assert!(pair.ends[FAR].events.contains(&TcpEvent::PeerFinished));
}

#[test]
fn a_timestamp_is_compared_with_for_24_days() {
    // RFC 7323, section 5.5: after that the clock may have wrapped, and what is next counts.
    const DAYS: Duration = Duration::from_secs(24 * 24 * 3_600);
    for (more, ahead, expected) in [
        (0, 0, Err(DropReason::TcpOldTimestamp)),
        (1, 0, Ok(())),
        (1, 1, Err(DropReason::TcpOldTimestamp)),
    ] {
        let mut pair = Pair::with(TcpConfig::default());
        pair.send(NEAR, 1_000).run_until(ms(100), |pair| pair.ends[FAR].incoming.len() == 1_000);
        let last = pair.sent(NEAR).last().unwrap().header.options.timestamps.unwrap();
        let mut late = pair.forged(FAR, TcpFlags::ACK);
        late.seq = late.seq + ahead;
        let value = last.value.wrapping_sub(1);
        late.options.timestamps = Some(Timestamps { value, echo: last.echo });
        pair.now = pair.now.saturating_add(DAYS).saturating_add(ms(more));
        assert_eq!(pair.inject(FAR, &late, &[0; 10]), expected, "{more} ms later, {ahead} ahead");
    }
}

#[test]
fn each_timestamp_that_is_noted_or_written_is_counted() {
    let mut pair = Pair::with(TcpConfig::default());
    let before = pair.connection(FAR).operations().timestamps;
    pair.send(NEAR, 1_000).run_for(ms(100));
    pair.send(NEAR, 1_000).run_for(ms(100));
    assert_eq!(pair.connection(FAR).operations().timestamps, before + 2 + 2, "data and their ACKs");
}

#[test]
fn data_of_which_a_part_came_before_are_acknowledged_at_once() {
    for (back, at_once) in [(0, 0), (5, 1)] {
        let mut pair = Pair::with(TcpConfig::default().with(|it| it.timestamps = false));
        pair.send(NEAR, 1_000).run_for(Duration::from_secs(1));
        let mut next = pair.forged(FAR, TcpFlags::ACK);
        next.seq = next.seq + u32::wrapping_neg(back);
        let before = acks(&pair);
        assert_eq!(pair.inject(FAR, &next, &[0; 10]), Ok(()));
        assert_eq!(acks(&pair), before + at_once, "{back} bytes came before");
    }
}
