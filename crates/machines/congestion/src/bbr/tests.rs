use super::*;

const MSS: u64 = 1_000;

/// A path of 1 MB/s, which holds a segment for each millisecond; each step is one round trip of it.
struct Path {
    bbr: Bbr,
    /// The round trip in milliseconds.
    trip: u64,
    /// Bytes that were sent before and have not left the path yet.
    standing: u64,
    now: Instant,
    delivered: u64,
    lost: u64,
}

impl Path {
    fn new() -> Self {
        let now = Instant::START.saturating_add(Duration::from_secs(1));
        Self { bbr: Bbr::new(MSS, 10), trip: 100, standing: 0, now, delivered: 0, lost: 0 }
    }

    /// One round trip: the window arrives as fast as the path allows, two segments for each
    /// acknowledgment; the last one tells of `lost` segments.
    fn round(&mut self, lost: u64) {
        let window = self.bbr.window();
        let queue = window.saturating_sub(self.trip * MSS);
        let span = Duration::from_millis(self.trip + queue / MSS);
        let count = window / (2 * MSS);
        for n in 1..=count {
            self.now = self.now.saturating_add(span / count);
            let lost = if n == count { lost * MSS } else { 0 };
            self.delivered += 2 * MSS;
            self.lost += lost;
            let it = Delivery {
                now: self.now,
                rate: window as f64 / span.as_secs_f64(),
                delivered: self.delivered,
                delivered_before: self.delivered.saturating_sub(window),
                newly_delivered: 2 * MSS,
                newly_lost: lost,
                lost: self.lost,
                lost_since: lost,
                sent_in_flight: window,
                in_flight: window.min(self.trip * MSS) + self.standing,
                is_app_limited: false,
                limited: true,
                round_trip: Some(span),
            };
            (0..lost / MSS).for_each(|_| self.bbr.on_lost(&it));
            self.bbr.on_delivery(&it);
        }
    }
}

#[test]
fn startup_ends_when_the_bandwidth_stops_to_grow_and_the_queue_is_drained() {
    let mut path = Path::new();
    (0..12).for_each(|_| path.round(0));
    assert!(path.bbr.model.is_full);
    assert!(path.bbr.cycles(), "{:?}", path.bbr.phase);
    let bandwidth = path.bbr.model.bandwidth();
    assert!((0.95e6..1.05e6).contains(&bandwidth), "{bandwidth}");
    // Twice what the path holds, and a little.
    assert!(path.bbr.window() <= 240 * MSS, "{}", path.bbr.window());
}

#[test]
fn the_bandwidth_is_probed_within_three_seconds_and_the_round_trip_after_five() {
    let mut path = Path::new();
    let mut seen = Vec::new();
    while path.now < Instant::START.saturating_add(Duration::from_secs(30)) {
        path.round(0);
        if seen.last() != Some(&path.bbr.phase) {
            seen.push(path.bbr.phase);
        }
    }
    for phase in [Phase::Cruise, Phase::Refill, Phase::Up, Phase::ProbeRtt] {
        assert!(seen.contains(&phase), "{phase:?} of {seen:?}");
    }
    let up = seen.iter().filter(|phase| **phase == Phase::Up).count();
    assert!((3..=15).contains(&up), "{seen:?}");
}

#[test]
fn a_probe_of_the_round_trip_interrupts_a_long_startup_and_does_not_end_it() {
    let mut path = Path { trip: 900, ..Path::new() };
    while path.bbr.phase != Phase::ProbeRtt {
        assert_eq!(path.bbr.phase, Phase::Startup);
        path.round(0);
    }
    // What the startup has sent takes some round trips to drain.
    path.standing = 500 * MSS;
    (0..4).for_each(|_| path.round(0));
    path.standing = 0;
    let mut rounds = 0;
    while !path.bbr.model.is_full && rounds < 60 {
        path.round(0);
        rounds += 1;
    }
    let bandwidth = path.bbr.model.bandwidth();
    assert!((0.95e6..1.05e6).contains(&bandwidth), "{bandwidth} after {rounds} more rounds");
}

#[test]
fn losses_of_a_hundredth_change_nothing_and_of_a_twentieth_bound_what_is_in_flight() {
    for (lost, is_bound) in [(1, false), (12, true)] {
        let mut path = Path::new();
        (0..20).for_each(|_| path.round(0));
        // Through a whole cycle of probing.
        (0..60).for_each(|_| path.round(lost.min(path.bbr.window() / MSS / 4)));
        assert_eq!(path.bbr.model.bound_long.is_some(), is_bound, "{lost}");
    }
}

