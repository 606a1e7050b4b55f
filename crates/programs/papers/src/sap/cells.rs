//! The streamer at every distance and rate of the office (Figures 2 to 4).

use windfall_report::{Axis, Chart, Estimate, Mark, Point, Series, statistics};

use super::office::{self, DISTANCES, Office, RATES};
use super::streamer::{Outcome, Run, StreamerMode};
use crate::experiment::{Context, Extent};

/// The streamer's measurements of one seed, by distance and then by rate.
pub(super) type Sweep = Vec<Vec<Outcome>>;

/// Returns the number of datagrams in a run, and of runs.
const fn workload(extent: Extent) -> (u32, usize) {
    // Many short runs rather than few long ones, for many fades. As many datagrams at each rate: a
    // share of fewer would be zero more often, and rank lower for that alone.
    match extent {
        Extent::Quick => (20, 8),
        Extent::Paper => (120, 40),
        Extent::Full => (240, 100),
    }
}

/// Streams at every distance and rate, with each of several seeds.
pub(super) fn sweeps(context: &Context<'_>, mode: StreamerMode) -> Vec<Sweep> {
    let (datagrams, runs) = workload(context.extent);
    context.replicate(runs, |seed| {
        // One seed everywhere, so that all positions and rates have the same fades.
        let cell = |metres: f64, mbps: u64| {
            Run::new(Office::at(metres, mbps), mode, datagrams, seed).stream()
        };
        let place = |&metres: &f64| {
            (context.progress)(&format!("{metres} m"));
            RATES.iter().map(|&mbps| cell(metres, mbps)).collect()
        };
        DISTANCES.iter().map(place).collect()
    })
}

/// Describes the method of measurement.
pub(super) fn method(extent: Extent) -> String {
    let (datagrams, runs) = workload(extent);
    format!(
        "{runs} runs of {datagrams} datagrams of 1024 bytes at each place and rate; the paper has \
         five of 10 240. Correlations over places and rates are those of the sums of all runs. The \
         streamer runs from end to end in simulated time: \
         SAP, UDP-Lite and IP, the classifier of the interface, 802.11g with short slots, and bits \
         that break by the measured error events of the coded chain. {}",
        office::DESCRIPTION
    )
}

/// The value of an outcome, if it has one.
pub(super) type Measure<'a> = &'a dyn Fn(&Outcome) -> Option<f64>;

/// Returns the value of each run at a place and a rate, both by their index.
pub(super) fn values(sweeps: &[Sweep], place: usize, rate: usize, of: Measure<'_>) -> Vec<f64> {
    sweeps.iter().filter_map(|sweep| of(&sweep[place][rate])).collect()
}

/// Returns the sum of all runs at a place and a rate.
pub(super) fn total(sweeps: &[Sweep], place: usize, rate: usize) -> Outcome {
    sweeps.iter().fold(Outcome::default(), |sum, sweep| sum + sweep[place][rate])
}

/// Returns the index of a rate.
pub(super) fn rate(mbps: u64) -> usize {
    RATES.iter().position(|rate| *rate == mbps).expect("it is one of the paper's")
}

/// Estimates a value of each run as a whole.
pub(super) fn each(sweeps: &[Sweep], of: impl Fn(&Sweep) -> f64) -> Estimate {
    Estimate::mean(&sweeps.iter().map(of).collect::<Vec<_>>())
}

/// Returns the indices of all cells that follow another one in the distance, and in the rate.
pub(super) fn neighbours() -> [Vec<[(usize, usize); 2]>; 2] {
    let mut by_place = Vec::new();
    let mut by_rate = Vec::new();
    for place in 0..DISTANCES.len() {
        for rate in 0..RATES.len() {
            if place > 0 {
                by_place.push([(place - 1, rate), (place, rate)]);
            }
            if rate > 0 {
                by_rate.push([(place, rate - 1), (place, rate)]);
            }
        }
    }
    [by_place, by_rate]
}

/// Estimates the rank correlation of a variable with a value over all cells that have one, each the
/// sum of all runs.
pub(super) fn trend(sweeps: &[Sweep], variable: Measure2<'_>, of: Measure<'_>) -> Estimate {
    let cells: Vec<(usize, usize)> = (0..DISTANCES.len())
        .flat_map(|place| (0..RATES.len()).map(move |rate| (place, rate)))
        .collect();
    Estimate::bootstrap(sweeps.len(), |runs| {
        let sum = |place: usize, rate: usize| {
            runs.iter().fold(Outcome::default(), |sum, &run| sum + sweeps[run][place][rate])
        };
        let pair = |&(place, rate): &(usize, usize)| {
            let sum = sum(place, rate);
            Some((variable(place, rate, &sum)?, of(&sum)?))
        };
        rank_correlation(&cells.iter().filter_map(pair).collect::<Vec<_>>())
    })
}

/// A variable of a cell, by its place, its rate and its outcome.
pub(super) type Measure2<'a> = &'a dyn Fn(usize, usize, &Outcome) -> Option<f64>;

/// Returns Spearman's rank correlation; 0 where one of the two does not vary.
pub(super) fn rank_correlation(pairs: &[(f64, f64)]) -> f64 {
    let ranks = |values: Vec<f64>| -> Vec<f64> {
        let less = |x: f64| values.iter().filter(|y| **y < x).count() as f64;
        let same = |x: f64| values.iter().filter(|y| **y == x).count() as f64;
        values.iter().map(|&x| less(x) + same(x) / 2.0).collect()
    };
    let x = ranks(pairs.iter().map(|pair| pair.0).collect());
    let y = ranks(pairs.iter().map(|pair| pair.1).collect());
    let middle = pairs.len() as f64 / 2.0;
    let sum = |a: &[f64], b: &[f64]| -> f64 {
        a.iter().zip(b).map(|(a, b)| (a - middle) * (b - middle)).sum()
    };
    let spread = (sum(&x, &x) * sum(&y, &y)).sqrt();
    if spread > 0.0 { sum(&x, &y) / spread } else { 0.0 }
}

/// Draws a chart with a line for each rate.
pub(super) fn by_distance(sweeps: &[Sweep], title: &str, y: Axis, of: Measure<'_>) -> Chart {
    let series = RATES.iter().enumerate().map(|(rate, mbps)| {
        let point =
            |(place, &metres): (usize, &f64)| interval(metres, &values(sweeps, place, rate, of));
        let points = DISTANCES.iter().enumerate().filter_map(point).collect();
        Series::new(format!("{mbps} Mb/s"), Mark::LinePoints, points)
    });
    Chart {
        title: title.to_owned(),
        subtitle: "SAP's office: mean of the runs and its 95 % interval".to_owned(),
        x: Axis::linear("distance (m)").from_zero(),
        y,
        series: series.collect(),
        rules: Vec::new(),
    }
}

/// Returns the mean of several runs with its interval.
pub(super) fn interval(x: f64, values: &[f64]) -> Option<Point> {
    let y = statistics::mean(values)?;
    let Estimate { low, high, .. } = Estimate::mean(values);
    let spread = low.is_finite().then_some((low.max(y / 100.0), high));
    Some(Point { x, y, spread })
}
