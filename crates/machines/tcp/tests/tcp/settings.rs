//! The settings of paper 002, and what each of them changes.

use windfall_base::{Duration, Rate};
use windfall_tcp::{AckPolicy, BufferSize, CongestionControl, Paws, TcpConfig, TimeoutConfig};
use windfall_wire_net::TcpFlags;

use crate::pair::*;

fn plain() -> TcpConfig {
    TcpConfig::new_reno().with(|it| it.nagle = false)
}

fn bulk(config: TcpConfig) -> Pair {
    let mut pair = Pair::with(config);
    pair.rate = Rate::from_mbps(10);
    pair.transfer(1_000_000, Duration::from_secs(60));
    pair
}

#[test]
fn timestamps_cost_twelve_bytes_and_give_a_sample_for_each_acknowledgment() {
    //= S2.2
    for timestamps in [true, false] {
        let pair = bulk(plain().with(|it| it.timestamps = timestamps));
        let data = pair.sent(NEAR).find(|seen| seen.len > 1_400).unwrap();
        let header = data.header.emit(&Default::default()).unwrap().len();
        assert_eq!(header, if timestamps { 32 } else { 20 });
        let acks = pair.connection(NEAR).operations().acks_received;
        let samples = pair.connection(NEAR).round_trip_samples();
        if timestamps {
            assert!(samples >= acks, "{samples} {acks}");
        } else {
            assert!(samples * 5 < acks && samples > 5, "{samples} {acks}");
        }
    }
}

#[test]
fn the_check_for_old_duplicates_costs_one_comparison_or_none() {
    //= S2.3
    //= S2.8
    let checks = |paws, timestamps| {
        let pair = bulk(plain().with(|it| {
            it.paws = paws;
            it.timestamps = timestamps;
        }));
        let operations = pair.connection(FAR).operations();
        // FIN comes with the last segment.
        assert_eq!(operations.predicted_data + 1, operations.data_received);
        (operations.paws_checks, operations.segments_received)
    };
    let (before, segments) = checks(Paws::BeforePrediction, true);
    // All but the SYN and what closes: one check each.
    assert!(before + 3 >= segments, "{before} {segments}");
    let (after, _) = checks(Paws::AfterPrediction, true);
    assert!(after < 5, "{after}");
    assert_eq!(checks(Paws::Off, true).0, 0);
    assert_eq!(checks(Paws::BeforePrediction, false).0, 0);
}

#[test]
fn prediction_before_the_check_is_safer_than_the_checksum() {
    //= S2.9
    // Old duplicates of the largest segments of 802.11, anywhere in the sequence space: how many
    // cover the left edge exactly as a predicted segment does.
    let mut stream = windfall_base::Stream::new(windfall_base::Seed(2), "old duplicates");
    let segment = 1_u32 << 11;
    let tries = 1_u64 << 25;
    let edge = 0x1234_5678_u32;
    let hits =
        (0..tries).filter(|_| (stream.bits() as u32).wrapping_sub(edge) < segment).count() as f64;
    // 2^-21 of 2^25 is 16; five standard deviations of a Poisson number are 20.
    assert!((hits - 16.0).abs() <= 20.0, "{hits}");
    let bound = f64::from(1 << 9); // what 2^-16, the checksum's own failure, would give
    assert!(hits < bound);
}

#[test]
fn a_segment_with_an_old_timestamp_is_dropped() {
    //= S2.3
    for (paws, dropped) in
        [(Paws::BeforePrediction, true), (Paws::AfterPrediction, true), (Paws::Off, false)]
    {
        let mut pair = Pair::with(plain().with(|it| it.paws = paws));
        pair.send(NEAR, 3_000).run_for(ms(100));
        let mut old = pair.forged(FAR, TcpFlags::ACK | TcpFlags::URG);
        let newest = pair.sent(NEAR).last().unwrap().header.options.timestamps.unwrap();
        old.options.timestamps =
            Some(windfall_wire_net::tcp::Timestamps { value: newest.value - 5, ..newest });
        let result = pair.inject(FAR, &old, b"from another age");
        let expected = windfall_base::DropReason::TcpOldTimestamp;
        assert_eq!(result == Err(expected), dropped, "{paws:?}: {result:?}");
    }
}