#[test]
fn outside_of_probes_losses_lower_the_estimate_by_three_tenths_at_most() {
    let mut path = Path::new();
    while path.bbr.phase != Phase::Cruise {
        path.round(0);
    }
    let before = path.bbr.model.bandwidth();
    path.round(1);
    path.round(1);
    let after = path.bbr.model.bandwidth();
    assert!(after >= before * 0.69 && after <= before, "{before} {after}");
}

#[test]
fn segments_leave_at_the_gain_of_the_phase_a_hundredth_below() {
    let mut path = Path::new();
    let pace = |bbr: &Bbr| bbr.pacing_rate(Some(Duration::from_millis(100))).unwrap();
    // Before anything is known: the first window, within a round trip.
    assert!((pace(&path.bbr) - 2.77 * 100e3).abs() < 1.0);
    while path.bbr.phase != Phase::Cruise {
        path.round(0);
    }
    assert!((pace(&path.bbr) / path.bbr.model.bandwidth() - 0.99).abs() < 1e-9);
}

#[test]
fn a_mark_bounds_what_is_in_flight_until_the_next_probe() {
    let mut path = Path::new();
    while path.bbr.phase != Phase::Cruise {
        path.round(0);
    }
    let before = path.bbr.window();
    let now = path.now;
    let offered = u64::MAX;
    path.bbr.on_mark(&Loss { now, in_flight: before, in_network: before, offered });
    assert_eq!(path.bbr.window(), before * 7 / 10);
    while path.bbr.phase != Phase::Up {
        path.round(0);
    }
    path.round(0);
    assert!(path.bbr.window() >= before, "{} {before}", path.bbr.window());
}

/// A controller that knows a path of 1 MB/s and 100 ms, in this phase.
fn known(phase: Phase) -> Bbr {
    let mut bbr = Bbr::new(MSS, 10);
    let it = Delivery { rate: 1e6, round_trip: Some(Duration::from_millis(100)), ..still(0) };
    bbr.model.learn(&it, true, 10 * MSS);
    bbr.model.learn_round_trip(&it);
    (bbr.phase, bbr.model.is_full) = (phase, true);
    bbr
}

/// An acknowledgment of nothing after `delivered` bytes, one second after the start.
fn still(delivered: u64) -> Delivery {
    Delivery {
        now: Instant::START.saturating_add(Duration::from_secs(1)),
        rate: 0.0,
        delivered,
        delivered_before: delivered,
        newly_delivered: 0,
        newly_lost: 0,
        lost: 0,
        lost_since: 0,
        sent_in_flight: 50 * MSS,
        in_flight: 50 * MSS,
        is_app_limited: false,
        limited: true,
        round_trip: None,
    }
}

fn loss(in_network: u64) -> Loss {
    Loss { now: Instant::START, in_flight: in_network, in_network, offered: u64::MAX }
}

#[test]
fn the_gains_are_those_of_the_draft() {
    // Sections 5.1 and 5.6.
    for (phase, pacing, window) in [
        (Phase::Startup, 2.77, 2.0),
        (Phase::Drain, 0.5, 2.0),
        (Phase::Down, 0.9, 2.0),
        (Phase::Cruise, 1.0, 2.0),
        (Phase::Refill, 1.0, 2.0),
        (Phase::Up, 1.25, 2.25),
        (Phase::ProbeRtt, 1.0, 0.5),
    ] {
        let bbr = known(phase);
        assert!((bbr.pacing_gain() - pacing).abs() < 1e-12, "{phase:?}");
        assert!((bbr.window_gain() - window).abs() < 1e-12, "{phase:?}");
    }
}

