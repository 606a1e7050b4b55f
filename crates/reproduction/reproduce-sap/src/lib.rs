//! The experiments of paper 000: Ransford and Ceze, *SAP: an Architecture for Selectively
//! Approximate Wireless Communication*.
//!
//! All but one of them run in simulated time. [`FIGURES`] lists them.

mod bound;
mod bulk;
mod encrypted;
mod ends;
mod fig1;
mod fig2;
mod fig3;
mod fig4;
mod fig7;
mod fig8;
mod interference;
mod office;
mod parameters;
mod sealed;
mod sockets;
mod streamer;
mod tracker;
mod upstream;

use windfall_base::Stream;
use windfall_experiment::{Context, Extent, Figure};
use windfall_report::{Axis, Chart, Mark, Point, Series};

use office::Office;
use office::busy::{self, DISTANCES, RATES};
use streamer::{Mode, Outcome, Run};

/// The figures of paper 000 in order.
pub const FIGURES: &[Figure] = &[
    fig1::FIGURE,
    fig2::FIGURE,
    fig3::FIGURE,
    fig4::FIGURE,
    sockets::FIGURE,
    bulk::FIGURE,
    bound::FIGURE,
    fig7::FIGURE,
    fig8::FIGURE,
    upstream::FIGURE,
    parameters::FIGURE,
    interference::FIGURE,
    encrypted::FIGURE,
];

/// Returns the sum of several runs with different seeds.
fn together(context: &Context<'_>, runs: u64, run: Run) -> Outcome {
    let seeded = |i| Run { seed: seed(context, i), ..run }.stream();
    (0..runs).map(seeded).fold(Outcome::default(), |sum, outcome| sum + outcome)
}

/// Returns the seed of a run.
fn seed(context: &Context<'_>, run: u64) -> u64 {
    Stream::new(context.seed, "run").at(run).bits()
}

/// The streamer's measurements at one distance and one rate, one for each run.
struct Cell {
    metres: f64,
    mbps: u64,
    outcomes: Vec<Outcome>,
}

impl Cell {
    /// Returns the sum of all runs.
    fn total(&self) -> Outcome {
        self.outcomes.iter().fold(Outcome::default(), |sum, outcome| sum + *outcome)
    }
}

/// Returns the number of datagrams in a run, and of runs.
fn workload(extent: Extent, mbps: u64) -> (u64, u64) {
    match extent {
        // Many short runs rather than few long ones, for many fades. Low rates take as long with
        // fewer datagrams.
        Extent::Quick => ((4 * mbps).clamp(20, 100), 24),
        Extent::Paper => (10_240, 5),
        Extent::Full => (10_240, 20),
    }
}

/// Streams at every distance and rate.
fn cells(context: &Context<'_>, mode: Mode) -> Vec<Cell> {
    let mut cells = Vec::new();
    for metres in DISTANCES {
        (context.progress)(&format!("{metres} m"));
        for mbps in RATES {
            let (datagrams, runs) = workload(context.extent, mbps);
            // The same seeds everywhere, so that all positions and rates have the same fades.
            let office = Office::busy(metres, mbps);
            let run = |i| Run::new(office, mode, datagrams, seed(context, i));
            let outcomes = (0..runs).map(|i| run(i).stream()).collect();
            cells.push(Cell { metres, mbps, outcomes });
        }
    }
    cells
}

/// Describes the method of measurement.
fn method(extent: Extent) -> String {
    let (datagrams, runs) = workload(extent, 54);
    let fewer = if extent == Extent::Quick { ", fewer below 25 Mb/s" } else { "" };
    format!(
        "{runs} runs of {datagrams} datagrams of 1024 bytes at each place and rate{fewer}, over \
         802.11g \
         with short slots in simulated time, which bits break from the measured error events of \
         the coded chain. {}",
        busy::DESCRIPTION
    )
}

/// The value to draw of an outcome, if it has one.
type Measure<'a> = &'a dyn Fn(&Outcome) -> Option<f64>;

/// Draws a chart with a line for each rate.
fn by_distance(cells: &[Cell], title: &str, (y, of): (Axis, Measure<'_>)) -> Chart {
    let series = RATES.iter().map(|&mbps| {
        let points = cells.iter().filter(|cell| cell.mbps == mbps).filter_map(|cell| {
            let values: Vec<f64> = cell.outcomes.iter().filter_map(of).collect();
            Point::of(cell.metres, &values)
        });
        Series::new(format!("{mbps} Mb/s"), Mark::LinePoints, points.collect())
    });
    Chart {
        title: title.to_owned(),
        subtitle: "SAP's office: mean of the runs and range".to_owned(),
        x: Axis::linear("distance (m)").from_zero(),
        y,
        series: series.collect(),
        rules: Vec::new(),
    }
}

/// Returns the mean of a value over the chosen cells.
fn mean_of(
    cells: &[Cell],
    chosen: impl Fn(&Cell) -> bool,
    of: impl Fn(&Outcome) -> Option<f64>,
) -> f64 {
    let values: Vec<f64> =
        cells.iter().filter(|cell| chosen(cell)).filter_map(|cell| of(&cell.total())).collect();
    windfall_report::statistics::mean(&values).unwrap_or(0.0)
}

#[cfg(test)]
mod tests;
