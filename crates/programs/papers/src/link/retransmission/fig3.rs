//! Figure 3: TCP with persistent local retransmission, 0 % to 83 % loss.

use windfall_report::{Axis, Chart, Estimate, Mark, Point, Series, Table};

use super::bursts::{Burst, Runs, WITH, WITHOUT};
use super::senders::{self, Curve, Experiment};
use super::spray::{self, Sprayed};
use crate::experiment::{
    Band, Basis, Claim, Context, ExperimentError, Figure, Finding, Verdict, VerdictRecord,
};

pub(crate) const FIGURE: Figure = Figure {
    name: "S3.fig3",
    title: "TCP with persistent local retransmission, 0 % to 83 % loss",
    basis: Basis::Both,
    record: VerdictRecord::with_seeds(Verdict::Reproduced, 50),
    mutation: Some("no local retransmission"),
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

/// The distance from what is left of the throughput without losses that counts as linear (S3.8).
const LINEAR: f64 = 0.1;

fn run(figure: &Figure, context: &Context<'_>) -> Result<Finding, ExperimentError> {
    let runs = Runs::simulated(context);
    let chosen = senders::all(context, true);
    let scenario = if context.is_mutated { WITHOUT } else { WITH };
    let experiment = Experiment { figure: figure.name, scenario };
    let spray = spray::throughput(context, figure.name, &BURSTS)?;
    let curves = experiment.curves(context, &chosen, &BURSTS, &runs)?;
    let method = format!(
        "{} {}; the same seeds at each loss. Claims about the kernel's TCP would rest on five \
         transfers in real time, so there is none.",
        senders::method(&chosen),
        runs.text()
    );
    Ok(Finding {
        inputs: senders::inputs("bursts of 5 packets in each 100, 50, 25, 12 and 6 of the data's"),
        claims: claims(&curves, &spray),
        tables: vec![("", table(&curves, &spray))],
        charts: vec![("", chart(&curves, &spray, &runs))],
        ..figure.finding(context, method)
    })
}

//= S3.8
/// Claims that throughput falls in proportion to what the link loses.
fn claims(curves: &[Curve], spray: &[Sprayed]) -> Vec<Claim> {
    let mut claims = Vec::new();
    for (place, curve) in curves.iter().filter(|curve| !curve.sender.is_kernel()).enumerate() {
        let claim = match place {
            0 => Claim::paper(
                "S3.8",
                "section 3.1: “as the link capacity degrades linearly, the achieved throughput \
                 drops off in the same fashion, which is essentially ideal”",
                "throughput falls in proportion to what the link loses",
            ),
            _ => Claim::ours("S3.8", format!("so does that of {}", curve.sender.name)),
        };
        let shares = (1..BURSTS.len()).map(|place| curve.shares(place, 0));
        claims.push(compare(claim, shares));
    }
    let of = |sprayed: &Sprayed| {
        let pairs = sprayed.rates.iter().zip(&spray[0].rates);
        pairs.map(|(rate, full)| rate / full).collect()
    };
    let claim = Claim::ours("S3.8", "so does that of datagrams sprayed over the same link");
    claims.push(compare(claim, spray.iter().skip(1).map(of)));
    claims
}

/// Compares shares of the throughput without losses with what each burst leaves.
fn compare(claim: Claim, shares: impl Iterator<Item = Vec<f64>>) -> Claim {
    let reason = "S3.8: at least 0.9 of what is left; more than 1.1 would not be linear either";
    BURSTS[1..].iter().zip(shares).fold(claim, |claim, (burst, shares)| {
        let left = 1.0 - burst.loss();
        let of_left: Vec<f64> = shares.iter().map(|share| share / left).collect();
        let of = format!("T / (1 − p) T(0) at {:.1} %", 100.0 * burst.loss());
        claim.compare(of, Estimate::mean(&of_left), Band::near(1.0, LINEAR, reason))
    })
}

fn table(curves: &[Curve], spray: &[Sprayed]) -> Table {
    let mut table = senders::table(curves, &BURSTS);
    for sprayed in spray {
        let Some(Point { x, y, .. }) = sprayed.point() else { continue };
        table.push(["UDP spray".to_owned(), format!("{x:.1}"), format!("{y:.1}")]);
    }
    table
}

fn chart(curves: &[Curve], spray: &[Sprayed], runs: &Runs) -> Chart {
    let full = curves.first().map_or(0.0, |curve| curve.mean(0));
    let ideal = move |loss: f64| full * (1.0 - loss / 100.0);
    let mut series =
        vec![Series::curve("what the link has left", Mark::Dashed, (0.0, 100.0), 1, ideal)];
    let points = spray.iter().filter_map(Sprayed::point).collect();
    series.push(Series::new("UDP spray", Mark::Points, points).with_color(6));
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

    use crate::experiment::Extent;

    use super::*;

    //= S3.2
    #[test]
    fn the_link_carries_what_the_paper_says_and_loses_what_the_air_does() {
        let context = Context::simulated(Extent::Quick, Seed(1));
        let bursts = [(0, 100), (5, 25), (5, 6)].map(|(lost, of)| Burst { lost, of });
        let sprayed = spray::throughput(&context, "S3.fig3", &bursts).unwrap();
        let rates: Vec<f64> = sprayed.iter().map(|it| it.point().unwrap().y).collect();
        // 0.8 Mb/s for full packets.
        assert!((rates[0] - 100.0).abs() < 5.0, "{rates:?}");
        for (burst, rate) in bursts.iter().zip(&rates) {
            let left = rates[0] * (1.0 - burst.loss());
            assert!((rate / left - 1.0).abs() < 0.05, "{rates:?}");
        }
    }
}
