//! RFC 2525, *Known TCP Implementation Problems*: each of the eighteen, and that we do not have it.

use windfall_base::Duration;
use windfall_tcp::{
    AckPolicy, Corruption, Keepalive, NotificationMode, TcpConfig, TcpError, TcpEvent,
    TimeoutConfig,
};
use windfall_wire_net::TcpFlags;

use crate::pair::*;

const MSS: u64 = 1448;

fn reno() -> TcpConfig {
    TcpConfig::new_reno().with(|it| it.nagle = false)
}

/// Loses the data segments of the near end with these numbers among its first transmissions.
fn lose(pair: &mut Pair, numbers: &'static [u64]) {
    let mut count = 0;
    pair.fate = Box::new(move |seen| {
        if seen.from != NEAR || !seen.is_data() || seen.again {
            return Fate::default();
        }
        count += 1;
        if numbers.contains(&count) { Fate::lost() } else { Fate::default() }
    });
}

#[test]
fn problem_1_no_initial_slow_start() {
    let mut pair = Pair::with(reno());
    pair.send(NEAR, 200_000).run_for(ms(15));
    assert_eq!(pair.sent(NEAR).filter(|seen| seen.is_data()).count(), 10);
}

#[test]
fn problem_2_no_slow_start_after_retransmission_timeout() {
    let mut pair = Pair::with(reno());
    pair.send(NEAR, 400_000).run_for(ms(60));
    pair.fate = Box::new(|seen| if seen.from == FAR { Fate::lost() } else { Fate::default() });
    assert!(pair.run_until(Duration::from_secs(5), |pair| {
        pair.connection(NEAR).operations().timeouts > 0
    }));
    assert_eq!(pair.connection(NEAR).congestion_window(), MSS);
}

#[test]
fn problem_3_uninitialized_congestion_window() {
    let without_mss = |pair: &Pair| pair.connection(FAR).congestion_window();
    assert_eq!(without_mss(&Pair::with(reno())), 10 * MSS);
}

#[test]
fn problem_4_inconsistent_retransmission() {
    let mut pair = Pair::with(reno().with(|it| it.timestamps = false));
    lose(&mut pair, &[2, 5, 6, 9]);
    // Writes of odd lengths move the boundaries of segments.
    for _ in 0..40 {
        pair.send(NEAR, 777).run_for(ms(3));
    }
    pair.run_for(Duration::from_secs(10));
    let mut stream = vec![None; 40 * 777 + 1];
    let mut repeated = 0;
    for seen in pair.sent(NEAR) {
        for (i, byte) in seen.data.iter().enumerate() {
            let known = stream[seen.seq as usize + i].replace(*byte);
            repeated += u32::from(known.is_some());
            assert!(known.is_none_or(|known| known == *byte));
        }
    }
    assert!(repeated > 0);
}

#[test]
fn problem_5_failure_to_retain_above_sequence_data() {
    for sack in [false, true] {
        let mut pair = Pair::with(reno().with(|it| it.sack = sack));
        lose(&mut pair, &[5]);
        pair.transfer(100_000, Duration::from_secs(5));
        assert_eq!(pair.retransmissions(NEAR).len(), 1, "sack {sack}");
    }
}

#[test]
fn problem_6_extra_additive_constant_in_congestion_avoidance() {
    let mut pair = Pair::with(reno());
    lose(&mut pair, &[20]);
    pair.send(NEAR, 3_000_000).run_for(ms(200));
    let before = pair.connection(NEAR).congestion_window();
    pair.run_for(ms(200));
    // Ten round trips of 20 ms: at most ten segments.
    let grown = pair.connection(NEAR).congestion_window() - before;
    assert!((9 * MSS..=10 * MSS).contains(&grown), "{grown}");
}

#[test]
fn problem_7_initial_timeout_too_low() {
    let mut pair = Pair::new(reno(), reno());
    pair.fate = Box::new(|_| Fate::lost());
    pair.connect().run_for(ms(1_500));
    let times: Vec<_> = pair.sent(NEAR).map(|seen| seen.now).collect();
    assert_eq!(times, [at(0), at(1_000)]);
}

#[test]
fn problem_8_failure_of_window_deflation_after_loss_recovery() {
    for sack in [false, true] {
        let mut pair = Pair::with(reno().with(|it| it.sack = sack));
        lose(&mut pair, &[30]);
        pair.send(NEAR, 400_000);
        let recovers = |pair: &Pair| pair.connection(NEAR).operations().fast_retransmits == 1;
        assert!(pair.run_until(Duration::from_secs(5), recovers));
        let limit = pair.sent(NEAR).map(|seen| seen.seq).max().unwrap();
        pair.run_until(Duration::from_secs(5), |pair| pair.sent(FAR).any(|seen| seen.ack > limit));
        let connection = pair.connection(NEAR);
        let most = connection.slow_start_threshold() + 2 * MSS;
        assert!(connection.congestion_window() <= most, "sack {sack}");
    }
}

#[test]
fn problem_9_excessively_short_keepalive_timeout() {
    assert_eq!(TcpConfig::default().keepalive, None);
    assert!(Keepalive::default().idle >= Duration::from_secs(2 * 3600));
}

#[test]
fn problem_10_failure_to_back_off_retransmission_timeout() {
    let mut pair = Pair::with(reno());
    pair.fate = Box::new(|_| Fate::lost());
    pair.send(NEAR, 1_000).run_for(Duration::from_secs(10));
    let times: Vec<_> = pair.sent(NEAR).filter(|seen| seen.is_data()).map(|s| s.now).collect();
    let gaps: Vec<_> = times.windows(2).map(|w| w[1].saturating_since(w[0])).collect();
    assert!(gaps.len() >= 5, "{gaps:?}");
    assert!(gaps.windows(2).all(|w| w[1] == w[0] * 2), "{gaps:?}");
}

