//! Table 1: the totals of the five synthetic environments beside those of the paper.

use windfall_base::Seed;
use windfall_experiment::{Basis, Claim, Context, ExperimentError, Figure, Finding, Verdict};
use windfall_report::Table;
use windfall_scenario::{ENVIRONMENT_FRAMES, Environment};
use windfall_trace::statistics::Statistics;

pub(crate) const FIGURE: Figure = Figure {
    name: "S3.table1",
    title: "The five error environments",
    basis: Basis::Simulated,
    expected: Verdict::Reproduced,
    run,
};

/// A row of the paper: loss, truncation and corruption in per cent, `None` for *trivial* or
/// *none*, and the bit error rate.
type Row = (Environment, [Option<f64>; 3], f64);

const PAPER: [Row; 5] = [
    (Environment::Office, [None, None, None], 0.0),
    (Environment::Walking, [None, None, Some(5.0)], 1.6e-4),
    (Environment::Adjacent, [Some(31.0), Some(23.0), None], 1e-3),
    (Environment::Table, [Some(5.0), Some(2.0), Some(94.0)], 4.9e-3),
    (Environment::Walls, [Some(1.0), Some(2.0), Some(27.0)], 3.8e-4),
];

//= S3.17
fn run(figure: &Figure, context: &Context<'_>) -> Result<Finding, ExperimentError> {
    let mut table =
        Table::new(["place", "loss %", "truncation %", "corruption %", "bit error rate"]);
    let mut claims = Vec::new();
    for (place, cells, rate) in PAPER {
        let seed = Seed(context.seed.0);
        let (shares, measured) =
            totals(&Statistics::of(&place.synthesize(seed, ENVIRONMENT_FRAMES)));
        let [loss, cut, corrupted] = shares.map(|share| format!("{share:.2}"));
        table.push([place.to_string(), loss, cut, corrupted, format!("{measured:.2e}")]);
        let fits = |(share, cell): (f64, Option<f64>)| match cell {
            Some(cell) => (share / cell - 1.0).abs() <= 0.1,
            None => share < 1.0,
        };
        // The office's rate is zero in the paper, and not even one bit in a million here.
        let rate_fits =
            if rate > 0.0 { (measured / rate - 1.0).abs() <= 0.1 } else { measured < 1e-6 };
        let text = |cell: Option<f64>| cell.map_or("trivial".to_owned(), |c| format!("{c} %"));
        claims.push(Claim::new(
            "S3.17",
            format!("{place}: {}, bit error rate {rate:.1e}", cells.map(text).join(", ")),
            format!("{}, {measured:.2e}", shares.map(|share| format!("{share:.2} %")).join(", ")),
            shares.into_iter().zip(cells).all(fits) && rate_fits,
        ));
    }
    let method = "Statistics of the synthetic traces that --environment replays. Columns are \
                  cumulative: truncation among frames that were not lost, corruption among those \
                  that were neither; the bit error rate is that of all bits that arrived. Each \
                  cell within 10 %, trivial below 1 %.";
    Ok(Finding { claims, tables: vec![("", table)], ..figure.finding(context, method) })
}

/// Loss, truncation and corruption in per cent, cumulatively, and the bit error rate.
fn totals(statistics: &Statistics) -> ([f64; 3], f64) {
    let rate = statistics.bits.rate.unwrap_or(0.0);
    let Some(frames) = &statistics.frames else { return ([0.0; 3], rate) };
    let share = |part: u64, of: u64| 100.0 * part as f64 / of.max(1) as f64;
    let arrived = frames.count - frames.lost;
    let whole = arrived - frames.truncated;
    // Frames that were truncated may hold inverted bits too; the column counts only whole ones.
    let shares = [
        share(frames.lost, frames.count),
        share(frames.truncated, arrived),
        share(whole.saturating_sub(frames.whole), whole),
    ];
    (shares, rate)
}
