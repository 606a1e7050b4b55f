//! Figure 2: the share of frames that are retransmitted, against rate and distance.

use windfall_report::{Axis, Finding, Table, Verdict};

use super::office::{DISTANCES, RATES};
use super::streamer::{Mode, Outcome};
use super::{Cell, by_distance, cells, claim, mean_of, method};
use crate::error::Error;
use crate::figure::{Basis, Context, Figure};

pub(crate) const FIGURE: Figure = Figure {
    name: "S0.fig2",
    title: "frames retransmitted at least once, by rate and distance",
    basis: Basis::Simulated,
    expected: Verdict::NotReproduced,
    run,
};

fn run(figure: &Figure, context: &Context<'_>) -> Result<Finding, Error> {
    let cells = cells(context, Mode::Precise);
    let fraction = |outcome: &Outcome| outcome.retransmitted_fraction();
    let at = |metres: f64, mbps: u64| {
        mean_of(&cells, |cell| cell.metres == metres && cell.mbps == mbps, fraction)
    };
    let highest = at(12.2, 54);
    let by_rate: Vec<f64> = RATES.iter().map(|&mbps| at(12.2, mbps)).collect();
    let by_place: Vec<f64> = DISTANCES.iter().map(|&metres| at(metres, 54)).collect();
    //= S0.34
    let claims = vec![
        claim(
            "S0.34",
            "more than 30 % are retransmitted at 54 Mb/s and 12.2 m",
            format!("{:.1} %", 100.0 * highest),
            highest > 0.3,
        ),
        claim(
            "S0.34",
            "more with distance: at 54 Mb/s, each place beyond 4 m more than the one before",
            percent(&by_place),
            by_place[2..].is_sorted(),
        ),
        claim(
            "S0.34",
            "more with rate: at 12.2 m more at 48 and 54 Mb/s than at any rate up to 24",
            percent(&by_rate),
            at(12.2, 48).min(highest) > by_rate[..7].iter().copied().fold(0.0, f64::max),
        ),
    ];
    let chart = by_distance(
        &cells,
        "Frames retransmitted at least once",
        (Axis::linear("share of frames").from_zero(), &fraction),
    );
    Ok(Finding {
        figure: figure.name,
        title: figure.title.to_owned(),
        method: format!(
            "{} Why fewer are repeated than in the paper: fading outlasts a frame, and a sender \
             that always has something to send waits out a fade with a single frame and its seven \
             attempts, while good times pass many frames. At the same place half of the frames of \
             one attempt fail (Figure 4). Losses that come and go frame by frame, as from radios \
             that are no 802.11, would repeat more; they are not known and were not invented.",
            method(context.effort)
        ),
        claims,
        expected: figure.expected,
        charts: vec![("", chart)],
        tables: vec![("", table(&cells))],
        provenance: figure.provenance(context),
    })
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
