//! Losses and how long their repair takes, in each of the ways that history has.

use windfall_base::Duration;
use windfall_tcp::{LossRecovery, TcpConfig, TimeoutConfig};

use crate::pair::*;

/// Returns a round trip of 100 ms, in which the wire holds everything that is sent.
fn long_path(config: TcpConfig) -> Pair {
    let mut pair = Pair::new(config.clone(), config);
    pair.delay = ms(50);
    pair.connect().run_for(ms(300));
    pair
}

/// Loses `count` data segments, every second one from the 40th, the first time they are sent.
fn lose_every_second(pair: &mut Pair, count: u64) {
    let mut number = 0;
    pair.fate = Box::new(move |seen| {
        if seen.from != NEAR || !seen.is_data() || seen.again {
            return Fate::default();
        }
        number += 1;
        let lost = number >= 40 && number < 40 + 2 * count && number % 2 == 0;
        if lost { Fate::lost() } else { Fate::default() }
    });
}

/// Counts the round trips from the first retransmission to the last.
fn repair_time(config: TcpConfig, losses: u64) -> f64 {
    let mut pair = long_path(config);
    lose_every_second(&mut pair, losses);
    pair.transfer(600_000, Duration::from_secs(60));
    let times = pair.retransmissions(NEAR);
    assert_eq!(times.len() as u64, losses, "{times:?}");
    assert_eq!(pair.connection(NEAR).operations().timeouts, 0);
    times[times.len() - 1].saturating_since(times[0]).as_secs_f64() / 0.1
}

/// Returns the textbooks' TCP with the minimum timeout of RFC 6298, which a recovery of eight round
/// trips of 100 ms does not reach.
fn patient() -> TcpConfig {
    let timeout = TimeoutConfig { minimum: ms(1_000), ..TimeoutConfig::default() };
    TcpConfig::new_reno().with(|it| it.timeout = timeout)
}

#[test]
fn new_reno_needs_a_round_trip_for_each_loss_and_sack_one_for_all() {
    //= S2.5
    let config = patient();
    for losses in [2, 3, 5, 8] {
        let new_reno = repair_time(config.clone().with(|it| it.sack = false), losses);
        let expected = losses as f64 - 1.0;
        assert!((new_reno - expected).abs() < 0.1, "{losses}: {new_reno}");
        let sack = repair_time(config.clone(), losses);
        assert!(sack <= 1.1, "{losses}: {sack}");
    }
}

#[test]
fn the_old_tcp_times_out_where_new_reno_does_not() {
    //= S3.7
    let timeouts = |loss_recovery| {
        let config = patient().with(|it| {
            it.sack = false;
            it.loss_recovery = loss_recovery;
        });
        let mut pair = long_path(config);
        lose_every_second(&mut pair, 4);
        pair.transfer(600_000, Duration::from_secs(60));
        pair.connection(NEAR).operations().timeouts
    };
    assert_eq!(timeouts(LossRecovery::NewReno), 0);
    assert!(timeouts(LossRecovery::Net3) > 0);
}

#[test]
fn a_recovery_by_new_reno_that_takes_longer_than_a_timeout_ends_with_one() {
    // RFC 6582, section 3.2, step 3: the first partial acknowledgment alone restarts the timer.
    let mut pair = long_path(TcpConfig::new_reno().with(|it| it.sack = false));
    lose_every_second(&mut pair, 8);
    pair.transfer(600_000, Duration::from_secs(60));
    assert_eq!(pair.connection(NEAR).operations().timeouts, 1);
}