#[test]
fn without_window_scale_the_window_ends_at_65535() {
    //= S2.4
    for (window_scale, most) in [(true, 1 << 20), (false, 65_535)] {
        let mut pair = Pair::with(plain().with(|it| it.window_scale = window_scale));
        pair.delay = ms(100);
        pair.send(NEAR, 900_000).run_for(Duration::from_secs(3));
        let shift = pair.connection(FAR).negotiated().receive_shift;
        let windows = pair.sent(FAR).skip(1).map(|seen| u64::from(seen.header.window) << shift);
        let widest = windows.max().unwrap();
        assert!(widest <= most && widest > most - (1 << shift), "{widest}");
    }
}

#[test]
fn a_buffer_beyond_the_greatest_window_asks_for_no_more_acknowledgments() {
    //= S2.4
    // A header without scaling expresses 65 535 bytes; what the buffer holds beyond can never be
    // offered, so that it is no news for the sender.
    let acks = |capacity| {
        let receive_buffer = BufferSize::fixed(capacity);
        let config = plain().with(|it| {
            it.window_scale = false;
            it.receive_buffer = receive_buffer;
        });
        let operations = *bulk(config).connection(FAR).operations();
        (operations.acks_sent, operations.data_received)
    };
    let (exact, segments) = acks(65_535);
    assert!(exact * 2 <= segments + 6, "every second segment: {exact} of {segments}");
    for capacity in [1 << 17, (1 << 17) + 4_096, 1 << 20, 16 << 20] {
        assert_eq!(acks(capacity), (exact, segments), "{capacity}");
    }
}

#[test]
fn each_condition_of_header_prediction_counts() {
    //= S2.6
    let mispredicts = |change: fn(&mut Pair) -> (windfall_wire_net::TcpRepr, Vec<u8>)| {
        let mut pair = Pair::with(plain().with(|it| it.timestamps = false));
        pair.send(NEAR, 5_000).run_for(ms(100));
        let (header, data) = change(&mut pair);
        let before = *pair.connection(FAR).operations();
        let _ = pair.inject(FAR, &header, &data);
        let after = pair.connection(FAR).operations();
        let predicted = after.predicted_data + after.predicted_acks;
        predicted == before.predicted_data + before.predicted_acks
    };
    assert!(!mispredicts(|pair| (pair.forged(FAR, TcpFlags::ACK | TcpFlags::PSH), vec![7; 100])));
    // (b) a flag beyond ACK and PSH
    assert!(mispredicts(|pair| (pair.forged(FAR, TcpFlags::ACK | TcpFlags::URG), vec![7; 100])));
    // (c) not the next in sequence
    assert!(mispredicts(|pair| {
        let mut header = pair.forged(FAR, TcpFlags::ACK);
        header.seq = header.seq + 100;
        (header, vec![7; 100])
    }));
    // (d) another window
    assert!(mispredicts(|pair| {
        let mut header = pair.forged(FAR, TcpFlags::ACK);
        header.window -= 1;
        (header, vec![7; 100])
    }));
    // (e) something is being retransmitted
    assert!(mispredicts(|pair| {
        pair.fate = Box::new(|_| Fate::lost());
        pair.send(FAR, 5_000).run_for(Duration::from_secs(1));
        let mut header = pair.forged(FAR, TcpFlags::ACK);
        header.ack = pair.sent(NEAR).last().unwrap().header.ack;
        (header, vec![7; 100])
    }));
    // (f) data and a new acknowledgment at once
    assert!(mispredicts(|pair| {
        pair.fate = Box::new(|seen| if seen.from == NEAR { Fate::lost() } else { Fate::default() });
        pair.send(FAR, 1_000).run_for(ms(5));
        let mut header = pair.forged(FAR, TcpFlags::ACK);
        header.ack = header.ack + 1_000;
        (header, vec![7; 100])
    }));
    // (a) not established: this end has finished
    assert!(mispredicts(|pair| {
        pair.ends[NEAR].follows = false;
        pair.ends[FAR].finishes = true;
        pair.send(FAR, 0).run_for(ms(100));
        (pair.forged(FAR, TcpFlags::ACK), vec![7; 100])
    }));
}

