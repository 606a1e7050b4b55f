//! Figure 1: TCP without local retransmission, bursts of one to eight lost packets per hundred.

use windfall_experiment::{
    Basis, Claim, Context, ExperimentError, Extent, Figure, Finding, Verdict, VerdictRecord,
};
use windfall_report::{Axis, Chart};

use super::bursts::{Burst, Runs, WITHOUT};
use super::senders::{self, Curve, Experiment};

pub(crate) const FIGURE: Figure = Figure {
    name: "S3.fig1",
    title: "TCP without local retransmission, 0 % to 8 % loss in bursts",
    basis: Basis::Both,
    record: VerdictRecord::with_seeds(Verdict::Reproduced, 1),
    mutation: None,
    run,
};

/// The least share of the throughput at one lost packet that counts as handled well.
const WELL: f64 = 0.9;
/// Half, give or take.
const HALF: core::ops::RangeInclusive<f64> = 0.4..=0.6;
/// The share of the throughput at two lost packets that bursts of six to eight leave.
const FALLEN: f64 = 0.95;

fn run(figure: &Figure, context: &Context<'_>) -> Result<Finding, ExperimentError> {
    let bursts: Vec<_> = (0..=8).map(|lost| Burst { lost, of: 100 }).collect();
    let runs = Runs::simulated(context.extent);
    let chosen = senders::all(context, context.extent != Extent::Quick);
    let experiment = Experiment { figure: figure.name, scenario: WITHOUT };
    let curves = experiment.curves(context, &chosen, &bursts, &runs)?;
    let method = format!(
        "{} {}, each beginning at another moment between two ticks and with the first burst \
         somewhere else. A burst within one window costs the paper's TCP one timeout of 1 to \
         1.5 s, however long it is: the retransmission of its first packet is acknowledged, \
         which ends fast recovery, and too few packets are on their way to find the next \
         loss. Longer bursts cost more where they outlast the window: then they hit \
         retransmissions too, and the timeout doubles. So the mean falls beyond two packets, with \
         a wide range, but less steeply than the paper's words suggest; its curve is known \
         to us from these words alone.",
        senders::method(&chosen),
        runs.text()
    );
    Ok(Finding {
        claims: claims(&curves),
        charts: vec![("", chart(&curves, &bursts, &runs))],
        tables: vec![("", senders::table(&curves, &bursts))],
        ..figure.finding(context, method)
    })
}

fn claims(curves: &[Curve]) -> Vec<Claim> {
    let [paper, second, short, new_reno, sack, ..] = curves else { return Vec::new() };
    let share = |curve: &Curve, lost: usize| curve.mean(lost) / curve.mean(0);
    let one = share(paper, 1);
    let two = share(paper, 2);
    let many = (6..=8).map(|lost| share(paper, lost)).sum::<f64>() / 3.0;
    let later = share(new_reno, 2).min(share(sack, 2));
    let timers = [paper, second, short].map(|curve| share(curve, 2));
    //= S3.6
    let mut claims = vec![
        Claim::once(
            "S3.6",
            format!("a single loss per hundred is handled well: at least {WELL} T(0)"),
            format!("{one:.2} T(0), T(0) = {:.1} KB/s", paper.mean(0)),
            one >= WELL,
        ),
        Claim::once(
            "S3.6",
            "two losses per hundred halve the throughput: 0.5 T(0), give or take 0.1",
            format!("{two:.2} T(0), {:.1} timeouts a transfer", paper.timeouts(2)),
            HALF.contains(&two),
        ),
        Claim::once(
            "S3.6",
            format!(
                "it continues to drop as bursts grow: six to eight leave at most {FALLEN} T(2)"
            ),
            format!("{many:.2} T(0), {:.2} T(2), {:.1} timeouts", many / two, paper.timeouts(8)),
            many <= FALLEN * two,
        ),
        Claim::once(
            "S3.6",
            "it is timeouts that do this: a TCP that repairs a window without them is spared",
            format!(
                "NewReno and SACK keep at least {later:.2} T(0) at two losses, with {:.1} and \
                 {:.1} timeouts",
                new_reno.timeouts(2),
                sack.timeouts(2)
            ),
            later >= WELL,
        ),
    ];
    //= S3.15
    claims.push(Claim::once(
        "S3.15",
        "the collapse depends on the least timeout: 200 ms, 1 s, ticks of 500 ms",
        format!("at two losses {:.2}, {:.2}, {:.2} T(0)", timers[2], timers[1], timers[0]),
        timers[0] < timers[1] && timers[1] < timers[2],
    ));
    claims
}

fn chart(curves: &[Curve], bursts: &[Burst], runs: &Runs) -> Chart {
    let half = curves.first().map(|curve| 0.5 * curve.mean(0));
    Chart {
        title: "TCP without local retransmission".to_owned(),
        subtitle: format!(
            "one burst of losses per hundred packets; {}: mean and range",
            runs.text()
        ),
        x: Axis::linear("packets lost per hundred, in one burst"),
        y: Axis::linear("throughput (KB/s)").from_zero(),
        series: curves.iter().map(|curve| curve.series(bursts)).collect(),
        rules: half
            .map(|half| (half, "the paper's TCP at two lost packets".to_owned()))
            .into_iter()
            .collect(),
    }
}