#[test]
fn what_may_be_in_flight_has_room_for_three_pieces_and_for_a_probe() {
    // Section 5.6.4.2, BBRQuantizationBudget.
    let mut bbr = known(Phase::Cruise);
    assert_eq!(bbr.inflight(1e6, 1.0), 100 * MSS);
    assert_eq!(bbr.inflight(1e6, 0.5), 50 * MSS);
    // Pieces of two segments at least, of a millisecond and of 64 KiB at most (section 5.6.3).
    assert_eq!(bbr.inflight(1e3, 1.0), 6 * MSS);
    for (pacing, quantum) in [(1e6, 2 * MSS), (9e6, 9 * MSS), (1e9, 64 << 10)] {
        bbr.pacing = pacing;
        assert_eq!(bbr.quantum(), quantum);
        assert_eq!(bbr.inflight(1e3, 1.0), 3 * quantum);
    }
    bbr.phase = Phase::Up;
    assert_eq!(bbr.inflight(1e6, 1.0), 3 * (64 << 10) + 2 * MSS);
    // Nothing is known yet: the initial window.
    assert_eq!(Bbr::new(MSS, 10).inflight(1e6, 2.0), 10 * MSS);
}

#[test]
fn a_probe_raises_the_bound_faster_in_each_round() {
    // Section 5.3.3.4, BBRRaiseInflightLongtermSlope: a segment, then two, four in a round trip.
    let mut bbr = known(Phase::Up);
    bbr.window = 100 * MSS;
    let mut pace = || {
        bbr.raise_slope();
        (bbr.raises, bbr.per_raise)
    };
    assert_eq!([pace(), pace(), pace()], [(1, 100 * MSS), (2, 50 * MSS), (3, 25 * MSS)]);
    (0..50).for_each(|_| _ = pace());
    assert_eq!(pace(), (30, 1));
}

#[test]
fn a_bound_rises_by_what_is_delivered_while_it_limits() {
    // Section 5.3.3.4, BBRProbeInflightLongtermUpward.
    let mut bbr = known(Phase::Up);
    bbr.window = 100 * MSS;
    bbr.model.bound_long = Some(100 * MSS);
    bbr.raise_slope();
    let it = |bytes, limited| Delivery { newly_delivered: bytes, limited, ..still(1_000) };
    bbr.model.is_round_start = false;
    bbr.adapt(&it(60 * MSS, true));
    assert_eq!((bbr.model.bound_long, bbr.counted), (Some(100 * MSS), 60 * MSS));
    bbr.adapt(&it(60 * MSS, false));
    assert_eq!(bbr.counted, 60 * MSS, "the window does not limit");
    bbr.adapt(&it(60 * MSS, true));
    assert_eq!((bbr.model.bound_long, bbr.counted), (Some(101 * MSS), 20 * MSS));
    assert_eq!(bbr.raises, 1);
    // The window is below the bound, and then a round begins.
    bbr.adapt(&it(60 * MSS, true));
    assert_eq!((bbr.model.bound_long, bbr.counted), (Some(101 * MSS), 20 * MSS));
    (bbr.window, bbr.model.is_round_start) = (101 * MSS, true);
    bbr.adapt(&it(0, true));
    assert_eq!((bbr.raises, bbr.per_raise), (2, 101 * MSS / 2));
    // More than the bound was in flight and nothing was lost.
    bbr.adapt(&Delivery { sent_in_flight: 150 * MSS, ..it(0, false) });
    assert_eq!(bbr.model.bound_long, Some(150 * MSS));
    bbr.phase = Phase::Cruise;
    bbr.counted = 0;
    bbr.window = 200 * MSS;
    bbr.adapt(&it(60 * MSS, true));
    assert_eq!(bbr.counted, 0, "only a probe raises");
}

#[test]
fn too_much_loss_in_a_probe_bounds_it_to_what_was_in_flight_and_ends_it() {
    // Section 5.5.10.2, BBRHandleInflightTooHigh.
    let lossy = Delivery { lost_since: 1_001, sent_in_flight: 50 * MSS, ..still(9_000) };
    for (it, in_probe, bound) in [
        // 2 % of 50 000 bytes are 1 000; 7 tenths of the path, of 102 segments with the probe.
        (lossy, true, Some(71 * MSS)),
        (Delivery { lost_since: 1_000, ..lossy }, true, None),
        (lossy, false, None),
        (Delivery { is_app_limited: true, ..lossy }, true, None),
        (Delivery { sent_in_flight: 90 * MSS, lost_since: 5_000, ..lossy }, true, Some(90 * MSS)),
    ] {
        for by_loss in [false, true] {
            let mut bbr = known(Phase::Up);
            bbr.window = 200 * MSS;
            bbr.model.samples_probe = in_probe;
            if by_loss {
                bbr.on_lost(&it);
            } else {
                bbr.model.is_round_start = false;
                bbr.adapt(&it);
            }
            assert_eq!(
                bbr.model.bound_long.map(|bound| bound / MSS),
                bound.map(|bound| bound / MSS)
            );
            let is_over = in_probe && it.loses_too_much();
            assert_eq!(bbr.phase == Phase::Down, is_over, "{it:?}");
            assert_eq!(bbr.model.samples_probe, in_probe && !is_over);
        }
    }
    // 7 tenths of the window, if that is less than the path.
    let mut bbr = known(Phase::Up);
    (bbr.window, bbr.model.samples_probe) = (80 * MSS, true);
    bbr.on_lost(&lossy);
    assert_eq!(bbr.model.bound_long, Some(56 * MSS));
}

