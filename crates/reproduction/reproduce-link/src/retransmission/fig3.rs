//! Figure 3: TCP with persistent local retransmission, 0 % to 83 % loss.

use windfall_experiment::{
    Basis, Claim, Context, ExperimentError, Figure, Finding, Verdict, VerdictRecord,
};
use windfall_report::{Axis, Chart, Mark, Point, Series, Table};

use super::bursts::{Burst, Runs, WITH};
use super::senders::{self, Curve, Experiment};
use super::spray;

pub(crate) const FIGURE: Figure = Figure {
    name: "S3.fig3",
    title: "TCP with persistent local retransmission, 0 % to 83 % loss",
    basis: Basis::Both,
    record: VerdictRecord::with_seeds(Verdict::Reproduced, 1),
    mutation: None,
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

fn run(figure: &Figure, context: &Context<'_>) -> Result<Finding, ExperimentError> {
    let runs = Runs::simulated(context.extent);
    let chosen = senders::all(context, true);
    let experiment = Experiment { figure: figure.name, scenario: WITH };
    let spray = spray::throughput(context, figure.name, &BURSTS)?;
    let curves = experiment.curves(context, &chosen, &BURSTS, &runs)?;
    let of_tcp = |curve: &Curve| claim(curve.sender.name, &curve.points(&BURSTS));
    let method = format!("{} {}.", senders::method(&chosen), runs.text());
    Ok(Finding {
        claims: curves.iter().map(of_tcp).chain([claim("UDP spray", &spray)]).collect(),
        tables: vec![("", table(&curves, &spray))],
        charts: vec![("", chart(&curves, spray, &runs))],
        ..figure.finding(context, method)
    })
}

/// Claims that throughput falls in proportion to what the link loses.
//= S3.8
pub(crate) fn claim(what: &str, points: &[Point]) -> Claim {
    let full = points.first().map_or(f64::NAN, |point| point.y);
    let shares = points.iter().map(|point| point.y / ((1.0 - point.x / 100.0) * full));
    let lowest = shares.reduce(f64::min).unwrap_or(f64::NAN);
    Claim::once(
        "S3.8",
        format!("throughput falls linearly with the loss: T ≥ {LINEAR} (1 − p) T(0) at each point"),
        format!("{what}: T ≥ {lowest:.3} (1 − p) T(0), T(0) = {full:.1} KB/s"),
        lowest >= LINEAR,
    )
}

fn table(curves: &[Curve], spray: &[Point]) -> Table {
    let mut table = senders::table(curves, &BURSTS);
    for Point { x, y, .. } in spray {
        table.push(["UDP spray".to_owned(), format!("{x:.1}"), format!("{y:.1}")]);
    }
    table
}

fn chart(curves: &[Curve], spray: Vec<Point>, runs: &Runs) -> Chart {
    let full = curves.first().map_or(0.0, |curve| curve.mean(0));
    let ideal = move |loss: f64| full * (1.0 - loss / 100.0);
    let mut series =
        vec![Series::curve("what the link has left", Mark::Dashed, (0.0, 100.0), 1, ideal)];
    series.push(Series::new("UDP spray", Mark::Points, spray).with_color(6));
    series.extend(curves.iter().map(|curve| curve.series(&BURSTS)));
    Chart {
        title: "TCP with persistent local retransmission".to_owned(),
        subtitle: format!("bursts of five lost packets; {}: mean and range", runs.text()),
        x: Axis::linear("packets lost (%)").with_range(0.0, 100.0),
        y: Axis::linear("throughput (KB/s)").from_zero(),
        series,
        rules: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use windfall_base::Seed;

    use super::*;
    use windfall_experiment::Extent;

    //= S3.8
    #[test]
    fn the_link_loses_throughput_in_proportion_to_frames() {
        let context = Context::simulated(Extent::Quick, Seed(1));
        let bursts = [(0, 100), (5, 25), (5, 6)].map(|(lost, of)| Burst { lost, of });
        let points = spray::throughput(&context, "S3.fig3", &bursts).unwrap();
        let claim = claim("UDP spray", &points);
        assert_eq!(claim.verdict(), Verdict::Reproduced, "{}", claim.measured());
        // S3.2: 0.8 Mb/s for full packets.
        assert!((points[0].y - 100.0).abs() < 5.0, "{} KB/s", points[0].y);
    }
}