/// Acknowledgments every 500 ms alone, with a timeout that waits for them.
fn by_time(minimum: Duration) -> TcpConfig {
    let timeout = TimeoutConfig { minimum, ..TimeoutConfig::default() };
    let acks = AckPolicy::TimeOnly { interval: ms(500) };
    plain().with(|it| {
        it.acks = acks;
        it.timeout = timeout;
        it.receive_buffer = (8 << 20).into();
        it.send_buffer = (8 << 20).into();
    })
}

#[test]
fn acknowledgments_by_time_are_two_a_second() {
    //= S2.10
    let mut pair = Pair::with(by_time(Duration::from_secs(1)));
    pair.rate = Rate::from_mbps(8);
    pair.send(NEAR, 8_000_000).run_for(Duration::from_secs(4));
    let bare = pair.sent(FAR).filter(|seen| !seen.is_data()).count() as i64 - 1;
    assert!((7..=8).contains(&bare), "{bare} in four seconds");
}

#[test]
fn what_a_sender_pushes_is_acknowledged_at_once_where_that_is_wanted() {
    //= S3.2
    let answered = |ack_pushes: bool| {
        let mut pair = Pair::with(TcpConfig::net3_reno().with(|it| it.ack_pushes = ack_pushes));
        // One segment, the last that the sender has: the delayed acknowledgment takes up to 200 ms.
        pair.send(NEAR, 100).run_for(ms(30));
        pair.connection(NEAR).unacknowledged() == 0
    };
    assert_eq!([true, false].map(answered), [true, false]);
}

#[test]
fn stretched_acknowledgments_have_the_side_effects_that_are_feared() {
    //= S2.11
    let run = |config: TcpConfig| {
        let mut pair = Pair::with(config);
        pair.send(NEAR, 8_000_000).run_for(ms(2_000));
        let times: Vec<_> = pair.sent(NEAR).filter(|s| s.is_data()).map(|s| s.now).collect();
        let burst = times.iter().map(|at| times.iter().filter(|o| *o == at).count()).max();
        (burst.unwrap(), pair.ends[FAR].incoming.len(), pair.connection(NEAR).operations().timeouts)
    };
    let buffers = plain().with(|it| {
        it.receive_buffer = (8 << 20).into();
        it.send_buffer = (8 << 20).into();
    });
    let (_, standard, none) = run(buffers.with(|it| it.byte_counting = false));
    let slow = by_time(Duration::from_secs(1));
    let (burst, stretched, late) = run(slow.clone().with(|it| it.byte_counting = false));
    assert_eq!((none, late), (0, 0));
    // One acknowledgment opens the whole window at once, and the window grows by one segment for
    // it.
    assert!(burst >= 10, "{burst}");
    assert!(stretched * 10 < standard, "{stretched} {standard}");
    // Bytes counted instead of acknowledgments make up for some of it (RFC 3465).
    assert!(run(slow).1 > stretched);
    // A timeout below the interval fires although nothing was lost.
    assert!(run(by_time(ms(200))).2 > 0);
}

#[test]
fn a_short_transfer_with_fin_is_answered_at_once() {
    //= S2.10
    let acks = AckPolicy::TimeOnly { interval: ms(500) };
    let mut pair = Pair::with(plain().with(|it| it.acks = acks));
    let began = pair.now;
    pair.ends[NEAR].finishes = true;
    pair.send(NEAR, 500);
    let acked = |pair: &Pair| pair.connection(NEAR).unacknowledged() == 0;
    assert!(pair.run_until(Duration::from_secs(1), acked));
    assert_eq!(pair.now.saturating_since(began), ms(20));
}