#[test]
fn headroom_is_fifteen_in_a_hundred_and_at_least_a_segment() {
    // Section 5.3.3.2, BBRInflightWithHeadroom.
    let mut bbr = known(Phase::Cruise);
    for (bound, left) in [(100 * MSS, 85 * MSS), (6 * MSS, 5 * MSS), (4_500, 4 * MSS)] {
        bbr.model.bound_long = Some(bound);
        assert_eq!(bbr.with_headroom(), left);
    }
    bbr.model.bound_long = None;
    assert_eq!(bbr.with_headroom(), u64::MAX);
}

#[test]
fn each_phase_keeps_to_the_bounds_that_are_its_own() {
    // Section 5.6.4.7, BBRBoundCwndForModel.
    for (phase, window) in [
        (Phase::Startup, 300),
        (Phase::Drain, 300),
        (Phase::Down, 100),
        (Phase::Refill, 100),
        (Phase::Up, 100),
        (Phase::Cruise, 85),
        (Phase::ProbeRtt, 50),
    ] {
        let mut bbr = known(phase);
        bbr.window = 300 * MSS;
        bbr.model.bound_long = Some(100 * MSS);
        bbr.bound_window();
        assert_eq!(bbr.window, window * MSS, "{phase:?}");
        bbr.model.bound_short = Some(30 * MSS);
        bbr.bound_window();
        assert_eq!(bbr.window, 30 * MSS, "{phase:?}");
        bbr.model.bound_short = Some(1);
        bbr.bound_window();
        assert_eq!(bbr.window, 4 * MSS, "{phase:?}");
    }
}

#[test]
fn a_recovery_begins_with_what_is_in_the_network_and_ends_with_the_window_before() {
    // Sections 5.6.4.4 and 5.6.4.5, packet conservation.
    let mut bbr = known(Phase::Cruise);
    bbr.window = 90 * MSS;
    bbr.on_loss(&loss(60 * MSS));
    assert_eq!(bbr.window(), 61 * MSS);
    // What arrives may be replaced, at most, and what is lost may not.
    bbr.control(&Delivery { newly_delivered: 2 * MSS, in_flight: 60 * MSS, ..still(9_000) });
    assert_eq!(bbr.window(), 62 * MSS);
    bbr.control(&Delivery { newly_lost: 5 * MSS, in_flight: 20 * MSS, ..still(9_000) });
    assert_eq!(bbr.window(), 57 * MSS);
    bbr.on_recovered();
    assert_eq!(bbr.window(), 90 * MSS);
    // It never rises by a loss, and keeps four segments.
    bbr.on_loss(&loss(200 * MSS));
    assert_eq!(bbr.window(), 90 * MSS);
    bbr.on_loss(&loss(0));
    assert_eq!(bbr.window(), 4 * MSS);
    bbr.on_recovered();
    assert_eq!(bbr.window(), 90 * MSS);
}

#[test]
fn after_a_timeout_one_segment_more_than_is_in_the_network_and_then_the_window_before() {
    let mut bbr = known(Phase::Cruise);
    bbr.window = 90 * MSS;
    bbr.on_timeout(&loss(0), true);
    assert_eq!(bbr.window(), MSS);
    bbr.on_timeout(&loss(3 * MSS), false);
    assert_eq!(bbr.window(), 4 * MSS);
    bbr.on_recovered();
    assert_eq!(bbr.window(), 90 * MSS);
}

