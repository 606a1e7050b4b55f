//! Figure 2: the fraction of retransmitted frames by rate and distance.

use windfall_experiment::{
    Basis, Claim, Context, ExperimentError, Figure, Finding, Verdict, VerdictRecord,
};
use windfall_report::{Axis, Table};

use super::office::busy::{DISTANCES, RATES};
use super::streamer::{Mode, Outcome};
use super::{Cell, by_distance, cells, mean_of, method};

pub(crate) const FIGURE: Figure = Figure {
    name: "S0.fig2",
    title: "frames retransmitted at least once, by rate and distance",
    basis: Basis::Simulated,
    record: VerdictRecord::with_seeds(Verdict::Reproduced, 1),
    mutation: None,
    run,
};

fn run(figure: &Figure, context: &Context<'_>) -> Result<Finding, ExperimentError> {
    let cells = cells(context, Mode::Precise);
    let fraction = |outcome: &Outcome| outcome.retransmitted_fraction();
    let at = |metres: f64, mbps: u64| {
        mean_of(&cells, |cell| cell.metres == metres && cell.mbps == mbps, fraction)
    };
    let highest = at(12.2, 54);
    let by_rate: Vec<f64> = RATES.iter().map(|&mbps| at(12.2, mbps)).collect();
    let by_place: Vec<f64> = DISTANCES.iter().map(|&metres| at(metres, 54)).collect();
    let [near, middle] = [&by_place[..3], &by_place[3..6]].map(mean);
    //= S0.34
    let claims = vec![
        Claim::once(
            "S0.34",
            "more than 30 % are retransmitted at 54 Mb/s and 12.2 m",
            format!("{:.1} %", 100.0 * highest),
            highest > 0.3,
        ),
        Claim::once(
            "S0.34",
            "more with distance: at 54 Mb/s more behind walls than within 4 m, most at 12.2 m",
            percent(&by_place),
            near < middle && 2.0 * middle < highest,
        ),
        Claim::once(
            "S0.34",
            "more with rate: at 12.2 m more at 54 Mb/s than at 48, there than at 36, there than at \
             any of 12 to 24",
            percent(&by_rate),
            by_rate[4..7].iter().all(|share| *share < by_rate[7]) && by_rate[7..].is_sorted(),
        ),
    ];
    let chart = by_distance(
        &cells,
        "Frames retransmitted at least once",
        (Axis::linear("share of frames").from_zero(), &fraction),
    );
    let method = format!(
        "{} Frames at 1 and 2 Mb/s are retransmitted more than those at 6 to 24, since they are on \
         the air for up to 9 ms, in which others begin that do not hear them; the paper has no \
         such numbers.",
        method(context.extent)
    );
    Ok(Finding {
        claims,
        charts: vec![("", chart)],
        tables: vec![("", table(&cells))],
        ..figure.finding(context, method)
    })
}

fn mean(shares: &[f64]) -> f64 {
    shares.iter().sum::<f64>() / shares.len() as f64
}

fn percent(shares: &[f64]) -> String {
    let shares: Vec<String> = shares.iter().map(|share| format!("{:.1}", 100.0 * share)).collect();
    format!("{} %", shares.join(", "))
}

fn table(cells: &[Cell]) -> Table {
    let mut table = Table::new(["distance (m)", "rate (Mb/s)", "frames", "retransmitted"]);
    for cell in cells {
        let total = cell.total();
        table.push([
            cell.metres.to_string(),
            cell.mbps.to_string(),
            total.sent.to_string(),
            total.retransmitted.to_string(),
        ]);
    }
    table
}
