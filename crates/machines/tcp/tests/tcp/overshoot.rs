//! A slow start that overshoots: 50 Mb/s, 20 ms each way, a queue of 200 packets, no other loss.

use windfall_base::{Duration, Rate};
use windfall_tcp::{CongestionControl, TcpConfig};

use crate::pair::*;

/// The outcome of ten seconds.
struct Outcome {
    goodput: f64,
    queue_drops: u64,
    timeouts: u64,
}

fn ten_seconds(config: &TcpConfig) -> Outcome {
    ten_seconds_before(200, config)
}

/// Ten seconds of a transfer through a bottleneck queue of `queue` packets.
fn ten_seconds_before(queue: u32, config: &TcpConfig) -> Outcome {
    let buffers = config.clone().with(|it| {
        it.send_buffer = 4_000_000.into();
        it.receive_buffer = 4_000_000.into();
    });
    let mut pair = Pair::with(buffers);
    (pair.delay, pair.rate, pair.queue) = (ms(20), Rate::from_mbps(50), Some(queue));
    pair.send(NEAR, 70_000_000).run_for(Duration::from_secs(10));
    let goodput = pair.ends[FAR].incoming.len() as f64 * 8.0 / 10.0;
    let timeouts = pair.connection(NEAR).operations().timeouts;
    Outcome { goodput, queue_drops: pair.queue_drops, timeouts }
}

#[test]
fn cubic_recovers_from_an_overshoot() {
    let config = TcpConfig::new_reno().with(|it| it.congestion_control = CongestionControl::CUBIC);
    let Outcome { goodput, queue_drops, timeouts } = ten_seconds(&config);
    // 1448 of 1500 bytes are data: 48.3 Mb/s at best.
    assert!(goodput > 42e6 && queue_drops < 1_000, "{goodput} {queue_drops} {timeouts}");
}

#[test]
fn hystart_leaves_slow_start_before_the_queue_overflows() {
    for congestion_control in [CongestionControl::CUBIC, CongestionControl::RENO] {
        let drops = [false, true].map(|hystart| {
            let config = TcpConfig::default().with(|it| {
                it.congestion_control = congestion_control;
                it.hystart = hystart;
            });
            let Outcome { goodput, queue_drops, timeouts } = ten_seconds(&config);
            assert!(goodput > 47e6 && timeouts == 0, "{goodput} {timeouts}");
            queue_drops
        });
        // What congestion avoidance loses to measure the path remains.
        assert!(drops[1] * 4 <= drops[0] * 3, "{congestion_control:?}: {drops:?}");
    }
}

#[test]
fn a_lossy_path_needs_no_timeouts_where_losses_are_noticed_by_time() {
    let timeouts = [false, true].map(|rack| {
        let config = TcpConfig::default().with(|it| it.rack = rack);
        let mut pair = Pair::with(config);
        (pair.delay, pair.rate, pair.queue) = (ms(20), Rate::from_mbps(50), Some(200));
        // Every twentieth, but in an order that never repeats.
        let mut state = 1_u32;
        pair.fate = Box::new(move |seen| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            if seen.is_data() && state >> 16 < 65_536 / 20 { Fate::lost() } else { Fate::default() }
        });
        pair.transfer(2_000_000, Duration::from_secs(60));
        pair.connection(NEAR).operations().timeouts
    });
    assert!(timeouts[1] * 3 <= timeouts[0], "{timeouts:?}");
}

#[test]
fn reno_with_sack_recovers_from_an_overshoot() {
    let Outcome { goodput, queue_drops, timeouts } = ten_seconds(&TcpConfig::new_reno());
    assert!(goodput > 44e6 && queue_drops < 500, "{goodput} {queue_drops} {timeouts}");
    assert_eq!(timeouts, 0);
}

#[test]
fn new_reno_does_not_repair_hundreds_of_losses_one_by_one() {
    // RFC 6582, section 4, the impatient variant: a timeout ends a recovery that takes too long.
    let config = TcpConfig::new_reno().with(|it| it.sack = false);
    let Outcome { goodput, queue_drops, timeouts } = ten_seconds(&config);
    assert!(goodput > 40e6 && queue_drops < 800, "{goodput} {queue_drops} {timeouts}");
}

#[test]
fn a_pace_lets_a_short_queue_carry_more() {
    let goodput = |queue, pacing| {
        ten_seconds_before(queue, &TcpConfig::default().with(|it| it.pacing = pacing)).goodput
    };
    let short = [false, true].map(|pacing| goodput(10, pacing));
    assert!(short[1] > 1.1 * short[0], "{short:?}");
    let long = [false, true].map(|pacing| goodput(200, pacing));
    assert!(long[1] > 0.97 * long[0], "{long:?}");
}

#[test]
fn bbr_fills_the_path_and_leaves_its_queue_empty() {
    let bbr = CongestionControl::BBR;
    let config = TcpConfig::default().with(|it| it.congestion_control = bbr);
    let Outcome { goodput, queue_drops, timeouts } = ten_seconds(&config);
    assert!(goodput > 44e6, "{goodput}");
    assert_eq!((queue_drops, timeouts), (0, 0));
}