#[test]
fn a_spurious_timeout_goes_on_with_the_phase_and_the_bounds_before() {
    // Section 5.5.11, BBRHandleSpuriousLossDetection.
    let spurious = |before, after| {
        let mut bbr = known(before);
        bbr.model.bound_long = Some(100 * MSS);
        bbr.window = 90 * MSS;
        bbr.on_timeout(&loss(0), true);
        (bbr.phase, bbr.model.bound_long) = (after, Some(20 * MSS));
        bbr.on_spurious_timeout();
        assert_eq!((bbr.window(), bbr.model.bound_long), (90 * MSS, Some(100 * MSS)));
        (bbr.phase, bbr.model.is_full, bbr.model.samples_probe)
    };
    assert_eq!(spurious(Phase::Startup, Phase::Drain), (Phase::Startup, false, false));
    assert_eq!(spurious(Phase::Up, Phase::Down), (Phase::Up, true, true));
    assert_eq!(spurious(Phase::Up, Phase::Up), (Phase::Up, true, false));
    assert_eq!(spurious(Phase::Up, Phase::ProbeRtt), (Phase::ProbeRtt, true, false));
    assert_eq!(spurious(Phase::Cruise, Phase::Down), (Phase::Down, true, false));
    // A timeout within a recovery belongs to the recovery, whose state comes back.
    let mut bbr = known(Phase::Up);
    bbr.window = 90 * MSS;
    bbr.on_loss(&loss(60 * MSS));
    bbr.phase = Phase::Down;
    bbr.on_timeout(&loss(0), true);
    bbr.on_spurious_timeout();
    assert_eq!((bbr.phase, bbr.window()), (Phase::Up, 90 * MSS));
}

#[test]
fn the_next_probe_comes_after_two_to_three_seconds_or_as_often_as_reno_would() {
    // Section 5.3.3.5, BBRIsTimeToProbeBW.
    let mut waits = std::collections::BTreeSet::new();
    for nanos in 0..50 {
        let mut bbr = known(Phase::Up);
        let now = Instant::START.saturating_add(Duration::from_nanos(nanos * 777_777));
        bbr.go_down(&Delivery { now, ..still(9_000) });
        assert!((2_000..3_000).contains(&(bbr.probe_wait.as_nanos() / 1_000_000)));
        assert!(bbr.rounds_since_probe <= 1);
        waits.insert(bbr.probe_wait);
        let later = |wait| Delivery { now: now.saturating_add(wait), ..still(9_000) };
        bbr.rounds_since_probe = 0;
        bbr.window = 200 * MSS;
        let wait = bbr.probe_wait;
        assert!(!bbr.refills(&later(wait.saturating_sub(Duration::from_nanos(1)))));
        assert_eq!(bbr.phase, Phase::Down);
        assert!(bbr.refills(&later(wait)));
        assert_eq!(bbr.phase, Phase::Refill);
    }
    assert!(waits.len() > 40, "flows that share a path do not probe in step");
    // Rounds are counted from the last probe on.
    let mut bbr = known(Phase::Cruise);
    bbr.probe_wait = Duration::from_secs(9);
    for delivered in [9_000, 10_000, 11_000] {
        bbr.on_delivery(&still(delivered));
    }
    assert_eq!(bbr.rounds_since_probe, 3);
    // 63 rounds, or as many as there are segments on a path of fewer.
    for (window, rounds) in [(200 * MSS, 63), (20 * MSS, 20)] {
        let mut bbr = known(Phase::Up);
        bbr.go_down(&still(9_000));
        (bbr.window, bbr.rounds_since_probe) = (window, rounds - 1);
        assert!(!bbr.refills(&still(9_000)));
        bbr.rounds_since_probe = rounds;
        assert!(bbr.refills(&still(9_000)));
    }
}

