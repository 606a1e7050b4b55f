//! Table 1: the totals of the five synthetic environments beside those of the paper.

use windfall_report::{Estimate, Table};
use windfall_scenario::{ENVIRONMENT_FRAMES, Environment};
use windfall_trace::statistics::Statistics;

use crate::experiment::{
    Band, Basis, Claim, Context, ExperimentError, ExperimentInput, Figure, Finding, Verdict,
    VerdictRecord,
};

pub(crate) const FIGURE: Figure = Figure {
    name: "S3.table1",
    title: "The five error environments",
    basis: Basis::Simulated,
    record: VerdictRecord::with_seeds(Verdict::ByConstruction, 10),
    mutation: None,
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

/// The names of the three shares, in the order of the columns.
const SHARES: [&str; 3] = ["loss", "truncation", "corruption"];
/// The tolerance of each cell, as a share of it, and the greatest share that is *trivial*, in per
/// cent (S3.17).
const TOLERANCE: f64 = 0.1;
const TRIVIAL: f64 = 1.0;
/// The number of traces of each place.
const TRACES: usize = 10;

//= S3.17
fn run(figure: &Figure, context: &Context<'_>) -> Result<Finding, ExperimentError> {
    let mut table =
        Table::new(["place", "loss %", "truncation %", "corruption %", "bit error rate"]);
    let mut claims = vec![
        Claim::paper(
            "S3.17",
            "section 4, table 1",
            "loss, truncation, corruption and bit error rate of five places",
        )
        .by_construction(
            "the traces are synthetic: the paper's cells are what they were made from",
        ),
    ];
    for row in PAPER {
        let place = row.0;
        let traces = context.replicate(TRACES, |seed| {
            totals(&Statistics::of(&place.synthesize(seed, ENVIRONMENT_FRAMES)))
        });
        let column = |of: &dyn Fn(&Totals) -> f64| -> Estimate {
            Estimate::mean(&traces.iter().map(of).collect::<Vec<_>>())
        };
        let shares = [0, 1, 2].map(|share| column(&|totals| totals.0[share]));
        let rate = column(&|totals| totals.1);
        let [loss, cut, corrupted] = shares.map(|share| format!("{:.2}", share.value));
        table.push([place.to_string(), loss, cut, corrupted, format!("{:.2e}", rate.value)]);
        claims.push(claim(&row, shares, rate));
    }
    let method = format!(
        "Statistics of {TRACES} synthetic traces of {ENVIRONMENT_FRAMES} frames each, made as \
         --environment makes the one that it replays, with other seeds. Columns are cumulative: \
         truncation among frames that were not lost, corruption among those that were neither; \
         the bit error rate is that of all bits that arrived."
    );
    let inputs = PAPER.iter().map(input).collect();
    Ok(Finding { inputs, claims, tables: vec![("", table)], ..figure.finding(context, method) })
}

/// Compares what the traces of a place have with what they were made from.
fn claim(row: &Row, shares: [Estimate; 3], rate: Estimate) -> Claim {
    let (place, cells, paper) = row;
    let reason = "the requirement's tolerance";
    let claim = Claim::ours(
        "S3.17",
        format!("the generator works: synthetic traces of *{place}* have the totals put in"),
    );
    let claim =
        SHARES.into_iter().zip(shares).zip(cells).fold(claim, |claim, ((of, share), cell)| {
            let band = match cell {
                Some(cell) => Band::near(*cell, TOLERANCE, reason),
                None => Band::to(TRIVIAL, "trivial: the requirement's bound"),
            };
            claim.compare(format!("{of} in %"), share, band)
        });
    // The office's rate is zero in the paper, and not even one bit in a million here.
    let band = match *paper {
        0.0 => Band::to(1e-6, "not one bit in a million"),
        paper => Band::near(paper, TOLERANCE, reason),
    };
    let claim = claim.compare("bit error rate", rate, band);
    // An input that came through is none that was found; one that did not is a fault.
    let verdict = match claim.verdict() {
        Verdict::Reproduced => Verdict::ByConstruction,
        other => other,
    };
    let measured = claim.measured();
    claim.stated(measured, verdict).recorded(Verdict::ByConstruction)
}

/// The parameters that the traces of a place were made from.
fn input(row: &Row) -> ExperimentInput {
    let (place, cells, rate) = row;
    let text = |cell: &Option<f64>| cell.map_or("trivial".to_owned(), |cell| format!("{cell} %"));
    let shares = SHARES.iter().zip(cells).map(|(name, cell)| format!("{name} {}", text(cell)));
    let value = format!("{}, bit error rate {rate:.1e}", shares.collect::<Vec<_>>().join(", "));
    ExperimentInput::fitted(place.to_string(), value, "paper 003, table 1")
}

/// Shares in per cent, and the bit error rate.
type Totals = ([f64; 3], f64);

/// Loss, truncation and corruption in per cent, cumulatively, and the bit error rate.
fn totals(statistics: &Statistics) -> Totals {
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
