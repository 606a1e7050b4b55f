//! Figure 3: TCP with persistent local retransmission, 0 % to 83 % loss.

use windfall_report::{Axis, Chart, Claim, Finding, Mark, Point, Series, Table, Verdict};

use super::{Burst, Runs, WITH, method_of_tcp, spray, sweep};
use crate::error::Error;
use crate::figure::{Basis, Context, Figure};
use crate::transfer::Transferred;

pub(crate) const FIGURE: Figure = Figure {
    name: "S3.fig3",
    title: "TCP with persistent local retransmission, 0 % to 83 % loss",
    basis: Basis::RealTime,
    expected: Verdict::Reproduced,
    run,
};

/// Bursts of five in windows of 100, 50, 25, 12 and 6 packets, and none (S3.8).
const BURSTS: [Burst; 6] = [
    Burst { lost: 0, of: 100 },
    Burst { lost: 5, of: 100 },
    Burst { lost: 5, of: 50 },
    Burst { lost: 5, of: 25 },
    Burst { lost: 5, of: 12 },
    Burst { lost: 5, of: 6 },
];

/// The share of the remaining capacity that counts as linear (S3.8).
const LINEAR: f64 = 0.9;

fn run(figure: &Figure, context: &Context<'_>) -> Result<Finding, Error> {
    let runs = Runs::of(context.effort);
    let spray = spray::throughput(context, figure.name, &BURSTS)?;
    let done = sweep(context, figure.name, WITH, &BURSTS, &runs)?;
    let tcp: Vec<_> = BURSTS
        .iter()
        .zip(&done)
        .filter_map(|(burst, runs)| {
            let values: Vec<_> = runs.iter().map(Transferred::throughput).collect();
            Point::of(100.0 * burst.loss(), &values)
        })
        .collect();
    Ok(Finding {
        figure: figure.name,
        title: figure.title.to_owned(),
        method: format!("{} {}. The spray is simulated.", method_of_tcp(), runs.text()),
        claims: vec![claim("TCP in real time", &tcp), claim("UDP spray in simulated time", &spray)],
        expected: figure.expected,
        tables: vec![("", table(&tcp, &spray))],
        charts: vec![("", chart(tcp, spray, &runs))],
        provenance: figure.provenance(context),
    })
}

/// Whether throughput falls in proportion to what the link loses.
//= S3.8
pub(crate) fn claim(what: &str, points: &[Point]) -> Claim {
    let full = points.first().map_or(f64::NAN, |point| point.y);
    let shares = points.iter().map(|point| point.y / ((1.0 - point.x / 100.0) * full));
    let lowest = shares.reduce(f64::min).unwrap_or(f64::NAN);
    Claim {
        requirement: "S3.8",
        paper: format!(
            "throughput falls linearly with the loss: T ≥ {LINEAR} (1 − p) T(0) at each point"
        ),
        measured: format!("{what}: T ≥ {lowest:.3} (1 − p) T(0), T(0) = {full:.1} KB/s"),
        verdict: Verdict::of(lowest >= LINEAR),
    }
}

fn table(tcp: &[Point], spray: &[Point]) -> Table {
    let mut table = Table::new([
        "loss %",
        "TCP mean KB/s",
        "TCP lowest KB/s",
        "TCP highest KB/s",
        "UDP spray KB/s",
    ]);
    for (tcp, spray) in tcp.iter().zip(spray) {
        let (low, high) = tcp.spread.unwrap_or((tcp.y, tcp.y));
        let values = [tcp.x, tcp.y, low, high, spray.y];
        table.push(values.map(|value| format!("{value:.1}")));
    }
    table
}

fn chart(tcp: Vec<Point>, spray: Vec<Point>, runs: &Runs) -> Chart {
    let full = tcp.first().map_or(0.0, |point| point.y);
    let ideal = move |loss: f64| full * (1.0 - loss / 100.0);
    Chart {
        title: "TCP with persistent local retransmission".to_owned(),
        subtitle: format!("bursts of five lost packets; {}: mean and range", runs.text()),
        x: Axis::linear("packets lost (%)").with_range(0.0, 100.0),
        y: Axis::linear("throughput (KB/s)").from_zero(),
        series: vec![
            Series::curve("what the link has left", Mark::Dashed, (0.0, 100.0), 1, ideal),
            Series::new("UDP spray, simulated", Mark::Points, spray).with_color(5),
            Series::new("kernel TCP, Reno without SACK", Mark::LinePoints, tcp).with_color(0),
        ],
        rules: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use windfall_base::Seed;

    use super::*;
    use crate::figure::Effort;

    //= S3.8
    #[test]
    fn the_link_loses_throughput_in_proportion_to_frames() {
        let context = Context {
            effort: Effort::Quick,
            seed: Seed(1),
            program: "windfall".into(),
            progress: &|_| {},
        };
        let bursts = [(0, 100), (5, 25), (5, 6)].map(|(lost, of)| Burst { lost, of });
        let points = spray::throughput(&context, "S3.fig3", &bursts).unwrap();
        let claim = claim("UDP spray", &points);
        assert_eq!(claim.verdict, Verdict::Reproduced, "{}", claim.measured);
        // S3.2: 0.8 Mb/s for full packets.
        assert!((points[0].y - 100.0).abs() < 5.0, "{} KB/s", points[0].y);
    }
}
