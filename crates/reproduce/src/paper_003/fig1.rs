//! Figure 1: TCP without local retransmission, bursts of one to eight lost packets per hundred.

use windfall_report::{Axis, Chart, Claim, Finding, Mark, Point, Series, Table, Verdict};

use super::{Burst, Runs, WITHOUT, method_of_tcp, sweep};
use crate::error::Error;
use crate::figure::{Basis, Context, Figure};
use crate::transfer::Transferred;

pub(crate) const FIGURE: Figure = Figure {
    name: "S3.fig1",
    title: "TCP without local retransmission, 0 % to 8 % loss in bursts",
    basis: Basis::RealTime,
    expected: Verdict::NotComparable,
    run,
};

fn run(figure: &Figure, context: &Context<'_>) -> Result<Finding, Error> {
    let bursts: Vec<_> = (0..=8).map(|lost| Burst { lost, of: 100 }).collect();
    let runs = Runs::of(context.effort);
    let done = sweep(context, figure.name, WITHOUT, &bursts, &runs)?;
    let throughput: Vec<Vec<f64>> =
        done.iter().map(|runs| runs.iter().map(Transferred::throughput).collect()).collect();
    let points: Vec<_> = bursts
        .iter()
        .zip(&throughput)
        .filter_map(|(burst, values)| Point::of(100.0 * burst.loss(), values))
        .collect();
    let mut table =
        Table::new(["lost per 100", "mean KB/s", "lowest KB/s", "highest KB/s", "timeouts"]);
    for ((burst, point), runs) in bursts.iter().zip(&points).zip(&done) {
        let (low, high) = point.spread.unwrap_or((point.y, point.y));
        let timeouts: u64 = runs.iter().map(|run| run.outcome.counters.timeouts).sum();
        table.push([
            burst.lost.to_string(),
            format!("{:.1}", point.y),
            format!("{low:.1}"),
            format!("{high:.1}"),
            timeouts.to_string(),
        ]);
    }
    Ok(Finding {
        figure: figure.name,
        title: figure.title.to_owned(),
        method: format!(
            "{} {}. A modern kernel recovers from several losses in a window by NewReno and \
             re-arms a short retransmission timer; the paper's did neither, so its collapse is \
             not to be expected here and the curve says nothing about it.",
            method_of_tcp(),
            runs.text()
        ),
        claims: claims(&points),
        expected: figure.expected,
        charts: vec![("", chart(points, &runs))],
        tables: vec![("", table)],
        provenance: figure.provenance(context),
    })
}

//= S3.6
fn claims(points: &[Point]) -> Vec<Claim> {
    let share = |lost: usize| match (points.first(), points.get(lost)) {
        (Some(none), Some(some)) => format!("{:.2} T(0)", some.y / none.y),
        _ => "–".to_owned(),
    };
    let claim = |paper: &str, measured: String| Claim {
        requirement: "S3.6",
        paper: paper.to_owned(),
        measured,
        verdict: Verdict::NotComparable,
    };
    vec![
        claim("a single loss per hundred is handled well", share(1)),
        claim("two losses per hundred halve the throughput: 0.5 T(0)", share(2)),
        claim("it continues to drop quickly up to eight per hundred", share(8)),
    ]
}

fn chart(points: Vec<Point>, runs: &Runs) -> Chart {
    let half = points.first().map(|point| 0.5 * point.y);
    Chart {
        title: "TCP without local retransmission, on a modern kernel".to_owned(),
        subtitle: format!(
            "Reno without SACK, one burst of losses per hundred packets; {}: mean and range",
            runs.text()
        ),
        x: Axis::linear("packets lost per hundred, in one burst"),
        y: Axis::linear("throughput (KB/s)").from_zero(),
        series: vec![Series::new("modern kernel", Mark::LinePoints, points)],
        rules: half
            .map(|half| (half, "the paper's TCP at two lost packets".to_owned()))
            .into_iter()
            .collect(),
    }
}
