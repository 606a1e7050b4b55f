//! The paper's tracker in the office: a walk of 945 points, one every 5 ms.

use windfall_apps::tracker::{SPRINT, TrackPoint, Tracker, WALK, walk};
use windfall_base::{Duration, Instant, Seed};
use windfall_report::statistics;

use super::ends::{Pair, ProtocolUnderTest};
use super::office::Office;
use crate::experiment::{Context, Extent};

/// The distances in metres; the last one is beyond the paper's testbed (S0.69).
pub(super) const DISTANCES: [f64; 8] = [2.0, 4.0, 6.0, 8.0, 10.0, 12.2, 13.5, 15.0];
//= S0.55
/// The interval between points.
pub(super) const INTERVAL: Duration = Duration::from_millis(5);
/// The time for which the receiver waits for late points.
const PATIENCE: Duration = Duration::from_secs(60);
/// The seconds that a step of the walk took.
const SPACING: f64 = 1.0;
/// The error of the speed, and the age of positions in seconds, above which they are useless.
///
/// The paper calls errors below a tenth graceful (section 4.4). A position that is ten intervals
/// old is one of a queue of stale ones.
pub(super) const USEFUL: (f64, f64) = (0.1, 0.05);

/// The results of one walk.
#[derive(Clone, Debug, Default)]
pub(super) struct Walked {
    /// The share of points that were lost or discarded as implausible.
    pub(super) missing: f64,
    /// The relative error of the mean speed by numbered messages; 1 if there is none.
    pub(super) error: f64,
    /// The relative error of the mean speed by the paper's tracker, which does not know what was
    /// lost.
    pub(super) error_of_paper: f64,
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

    /// Returns whether the speed of the paper's tracker was right.
    pub(super) fn is_accurate(&self) -> bool {
        self.error_of_paper < USEFUL.0
    }

    /// Returns whether the positions were useful.
    pub(super) fn is_useful(&self) -> bool {
        self.error < USEFUL.0 && self.age().is_some_and(|age| age < USEFUL.1)
    }
}

//= S0.50
/// Simulates one walk in an office, of which the trackers believe in speeds up to `bound`.
pub(super) fn track(office: Office, protocol: ProtocolUnderTest, bound: f64, seed: Seed) -> Walked {
    let nothing = Walked { missing: 1.0, error: 1.0, error_of_paper: 1.0, ..Walked::default() };
    let Some(mut pair) = Pair::connected(office, protocol, TrackPoint::LEN, seed.0) else {
        return nothing;
    };
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
    let mut ours = Tracker::new(SPACING, bound);
    // The paper's messages have no numbers: what arrives next counts as the next point, and a
    // straight line bridges only those that were discarded. So it overestimates the speed.
    let mut of_paper = ours.clone();
    let seconds = |at: Instant, since: Instant| at.saturating_since(since).as_secs_f64();
    let mut walked = nothing;
    for (place, (at, number, bytes)) in (0..).zip(&pair.received) {
        ours.take(*number, bytes);
        of_paper.take(place, bytes);
        walked.arrivals.push(seconds(*at, began));
        walked.ages.push(seconds(*at, due(*number)));
    }
    let error = |tracker: &Tracker| {
        let mean = tracker.mean();
        mean.and_then(|mean| statistics::quality_error(mean, WALK.1)).unwrap_or(1.0)
    };
    walked.missing = 1.0 - of_paper.taken as f64 / WALK.0 as f64;
    (walked.error, walked.error_of_paper) = (error(&ours), error(&of_paper));
    walked
}

/// The walks of one seed, over SAP and over TCP.
pub(super) type Both = [Walked; 2];

/// Returns the walks of each seed at these distances, with the same seeds everywhere.
pub(super) fn walks(context: &Context<'_>, offices: &[Office]) -> Vec<Vec<Both>> {
    let sap = ProtocolUnderTest::Approximate.unless_mutated(context.is_mutated);
    context.replicate(trials(context.extent), |seed| {
        let both = |&office: &Office| {
            (context.progress)(&format!("{} m, load {}", office.metres, office.load[0]));
            [sap, ProtocolUnderTest::Tcp].map(|protocol| track(office, protocol, SPRINT, seed))
        };
        offices.iter().map(both).collect()
    })
}

/// Returns the number of walks at each distance; the paper's text says 20, its Figure 7 says 50.
pub(super) const fn trials(extent: Extent) -> usize {
    match extent {
        Extent::Quick => 2,
        Extent::Paper => 20,
        Extent::Full => 50,
    }
}