#[test]
fn netbsd_stalls_on_two_losses_in_one_window_and_not_on_one() {
    //= S3.6
    //= S3.7
    let run = |burst: u64| {
        let mut pair = Pair::with(TcpConfig::net3_reno().with(|it| it.mss = 1460));
        pair.rate = windfall_base::Rate::from_bps(800_000);
        let mut number = 0;
        pair.fate = Box::new(move |seen| {
            let data = seen.from == NEAR && seen.is_data();
            number += u64::from(data);
            if data && number % 100 < burst { Fate::lost() } else { Fate::default() }
        });
        let took = pair.transfer(1_000_000, Duration::from_secs(600));
        (took.as_secs_f64(), pair.connection(NEAR).operations().timeouts)
    };
    let (clean, none) = run(0);
    let (one, _) = run(1);
    let (two, stalls) = run(2);
    assert_eq!(none, 0);
    assert!(one < 1.35 * clean, "{one} {clean}");
    assert!(two > 1.5 * clean && stalls >= 4, "{two} {clean} {stalls}");
}

#[test]
fn timeouts_of_the_old_tcp_come_at_ticks_of_half_a_second() {
    //= S3.15
    let mut pair = Pair::with(TcpConfig::net3_reno());
    pair.fate = Box::new(|seen| if seen.is_data() { Fate::lost() } else { Fate::default() });
    pair.run_for(ms(123));
    pair.send(NEAR, 5_000).run_for(Duration::from_secs(20));
    let times = pair.retransmissions(NEAR);
    assert!(times.len() >= 3, "{times:?}");
    assert!(times.iter().all(|at| at.as_nanos() % 500_000_000 == 0), "{times:?}");
}

#[test]
fn limited_transmit_lets_small_windows_avoid_a_timeout() {
    let timeouts = |limited_transmit| {
        let config = TcpConfig::new_reno().with(|it| {
            it.limited_transmit = limited_transmit;
            it.sack = false;
            it.nagle = false;
            it.initial_window = 3;
        });
        let mut pair = long_path(config);
        let mut number = 0;
        pair.fate = Box::new(move |seen| {
            let data = seen.from == NEAR && seen.is_data() && !seen.again;
            number += u64::from(data);
            if data && number == 1 { Fate::lost() } else { Fate::default() }
        });
        pair.transfer(20_000, Duration::from_secs(10));
        pair.connection(NEAR).operations().timeouts
    };
    assert_eq!((timeouts(false), timeouts(true)), (1, 0));
}

#[test]
fn duplicates_are_reported_and_counted() {
    let mut pair = Pair::with(TcpConfig::new_reno().with(|it| it.nagle = false));
    pair.fate = Box::new(|seen| Fate { twice: seen.index == 8, ..Fate::default() });
    pair.transfer(50_000, Duration::from_secs(5));
    pair.run_for(ms(100));
    assert_eq!(pair.connection(NEAR).operations().duplicates_reported, 1, "{:#?}", pair.timeline);
    assert_eq!(pair.connection(NEAR).operations().retransmissions, 0);
}

#[test]
fn a_mark_halves_the_window_once_per_round_trip() {
    let mut pair = Pair::with(TcpConfig::new_reno().with(|it| {
        it.ecn = true;
        it.nagle = false;
    }));
    assert!(pair.connection(NEAR).negotiated().ecn);
    pair.send(NEAR, 2_000_000).run_for(ms(85));
    let before = pair.connection(NEAR).operations().reductions;
    pair.fate = Box::new(|seen| Fate { mark: seen.is_data(), ..Fate::default() });
    pair.run_for(ms(200));
    let reductions = pair.connection(NEAR).operations().reductions - before;
    // Ten round trips of 20 ms at most, and nothing was lost or retransmitted.
    assert!((7..=11).contains(&reductions), "{reductions}");
    assert!(pair.retransmissions(NEAR).is_empty());
    pair.fate = Box::new(|_| Fate::default());
    pair.run_for(ms(100));
    let echoed = |pair: &Pair| {
        let flags = pair.sent(FAR).last().unwrap().header.flags;
        flags.has(windfall_wire_net::TcpFlags::ECE)
    };
    assert!(!echoed(&pair), "the announcement of the reduction ends the echo");
}