#[test]
fn a_probe_of_the_round_trip_keeps_half_the_path_for_200_ms_and_a_round() {
    // Section 5.3.4.
    let mut bbr = known(Phase::Cruise);
    bbr.window = 90 * MSS;
    let it = |millis, delivered, before, in_flight| Delivery {
        now: Instant::START.saturating_add(Duration::from_millis(millis)),
        delivered,
        delivered_before: before,
        in_flight,
        round_trip: Some(Duration::from_millis(100)),
        rate: 1e6,
        ..still(0)
    };
    bbr.on_delivery(&it(6_001, 100_000, 90_000, 0));
    assert_ne!(bbr.phase, Phase::ProbeRtt, "nothing is in flight");
    let mut bbr = known(Phase::Cruise);
    bbr.window = 90 * MSS;
    bbr.on_delivery(&it(6_001, 100_000, 90_000, 80 * MSS));
    assert_eq!((bbr.phase, bbr.window()), (Phase::ProbeRtt, 50 * MSS));
    // The 200 ms begin when what is in flight has come down to the half.
    bbr.on_delivery(&it(6_100, 130_000, 95_000, 51 * MSS));
    assert_eq!(bbr.probe_rtt_ends, None);
    bbr.on_delivery(&it(6_200, 131_000, 95_000, 50 * MSS));
    let ends = Instant::START.saturating_add(Duration::from_millis(6_400));
    assert_eq!(bbr.probe_rtt_ends, Some(ends));
    // Long enough, but no round has passed, and the other way round.
    bbr.on_delivery(&it(6_500, 132_000, 130_999, 50 * MSS));
    assert_eq!(bbr.phase, Phase::ProbeRtt);
    let mut early = bbr.clone();
    early.on_delivery(&it(6_400, 133_000, 131_000, 50 * MSS));
    assert_eq!(early.phase, Phase::ProbeRtt);
    bbr.on_delivery(&it(6_500, 133_000, 131_000, 50 * MSS));
    assert_eq!(bbr.phase, Phase::Cruise);
    assert!(bbr.window() >= 90 * MSS, "{}", bbr.window());
    // What was held back does not measure the path, and what was sent afterwards does.
    assert_eq!(bbr.held_back, [100_000, 133_000 + 50 * MSS]);
    let is_full = |before| {
        let mut bbr = bbr.clone();
        bbr.model.watch_full(&Delivery { rate: 1e7, ..still(0) });
        for _ in 0..3 {
            (bbr.phase, bbr.rounds_since_probe) = (Phase::Cruise, 0);
            bbr.model.begin_round(&still(0));
            bbr.on_delivery(&it(6_600, 190_000, before, 0));
        }
        bbr.model.is_full_now
    };
    assert_eq!([99_999, 100_000, 183_000, 183_001].map(is_full), [true, false, false, true]);
}

#[test]
fn the_pace_of_startup_never_falls_and_that_of_later_phases_does() {
    let mut bbr = Bbr::new(MSS, 10);
    bbr.on_first_round_trip(Duration::from_millis(100));
    assert!((bbr.pacing_rate(None).unwrap() - 277e3).abs() < 1.0);
    // A second one says no more (section 5.6.2).
    bbr.on_first_round_trip(Duration::from_millis(1));
    assert!((bbr.pacing_rate(None).unwrap() - 277e3).abs() < 1.0);
    bbr.control(&still(0));
    assert!((bbr.pacing - 277e3).abs() < 1.0);
    // It rises with the bandwidth.
    let mut bbr = known(Phase::Startup);
    (bbr.model.is_full, bbr.pacing) = (false, 277e3);
    bbr.control(&still(0));
    assert!((bbr.pacing - 2.77 * 0.99e6).abs() < 1e-3);
    let mut bbr = known(Phase::Cruise);
    bbr.pacing = 5e6;
    bbr.control(&still(0));
    assert!((bbr.pacing - 0.99e6).abs() < 1e-3);
    // Without any round trip as if it were of a millisecond.
    assert!((Bbr::new(MSS, 10).pacing_rate(None).unwrap() - 27.7e6).abs() < 1.0);
}

#[test]
fn the_window_grows_by_what_is_delivered_up_to_twice_the_path() {
    // Section 5.6.4.6.
    let mut bbr = known(Phase::Cruise);
    bbr.window = 100 * MSS;
    let it = Delivery { newly_delivered: 30 * MSS, ..still(9_000) };
    bbr.control(&it);
    assert_eq!(bbr.window(), 130 * MSS);
    (0..5).for_each(|_| bbr.control(&it));
    assert_eq!(bbr.window(), 200 * MSS + bbr.model.extra());
    // And by what comes in one piece (section 5.5.9).
    let piece = Delivery { newly_delivered: 7 * MSS, rate: 1e6, ..still(9_000) };
    bbr.model.learn(&piece, true, 300 * MSS);
    assert_eq!(bbr.model.extra(), 7 * MSS);
    bbr.control(&it);
    assert_eq!(bbr.window(), 207 * MSS);
    // In startup it does not shrink to that, and grows as long as little was delivered.
    let mut bbr = known(Phase::Startup);
    (bbr.model.is_full, bbr.window) = (false, 300 * MSS);
    bbr.control(&Delivery { delivered: 10 * MSS, ..it });
    assert_eq!(bbr.window(), 300 * MSS);
    bbr.control(&Delivery { delivered: 10 * MSS - 1, ..it });
    assert_eq!(bbr.window(), 330 * MSS);
    bbr.window = 150 * MSS;
    bbr.control(&Delivery { delivered: 90 * MSS, ..it });
    assert_eq!(bbr.window(), 180 * MSS);
    // What is lost leaves it, down to four segments.
    bbr.control(&Delivery { newly_lost: 400 * MSS, ..still(9_000_000) });
    assert_eq!(bbr.window(), 4 * MSS);
}