#[test]
fn acknowledgments_by_traffic_grow_sparse_and_return_after_a_loss() {
    //= S2.47
    let acks = AckPolicy::ByTraffic { most: 8, delay: ms(100) };
    let mut pair = Pair::with(plain().with(|it| it.acks = acks));
    pair.rate = Rate::from_mbps(10);
    let mut count = 0;
    pair.fate = Box::new(move |seen| {
        count += u64::from(seen.from == NEAR && seen.is_data());
        if count == 400 && seen.from == NEAR { Fate::lost() } else { Fate::default() }
    });
    pair.transfer(1_000_000, Duration::from_secs(60));
    // Segments that each acknowledgment takes in one step; none while the hole is open.
    let acks: Vec<u32> = pair.sent(FAR).skip(1).map(|seen| seen.ack).collect();
    let steps: Vec<u32> = acks.windows(2).map(|pair| (pair[1] - pair[0]) / 1448).collect();
    let hole = steps.iter().position(|step| *step == 0).unwrap();
    // One more for each sixteen, twenty-four, thirty-two … segments in order, up to eight.
    assert_eq!(steps[..hole].iter().max(), Some(&8));
    assert!(hole < 400 / 3, "{hole}");
    let open = steps[hole..].iter().take_while(|step| **step == 0).count();
    // Behind the step that the filled hole makes, every second segment again.
    assert_eq!(steps[hole + open + 1..][..4], [2; 4], "{:?}", &steps[hole..]);
}

#[test]
fn a_burst_limit_spreads_a_window_over_the_round_trip() {
    //= S2.47
    let mut pair = Pair::with(plain().with(|it| it.burst = Some(4)));
    pair.run_for(ms(500));
    let before = pair.seen.len();
    pair.send(NEAR, 200_000).run_for(ms(19));
    let times: Vec<_> = pair.seen[before..].iter().filter(|s| s.is_data()).map(|s| s.now).collect();
    let most = times.iter().map(|at| times.iter().filter(|other| *other == at).count()).max();
    assert_eq!(most, Some(4));
    assert_eq!(times.len(), 10, "the window leaves within one round trip");
}

#[test]
fn segments_of_every_size_of_the_paper_carry_the_stream() {
    //= S2.12
    // The longest packet of 802.11b, and beyond it the longest of Ethernet and of IP.
    for mtu in [65_535, 9_000, 2296, 1500, 1000, 500] {
        let pair = bulk(plain().with(|it| it.mss = mtu - 40));
        let most = pair.sent(NEAR).map(|seen| seen.len).max().unwrap();
        assert_eq!(most, usize::from(mtu) - 40 - 12);
    }
}

#[test]
fn the_template_writes_the_headers_that_full_processing_writes() {
    //= S2.7
    let log = |template| {
        let pair = bulk(plain().with(|it| it.template = template));
        let operations = *pair.connection(NEAR).operations();
        assert_eq!(operations.templates > 600, template);
        (pair.timeline, operations.segments_sent)
    };
    assert_eq!(log(true), log(false));
}

#[test]
fn bursts_leave_a_share_of_the_round_trip_apart() {
    //= S2.47
    let mut pair = Pair::with(plain().with(|it| {
        it.burst = Some(4);
        it.congestion_control = CongestionControl::RENO;
    }));
    let began = pair.now;
    let len = 10 * pair.connection(NEAR).segment_size() as usize;
    pair.send(NEAR, len).run_for(ms(19));
    // A window of ten in a round trip of 20 ms: four in each 8 ms.
    let sent = pair.sent(NEAR).filter(|seen| seen.is_data());
    let times: Vec<_> = sent.map(|seen| seen.now.saturating_since(began)).collect();
    assert_eq!(times[..4], [ms(0); 4]);
    assert_eq!(times[4..8], [ms(8); 4]);
    assert_eq!(times[8..], [ms(16); 2]);
}

#[test]
fn bursts_of_one_segment_leave_evenly() {
    //= S2.47
    let mut pair = Pair::with(plain().with(|it| it.burst = Some(1)));
    let began = pair.now;
    let len = 10 * pair.connection(NEAR).segment_size() as usize;
    pair.send(NEAR, len).run_for(ms(19));
    let sent = pair.sent(NEAR).filter(|seen| seen.is_data());
    let times: Vec<_> = sent.map(|seen| seen.now.saturating_since(began)).collect();
    // A window of ten in a round trip of 20 ms.
    assert!(times.into_iter().eq((0..10).map(|n| ms(2 * n))));
}

#[test]
fn a_buffer_grows_from_a_size_that_the_window_scale_can_express() {
    for most in [16 << 20, 100 << 20, 1 << 30] {
        let receive_buffer = BufferSize { initial: 1 << 10, most };
        let config = TcpConfig::default().with(|it| it.receive_buffer = receive_buffer);
        let mut pair = Pair::new(config.clone(), config);
        pair.connect().transfer(100_000, Duration::from_secs(5));
    }
}
