//! Figure 4: the frame loss rate with and without accepting damage.

use windfall_experiment::{
    Basis, Claim, Context, ExperimentError, Figure, Finding, Verdict, VerdictRecord,
};
use windfall_report::{Axis, Chart, Mark, Point, Series, Table};

use super::office::busy::{DISTANCES, RATES};
use super::streamer::{Mode, Outcome};
use super::{Cell, cells, mean_of, method};

pub(crate) const FIGURE: Figure = Figure {
    name: "S0.fig4",
    title: "frame loss rate, damaged frames counted (FLR) and accepted (FLR/B)",
    basis: Basis::Simulated,
    record: VerdictRecord::with_seeds(Verdict::Reproduced, 1),
    mutation: None,
    run,
};

fn run(figure: &Figure, context: &Context<'_>) -> Result<Finding, ExperimentError> {
    let cells = cells(context, Mode::Approximate);
    let below = cells.iter().map(Cell::total).all(|it| it.flr_but_damaged() <= it.flr());
    let gap = |outcome: &Outcome| Some(outcome.flr()? - outcome.flr_but_damaged()?);
    let of = |metres: f64, mbps: u64| {
        mean_of(&cells, |cell| cell.metres == metres && cell.mbps == mbps, gap)
    };
    //= S0.37
    let claims = vec![
        Claim::once("S0.37", "FLR/B is nowhere above FLR", format!("{} cells", cells.len()), below),
        Claim::once(
            "S0.37",
            "the gap grows with distance: at 54 Mb/s larger at 12.2 m than at 10, and there than \
             at 4",
            format!("{:.3}, {:.3}, {:.3}", of(12.2, 54), of(10.0, 54), of(4.0, 54)),
            of(12.2, 54) > of(10.0, 54) && of(10.0, 54) > of(4.0, 54),
        ),
        Claim::once(
            "S0.37",
            "the gap grows with the rate: at 12.2 m larger at 54 Mb/s than at 36, and there than \
             at 24",
            format!("{:.3}, {:.3}, {:.3}", of(12.2, 54), of(12.2, 36), of(12.2, 24)),
            of(12.2, 54) > of(12.2, 36) && of(12.2, 36) > of(12.2, 24),
        ),
    ];
    let charts = vec![
        ("", chart(&cells, "distance (m)", &DISTANCES, |cell, x| cell.metres == x)),
        (
            "by-rate",
            chart(&cells, "rate (Mb/s)", &RATES.map(|mbps| mbps as f64), |cell, x| {
                cell.mbps as f64 == x
            }),
        ),
    ];
    let method = method(context.extent);
    Ok(Finding {
        claims,
        charts,
        tables: vec![("", table(&cells))],
        ..figure.finding(context, method)
    })
}

fn chart(cells: &[Cell], axis: &str, places: &[f64], at: impl Fn(&Cell, f64) -> bool) -> Chart {
    let series = |name: &str, mark: Mark, of: fn(&Outcome) -> Option<f64>| {
        let point = |&x: &f64| Point::new(x, mean_of(cells, |cell| at(cell, x), of));
        Series::new(name, mark, places.iter().map(point).collect())
    };
    Chart {
        title: "Frame loss rate".to_owned(),
        subtitle: "SAP's office: mean over the other variable".to_owned(),
        x: Axis::linear(axis).from_zero(),
        y: Axis::linear("share of frames lost").from_zero(),
        series: vec![
            series("FLR", Mark::LinePoints, Outcome::flr),
            series("FLR/B", Mark::LinePoints, Outcome::flr_but_damaged),
        ],
        rules: Vec::new(),
    }
}

fn table(cells: &[Cell]) -> Table {
    let mut table = Table::new(["distance (m)", "rate (Mb/s)", "FLR", "FLR/B"]);
    for cell in cells {
        let total = cell.total();
        let share = |value: Option<f64>| value.map_or(String::new(), |v| format!("{v:.4}"));
        table.push([
            cell.metres.to_string(),
            cell.mbps.to_string(),
            share(total.flr()),
            share(total.flr_but_damaged()),
        ]);
    }
    table
}
