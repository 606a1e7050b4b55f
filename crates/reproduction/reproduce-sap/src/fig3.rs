//! Figure 3: the bit error rate in damaged frames by rate and distance.

use windfall_experiment::{
    Basis, Claim, Context, ExperimentError, Figure, Finding, Verdict, VerdictRecord,
};
use windfall_report::{Axis, Chart, Mark, Point, Series, Table};

use super::office::busy::RATES;
use super::streamer::{Mode, Outcome};
use super::{Cell, by_distance, cells, method};

pub(crate) const FIGURE: Figure = Figure {
    name: "S0.fig3",
    title: "bit error rate in damaged frames, by rate and distance",
    basis: Basis::Simulated,
    record: VerdictRecord::with_seeds(Verdict::Reproduced, 1),
    mutation: None,
    run,
};

/// The number of damaged frames below which a point is left out.
const ENOUGH: u64 = 2;

fn run(figure: &Figure, context: &Context<'_>) -> Result<Finding, ExperimentError> {
    let cells = cells(context, Mode::Approximate);
    let rate = |outcome: &Outcome| outcome.bit_error_rate();
    let all = |rates: &[u64]| {
        let chosen = cells.iter().filter(|cell| rates.contains(&cell.mbps));
        chosen.fold(Outcome::default(), |sum, cell| sum + cell.total())
    };
    let in_damaged = |rates: &[u64]| all(rates).bit_error_rate().unwrap_or(1.0);
    let highest = [48, 54].map(|mbps| in_damaged(&[mbps]));
    let right = [48, 54].map(|mbps| all(&[mbps]).intact_bits().unwrap_or(0.0));
    let [low, high] = [in_damaged(&[6, 9, 12]), in_damaged(&[48, 54])];
    let (correlation, error) = correlation(&cells);
    //= S0.35
    let mut claims = vec![
        Claim::once(
            "S0.35",
            "at 48 and 54 Mb/s the bit error rate in damaged frames is well below 5 %",
            format!("{:.2} and {:.2} % over all places", 100.0 * highest[0], 100.0 * highest[1]),
            highest.iter().all(|rate| *rate < 0.05),
        ),
        Claim::once(
            "S0.35",
            "it does not rise with the share of damaged frames: no positive correlation",
            format!(
                "a correlation of {correlation:.2} over places and rates, with a standard error \
                 of {error:.2}"
            ),
            correlation < error,
        ),
        Claim::once(
            "S0.35",
            "it falls with the rate: less at 48 and 54 Mb/s than at 6 to 12",
            format!("{:.2} % against {:.2} %, over all places", 100.0 * high, 100.0 * low),
            high < low,
        ),
    ];
    //= S0.36
    claims.push(Claim::once(
        "S0.36",
        "99.6 % of the bits are right at the highest rates, or more, within 0.3 %",
        format!("{:.2} % at 48 Mb/s, {:.2} % at 54 Mb/s", 100.0 * right[0], 100.0 * right[1]),
        right.iter().all(|right| *right >= 0.993),
    ));
    let method = format!(
        "{} Bits are compared in frames that reached the device: a frame whose SIGNAL or \
         SERVICE field or address broke is missing, not damaged, so that the worst air damages \
         no frame at all. What damages frames at low rates is a strong signal of others, which \
         inverts many bits; at high rates a little noise does, which inverts few.",
        method(context.extent)
    );
    Ok(Finding {
        claims,
        charts: vec![
            ("", by_distance(&cells, "Bit error rate in damaged frames", (axis(), &rate))),
            ("by-share", by_share(&cells)),
        ],
        tables: vec![("", table(&cells))],
        ..figure.finding(context, method)
    })
}

fn axis() -> Axis {
    Axis::log("bit error rate in damaged frames")
}

/// Returns Pearson's correlation between the fraction of damaged frames and the bit error rate in
/// them, and its standard error under independence, 1/√n.
fn correlation(cells: &[Cell]) -> (f64, f64) {
    let told = cells.iter().map(Cell::total).filter(|total| total.damaged >= ENOUGH);
    let pairs: Vec<(f64, f64)> = told
        .filter_map(|total| Some((total.damaged_fraction()?, total.bit_error_rate()?)))
        .collect();
    let count = pairs.len() as f64;
    let (x, y) = pairs.iter().fold((0.0, 0.0), |(x, y), pair| (x + pair.0, y + pair.1));
    let x = x / count;
    let y = y / count;
    let sum = |of: &dyn Fn(&(f64, f64)) -> f64| pairs.iter().map(of).sum::<f64>();
    let covariance = sum(&|pair| (pair.0 - x) * (pair.1 - y));
    let spread = (sum(&|pair| (pair.0 - x).powi(2)) * sum(&|pair| (pair.1 - y).powi(2))).sqrt();
    (if spread > 0.0 { covariance / spread } else { 1.0 }, 1.0 / count.sqrt())
}

fn by_share(cells: &[Cell]) -> Chart {
    let series = RATES.iter().map(|&mbps| {
        let told = cells.iter().filter(|cell| cell.mbps == mbps).map(Cell::total);
        let points = told.filter(|total| total.damaged >= ENOUGH).filter_map(|total| {
            Some(Point::new(total.damaged_fraction()?, total.bit_error_rate()?))
        });
        Series::new(format!("{mbps} Mb/s"), Mark::Points, points.collect())
    });
    Chart {
        title: "Damage within frames against damaged frames".to_owned(),
        subtitle: "one point for each place and rate".to_owned(),
        x: Axis::linear("share of frames that are damaged").from_zero(),
        y: axis(),
        series: series.collect(),
        rules: Vec::new(),
    }
}

fn table(cells: &[Cell]) -> Table {
    let mut table =
        Table::new(["distance (m)", "rate (Mb/s)", "frames", "arrived", "damaged", "bit errors"]);
    for cell in cells {
        let total = cell.total();
        table.push([
            cell.metres.to_string(),
            cell.mbps.to_string(),
            total.sent.to_string(),
            total.arrived.to_string(),
            total.damaged.to_string(),
            total.bit_errors.to_string(),
        ]);
    }
    table
}