#[test]
fn each_mark_is_counted_though_acknowledgments_are_lost() {
    let config = TcpConfig::new_reno().with(|it| {
        it.accurate_ecn = true;
        it.nagle = false;
        it.sack = true;
    });
    let mut pair = Pair::with(config);
    assert!(pair.connection(NEAR).negotiated().accurate_ecn);
    // Every fifth packet is marked, and every third acknowledgment does not arrive.
    pair.fate = Box::new(|seen| {
        let mark = seen.is_data() && seen.index % 5 == 0;
        let lost = !seen.is_data();
        Fate { mark, lost: lost && seen.index % 3 == 0, ..Fate::default() }
    });
    pair.send(NEAR, 300_000).run_for(Duration::from_secs(10));
    pair.fate = Box::new(|_| Fate::default());
    pair.send(NEAR, 10_000).run_for(Duration::from_secs(5));
    assert_eq!(pair.ends[FAR].incoming.len(), 310_000);
    let received = pair.connection(FAR).received_marks();
    assert!(received >= 40, "{received}");
    assert_eq!(pair.connection(NEAR).reported_marks(), received);
    let operations = pair.connection(NEAR).operations();
    assert!(operations.reductions < u64::from(received), "one at most in a round trip");
    assert_eq!(operations.retransmissions, 0);
}

#[test]
fn ends_of_two_generations_use_the_ecn_that_both_know() {
    let accurate = TcpConfig::new_reno().with(|it| {
        it.accurate_ecn = true;
        it.sack = true;
    });
    let classic = TcpConfig::new_reno().with(|it| {
        it.ecn = true;
        it.sack = true;
    });
    for ends in [(accurate.clone(), classic.clone()), (classic, accurate)] {
        let mut pair = Pair::established(ends.0, ends.1);
        for end in [NEAR, FAR] {
            let negotiated = pair.connection(end).negotiated();
            assert!(negotiated.ecn && !negotiated.accurate_ecn);
        }
        pair.fate = Box::new(|seen| Fate { mark: seen.index == 20, ..Fate::default() });
        let before = pair.connection(NEAR).operations().reductions;
        pair.transfer(100_000, Duration::from_secs(5));
        assert_eq!(pair.connection(NEAR).operations().reductions, before + 1);
    }
}

#[test]
fn a_hint_from_the_link_holds_fast_retransmit_back() {
    //= S2.46
    for (fast_retransmit, expected) in [(true, true), (false, false)] {
        let mut pair = Pair::with(TcpConfig::new_reno().with(|it| {
            it.fast_retransmit = fast_retransmit;
            it.nagle = false;
        }));
        // The link repairs a frame by itself: it comes late, behind ten others.
        pair.fate = Box::new(|seen| {
            let late = if seen.from == NEAR && seen.index == 15 { ms(15) } else { Duration::ZERO };
            Fate { late, ..Fate::default() }
        });
        pair.transfer(100_000, Duration::from_secs(5));
        assert_eq!(!pair.retransmissions(NEAR).is_empty(), expected);
    }
}

#[test]
fn the_acknowledgment_of_a_duplicate_measures_the_copy_that_caused_it() {
    // Both segments arrive, and their acknowledgments are lost. The copy of the first is outside of
    // the window there, and its acknowledgment echoes the second.
    for base in [TcpConfig::default(), TcpConfig::default().with(|it| it.timestamps = false)] {
        let mut pair = Pair::with(base);
        pair.send(NEAR, 1_000).run_for(ms(100));
        let blind = pair.now + Duration::from_secs(5);
        pair.fate = Box::new(move |seen| {
            if seen.from == FAR && seen.now < blind { Fate::lost() } else { Fate::default() }
        });
        pair.send(NEAR, 2_800).run_for(Duration::from_secs(20));
        let near = pair.connection(NEAR);
        assert!(near.operations().timeouts >= 3, "{:#?}", pair.timeline);
        let smoothed = near.round_trip_time().expect("measured");
        assert!(smoothed < ms(100), "{smoothed:?} {:#?}", pair.timeline);
    }
}