#[test]
fn problem_11_insufficient_interval_between_keepalives() {
    let keepalive = Keepalive::default();
    let mut pair = Pair::with(reno().with(|it| it.keepalive = Some(keepalive)));
    let opened = pair.seen.len();
    pair.fate = Box::new(|_| Fate::lost());
    pair.run_for(Duration::from_secs(4 * 3600));
    let probes: Vec<_> = pair.seen[opened..].iter().filter(|s| s.from == NEAR).collect();
    // Nine probes and the reset that ends it.
    assert_eq!(probes.len(), 10, "{:#?}", pair.timeline);
    let gaps = probes.windows(2).map(|w| w[1].now.saturating_since(w[0].now));
    assert!(gaps.into_iter().all(|gap| gap == keepalive.interval));
    assert_eq!(pair.ends[NEAR].events.last(), Some(&TcpEvent::Closed(Some(TcpError::TimedOut))));
}

#[test]
fn problem_12_window_probe_deadlock() {
    let config = reno().with(|it| it.receive_buffer = 8_000.into());
    let mut pair = Pair::with(config);
    for end in [NEAR, FAR] {
        pair.ends[end].reads = false;
        pair.send(end, 50_000);
    }
    // Both windows are closed; the probes of each acknowledge what the other has sent.
    pair.run_for(Duration::from_secs(10));
    assert_eq!(pair.connection(NEAR).readable(), 8_000);
    for end in [NEAR, FAR] {
        pair.ends[end].reads = true;
        while pair.read(end, usize::MAX) > 0 {}
    }
    pair.run_for(Duration::from_secs(200));
    assert!(pair.ends.iter().all(|end| end.incoming.len() == 50_000), "{:#?}", pair.timeline);
}

#[test]
fn problem_13_stretch_ack_violation() {
    let acks = |acks: AckPolicy| {
        // A timeout below the interval would fire without a loss.
        let timeout = TimeoutConfig { minimum: Duration::from_secs(1), ..reno().timeout };
        let mut pair = Pair::with(reno().with(|it| {
            it.acks = acks;
            it.timeout = timeout;
        }));
        pair.rate = windfall_base::Rate::from_mbps(100);
        pair.transfer(1_000_000, Duration::from_secs(60));
        let data = pair.connection(FAR).operations().data_received as f64;
        pair.connection(FAR).operations().acks_sent as f64 / data
    };
    let every_second = acks(AckPolicy::default());
    assert!((0.49..=0.52).contains(&every_second), "{every_second}");
    // Paper 002's modification is this violation, by intent.
    let interval = ms(500);
    assert!(acks(AckPolicy::TimeOnly { interval }) < 0.1);
}

#[test]
fn problem_14_retransmission_sends_multiple_packets() {
    let mut pair = Pair::with(reno());
    pair.fate = Box::new(|seen| if seen.is_data() { Fate::lost() } else { Fate::default() });
    pair.send(NEAR, 100_000).run_for(Duration::from_secs(2));
    let times = pair.retransmissions(NEAR);
    assert!(times.len() >= 2);
    assert!(times.windows(2).all(|w| w[0] < w[1]), "{times:?}");
}

#[test]
fn problem_15_failure_to_send_fin_promptly() {
    let mut pair = Pair::with(TcpConfig::new_reno());
    pair.ends[NEAR].finishes = true;
    pair.send(NEAR, 1_448 + 100).run_for(ms(1));
    let last = pair.sent(NEAR).last().unwrap();
    assert!(last.header.flags.has(TcpFlags::FIN), "{:#?}", pair.timeline);
}

#[test]
fn problem_16_failure_to_reset_after_half_duplex_close() {
    let mut pair = Pair::with(reno());
    let id = pair.ends[FAR].id.unwrap();
    pair.ends[NEAR].follows = false;
    pair.ends[FAR].tcp.close(pair.now, id).unwrap();
    pair.run_for(ms(100));
    pair.send(NEAR, 1_000).run_for(ms(100));
    let closed = TcpEvent::Closed(Some(TcpError::Reset));
    assert!(pair.ends[NEAR].events.contains(&closed), "{:#?}", pair.timeline);
}

#[test]
fn problem_17_failure_to_reset_on_close_with_data_pending() {
    let mut pair = Pair::with(reno());
    pair.ends[FAR].reads = false;
    pair.send(NEAR, 1_000).run_for(ms(100));
    let id = pair.ends[FAR].id.unwrap();
    pair.ends[FAR].tcp.close(pair.now, id).unwrap();
    pair.run_for(ms(100));
    assert!(pair.ends[NEAR].events.contains(&TcpEvent::Closed(Some(TcpError::Reset))));
}

#[test]
fn problem_18_options_missing_from_mss_calculation() {
    //= S4.6
    let corruption = Corruption::on(NotificationMode::DraftSafe);
    for (timestamps, detect, most) in
        [(false, false, 1460), (true, false, 1448), (false, true, 1452), (true, true, 1440)]
    {
        let corruption = if detect { corruption } else { Corruption::default() };
        let mut pair = Pair::with(reno().with(|it| {
            it.timestamps = timestamps;
            it.corruption = corruption;
        }));
        pair.transfer(50_000, Duration::from_secs(5));
        assert_eq!(pair.sent(NEAR).map(|seen| seen.len).max(), Some(most));
    }
}