#[test]
fn bbr_does_not_take_rare_losses_for_congestion() {
    let times = [CongestionControl::CUBIC, CongestionControl::BBR].map(|congestion_control| {
        let mut pair =
            Pair::with(TcpConfig::default().with(|it| it.congestion_control = congestion_control));
        (pair.delay, pair.rate, pair.queue) = (ms(20), Rate::from_mbps(50), Some(200));
        let mut count = 0_u32;
        pair.fate = Box::new(move |seen| {
            count += u32::from(seen.is_data());
            if seen.is_data() && count.is_multiple_of(200) { Fate::lost() } else { Fate::default() }
        });
        pair.transfer(10_000_000, Duration::from_secs(60))
    });
    assert!(times[1] * 3 < times[0], "{times:?}");
}

#[test]
fn bbr_keeps_its_rate_where_packets_overtake_others_by_the_delay_of_the_path() {
    let bbr = CongestionControl::BBR;
    for every in [50, 20] {
        let mut pair = Pair::with(TcpConfig::default().with(|it| it.congestion_control = bbr));
        (pair.delay, pair.rate, pair.queue) = (ms(0), Rate::from_mbps(20), Some(200));
        // One of `every` packets of both ends, now and then a packet and its acknowledgment.
        let mut state = 1_u32;
        pair.fate = Box::new(move |_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let overtakes = state >> 16 < 65_536 / every;
            Fate { late: ms(if overtakes { 0 } else { 20 }), ..Fate::default() }
        });
        pair.send(NEAR, 70_000_000).run_for(Duration::from_secs(10));
        let goodput = pair.ends[FAR].incoming.len() as f64 * 8.0 / 10.0;
        // 1448 of 1500 bytes are data: 19.3 Mb/s at best.
        assert!(goodput > 16e6, "{every}: {goodput}");
    }
}

#[test]
fn bbr_remembers_the_rate_of_the_path_while_the_application_sends_little() {
    // draft-ietf-ccwg-bbr, section 4.1.2.4: samples limited by the application lower no estimate.
    let bbr = CongestionControl::BBR;
    let mut pair = Pair::with(TcpConfig::default().with(|it| it.congestion_control = bbr));
    (pair.delay, pair.rate, pair.queue) = (ms(20), Rate::from_mbps(20), Some(200));
    pair.send(NEAR, 5_000_000).run_for(Duration::from_secs(4));
    assert_eq!(pair.ends[FAR].incoming.len(), 5_000_000);
    // Eight seconds at 0.4 Mb/s are 400 round trips.
    for _ in 0..1_600 {
        pair.send(NEAR, 250).run_for(ms(5));
    }
    let before = pair.ends[FAR].incoming.len();
    pair.send(NEAR, 5_000_000).run_for(ms(300));
    // 19.3 Mb/s at best from 20 ms on.
    let arrived = (pair.ends[FAR].incoming.len() - before) as f64 * 8.0 / 0.28;
    assert!(arrived > 14e6, "{arrived}");
}

#[test]
fn buffers_grow_until_they_no_longer_limit_a_long_fast_path() {
    let classic = TcpConfig::new_reno();
    let rates = [classic.receive_buffer, TcpConfig::default().receive_buffer].map(|buffer| {
        let send_buffer = buffer;
        let receive_buffer = buffer;
        let mut pair = Pair::with(TcpConfig::default().with(|it| {
            it.send_buffer = send_buffer;
            it.receive_buffer = receive_buffer;
        }));
        (pair.delay, pair.rate, pair.queue) = (ms(50), Rate::from_mbps(200), Some(2_000));
        pair.send(NEAR, 200_000_000).run_for(Duration::from_secs(4));
        let before = pair.ends[FAR].incoming.len();
        pair.run_for(Duration::from_secs(2));
        (pair.ends[FAR].incoming.len() - before) as f64 * 8.0 / 2.0
    });
    // A megabyte in 100 ms is 84 Mb/s; the application fills it up again when a third is free.
    assert!((50e6..85e6).contains(&rates[0]), "{rates:?}");
    assert!(rates[1] > 180e6, "{rates:?}");
}

#[test]
fn pauses_do_not_stop_the_repair_of_an_overshoot_without_sack() {
    for congestion_control in [CongestionControl::CUBIC, CongestionControl::RENO] {
        let config = TcpConfig::default().with(|it| {
            it.sack = false;
            it.congestion_control = congestion_control;
            it.send_buffer = 4_000_000.into();
            it.receive_buffer = 4_000_000.into();
        });
        let mut pair = Pair::with(config);
        (pair.delay, pair.rate, pair.queue) = (ms(20), Rate::from_mbps(20), Some(200));
        // After the first second, nothing passes for the first 450 ms of each: it arrives then.
        pair.fate = Box::new(|seen| {
            let second = Duration::from_secs(1).as_nanos();
            let since = Duration::from_nanos(seen.now.as_nanos() % second);
            let late = ms(450).saturating_sub(since);
            if seen.now < at(1_000) { Fate::default() } else { Fate { late, ..Fate::default() } }
        });
        pair.send(NEAR, 70_000_000).run_for(Duration::from_secs(10));
        let goodput = pair.ends[FAR].incoming.len() as f64 * 8.0 / 10.0;
        // A share of 0.55 of the rate gets through.
        assert!(goodput > 9e6, "{congestion_control:?}: {goodput}");
    }
}
