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
    let (now, offered) = (path.now, u64::MAX);
    path.bbr.on_mark(&Loss { now, in_flight: before, in_network: before, offered });
    assert_eq!(path.bbr.window(), before * 7 / 10);
    while path.bbr.phase != Phase::Up {
        path.round(0);
    }
    path.round(0);
    assert!(path.bbr.window() >= before, "{} {before}", path.bbr.window());
}