#[test]
fn startup_that_loses_too_much_is_bounded_by_the_path_or_by_what_it_delivered() {
    // Section 5.3.1.3.
    for (lately, bound) in [(50 * MSS, 100 * MSS), (120 * MSS, 120 * MSS)] {
        let mut bbr = known(Phase::Startup);
        bbr.model.is_full = false;
        (0..6).for_each(|_| bbr.on_lost(&still(0)));
        bbr.model.learn(&Delivery { rate: 1e6, ..still(9_000) }, true, 10 * MSS);
        bbr.model.delivered_lately = lately;
        bbr.leave_startup(&Delivery { lost: 40 * MSS, ..still(0) });
        assert_eq!(bbr.phase, Phase::Drain);
        assert_eq!(bbr.model.bound_long, Some(bound));
    }
}

#[test]
fn a_limit_lowers_the_window_to_a_segment_at_least_and_smaller_segments_count() {
    let mut bbr = known(Phase::Cruise);
    bbr.window = 90 * MSS;
    bbr.limit(100 * MSS);
    assert_eq!(bbr.window(), 90 * MSS);
    bbr.limit(7 * MSS);
    assert_eq!(bbr.window(), 7 * MSS);
    bbr.limit(1);
    assert_eq!(bbr.window(), MSS);
    bbr.set_mss(600);
    bbr.limit(1);
    assert_eq!((bbr.window(), bbr.threshold(), bbr.is_model()), (600, u64::MAX, true));
}

#[test]
fn a_path_that_has_drained_is_kept_to_until_the_next_probe_is_due() {
    // Section 5.3.3.2: to cruise, with room for others.
    for (in_flight, waits, bound, phase) in [
        (100 * MSS, true, None, Phase::Cruise),
        (101 * MSS, true, None, Phase::Down),
        (85 * MSS, true, Some(100 * MSS), Phase::Cruise),
        (86 * MSS, true, Some(100 * MSS), Phase::Down),
        (100 * MSS, false, None, Phase::Refill),
        (300 * MSS, false, None, Phase::Refill),
    ] {
        let mut bbr = known(Phase::Down);
        (bbr.window, bbr.model.bound_long, bbr.began) = (200 * MSS, bound, still(0).now);
        bbr.probe_wait = Duration::from_secs(if waits { 2 } else { 0 });
        bbr.cycle(&Delivery { in_flight, sent_in_flight: 0, ..still(9_000) });
        assert_eq!(bbr.phase, phase, "{in_flight} {waits} {bound:?}");
    }
}

#[test]
fn a_probe_of_the_round_trip_leaves_four_segments() {
    let mut bbr = Bbr::new(MSS, 10);
    assert_eq!(bbr.probe_rtt_window(), 10 * MSS, "nothing is known");
    let it = Delivery { rate: 1e4, round_trip: Some(Duration::from_millis(100)), ..still(0) };
    bbr.model.learn(&it, true, 10 * MSS);
    bbr.model.learn_round_trip(&it);
    assert_eq!(bbr.probe_rtt_window(), 4 * MSS);
    assert_eq!(known(Phase::Cruise).probe_rtt_window(), 50 * MSS);
}

#[test]
fn a_probe_ends_when_the_bandwidth_stops_to_grow_unless_the_bound_holds_it() {
    // Section 5.3.3.4.
    for (limited, bound, phase) in [
        (true, None, Phase::Down),
        (true, Some(100 * MSS), Phase::Up),
        (false, Some(100 * MSS), Phase::Down),
        (true, Some(300 * MSS), Phase::Down),
    ] {
        let mut bbr = known(Phase::Up);
        (bbr.window, bbr.model.bound_long, bbr.model.is_full_now) = (100 * MSS, bound, true);
        bbr.cycle(&Delivery { limited, sent_in_flight: 0, ..still(9_000) });
        assert_eq!(bbr.phase, phase, "{limited} {bound:?}");
    }
}
