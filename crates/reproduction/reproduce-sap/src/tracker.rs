//! The paper's tracker in the office: a walk of 945 points, one every 5 ms.

use windfall_apps::tracker::{SPRINT, TrackPoint, Tracker, WALK, walk};
use windfall_base::{Duration, Instant};
use windfall_report::statistics;

use super::ends::{OFFERED, Pair, ProtocolUnderTest};
use super::office::Office;
use windfall_experiment::{Context, Extent};

/// The distances in metres; the last one is beyond the paper's testbed (S0.69).
pub(super) const DISTANCES: [f64; 8] = [2.0, 4.0, 6.0, 8.0, 10.0, 12.2, 13.5, 15.0];
//= S0.55
/// The interval between points.
pub(super) const INTERVAL: Duration = Duration::from_millis(5);
/// The time for which the receiver waits for late points.
const PATIENCE: Duration = Duration::from_secs(60);
/// The number of exact bytes at the front of a point: none, as in the paper.
const SPACING: f64 = 1.0;

/// The results of one walk.
#[derive(Clone, Debug, Default)]
pub(super) struct Walked {
    /// The number of plausible points, of 945.
    pub(super) taken: u64,
    /// The number of implausible points.
    pub(super) implausible: u64,
    /// The relative error of the mean speed; 1 if there is none.
    pub(super) error: f64,
    /// The arrival times of points in seconds since the first was sent.
    pub(super) arrivals: Vec<f64>,
    /// The age of each point when it arrived, in seconds (S0.73).
    pub(super) ages: Vec<f64>,
}

impl Walked {
    //= S0.55
    pub(super) fn variance(&self) -> Option<f64> {
        statistics::inter_arrival_variance(&self.arrivals)
    }

    /// Returns the time from the first point sent to the last one received, in seconds.
    pub(super) fn seconds(&self) -> Option<f64> {
        self.arrivals.last().copied()
    }

    //= S0.73
    pub(super) fn age(&self) -> Option<f64> {
        statistics::mean(&self.ages)
    }
}

/// An office, and the number of frames per second that each other network offers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Disturbed {
    pub(super) office: Office,
    pub(super) offered: f64,
}

/// Simulates one walk in an office.
//= S0.50
pub(super) fn track(air: Disturbed, protocol: ProtocolUnderTest, seed: u64) -> Walked {
    let nothing = Walked { error: 1.0, ..Walked::default() };
    let Some(mut pair) = Pair::connected(air.office, protocol, TrackPoint::LEN, seed) else {
        return nothing;
    };
    pair.offered = air.offered;
    let points = walk();
    let began = pair.now;
    let due = |number: u32| began + INTERVAL * u64::from(number);
    for (number, point) in (0..).zip(&points) {
        pair.run(due(number));
        pair.send(&point.to_bytes());
    }
    pair.finish();
    let patience = pair.now + PATIENCE;
    while !pair.is_over() && pair.now < patience {
        pair.run(pair.now + INTERVAL);
    }
    let mut tracker = Tracker::new(SPACING, SPRINT);
    let seconds = |at: Instant, since: Instant| at.saturating_since(since).as_secs_f64();
    let mut walked = nothing;
    for (at, number, bytes) in &pair.received {
        tracker.take(*number, bytes);
        walked.arrivals.push(seconds(*at, began));
        walked.ages.push(seconds(*at, due(*number)));
    }
    (walked.taken, walked.implausible) = (tracker.taken, tracker.implausible);
    if let Some(mean) = tracker.mean() {
        walked.error = statistics::quality_error(mean, WALK.1).unwrap_or(1.0);
    }
    walked
}

/// All walks at one distance.
pub(super) struct Place {
    pub(super) metres: f64,
    pub(super) walks: Vec<Walked>,
}

impl Place {
    /// Returns the value of each walk.
    pub(super) fn values(&self, of: impl Fn(&Walked) -> Option<f64>) -> Vec<f64> {
        self.walks.iter().filter_map(of).collect()
    }

    /// Returns the median of a value.
    pub(super) fn median(&self, of: impl Fn(&Walked) -> Option<f64>) -> f64 {
        statistics::median(&self.values(of)).unwrap_or(f64::NAN)
    }

    /// Returns the fraction of implausible points over all walks.
    pub(super) fn missing(&self) -> f64 {
        let taken: u64 = self.walks.iter().map(|walk| walk.taken).sum();
        1.0 - taken as f64 / (self.walks.len() * WALK.0) as f64
    }
}

/// Simulates walks at each distance, with the same seeds everywhere.
pub(super) fn places(
    context: &Context<'_>,
    protocol: ProtocolUnderTest,
    distances: &[f64],
) -> Vec<Place> {
    let trials = trials(context.extent);
    let place = |&metres: &f64| {
        (context.progress)(&format!("{protocol:?}, {metres} m"));
        let air = Disturbed { office: Office::calm(metres, 54), offered: OFFERED };
        let walks = (0..trials).map(|i| track(air, protocol, context.seed.0 + i)).collect();
        Place { metres, walks }
    };
    distances.iter().map(place).collect()
}

/// Returns the number of walks at each distance: 20, as the paper's text says; its Figure 7 says
/// 50.
pub(super) const fn trials(extent: Extent) -> u64 {
    match extent {
        Extent::Quick => 6,
        Extent::Paper => 20,
        Extent::Full => 50,
    }
}
