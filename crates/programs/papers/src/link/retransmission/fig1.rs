//! Figure 1: TCP without local retransmission, bursts of one to eight lost packets per hundred.

use windfall_report::{Axis, Chart, Estimate};

use super::bursts::{Burst, Runs, WITH, WITHOUT};
use super::senders::{self, Curve, Experiment};
use crate::experiment::{
    Band, Basis, Claim, Context, ExperimentError, Extent, Figure, Finding, Verdict, VerdictRecord,
};

pub(crate) const FIGURE: Figure = Figure {
    name: "S3.fig1",
    title: "TCP without local retransmission, 0 % to 8 % loss in bursts",
    basis: Basis::Both,
    record: VerdictRecord::with_seeds(Verdict::InPart, 50),
    mutation: Some("the link retransmits what is lost"),
    run,
};

/// The least share of the throughput without losses that counts as handled well.
const WELL: f64 = 0.9;
/// The shares that count as a half.
const HALF: [f64; 2] = [0.4, 0.6];

fn run(figure: &Figure, context: &Context<'_>) -> Result<Finding, ExperimentError> {
    let bursts: Vec<_> = (0..=8).map(|lost| Burst { lost, of: 100 }).collect();
    let runs = Runs::simulated(context);
    let chosen = senders::all(context, context.extent != Extent::Quick);
    let scenario = if context.is_mutated { WITH } else { WITHOUT };
    let experiment = Experiment { figure: figure.name, scenario };
    let curves = experiment.curves(context, &chosen, &bursts, &runs)?;
    // Whether these machines had their timestamps on is not told.
    let two = [bursts[0], bursts[2]];
    let plain = experiment.curves(context, &[senders::PLAIN], &two, &runs)?;
    let method = format!(
        "{} {}, each beginning at another moment between two ticks and with the first burst \
         somewhere else; the same seeds at each burst. A transfer that does not end counts as \
         nothing.",
        senders::method(&chosen),
        runs.text()
    );
    Ok(Finding {
        inputs: senders::inputs("one burst of 0 to 8 packets in each hundred of the data's"),
        claims: claims(&curves, &plain[0]),
        charts: vec![("", chart(&curves, &bursts, &runs))],
        tables: vec![("", senders::table(&curves, &bursts))],
        ..figure.finding(context, method)
    })
}

//= S3.6
fn claims(curves: &[Curve], plain: &Curve) -> Vec<Claim> {
    let [paper, net3, second, short, new_reno, sack, ..] = curves else { return Vec::new() };
    vec![
        Claim::paper(
            "S3.6",
            "section 3.1: “TCP handles single packet drops well”",
            "one loss per hundred packets is handled well",
        )
        .compare("T(1) / T(0)", paper.share(1, 0), Band::from(WELL, "well: our reading")),
        Claim::paper(
            "S3.6",
            "section 3.1: “when multiple packets per window are dropped … performance drops by a \
             factor of two”",
            "two losses per hundred halve the throughput",
        )
        .compare("T(2) / T(0)", paper.share(2, 0), half())
        .compare("if its timestamps were off", plain.share(1, 0), half())
        .recorded(Verdict::InPart)
        .because(
            "a half by the sources as they came; without timestamps, which the paper does not \
             mention, acknowledgments are more frequent and it is at the end of the band",
        ),
        quickly(paper),
        monotone(paper),
        with_timers(paper, net3, second, short),
        without_timeouts(new_reno, sack),
    ]
}

fn half() -> Band {
    let [low, high] = HALF;
    Band::between(low, high, "a half, ± 0.1: ours")
}

fn quickly(paper: &Curve) -> Claim {
    let halves = "as much again as from one to two: a factor of two";
    Claim::paper(
        "S3.6",
        "section 3.1: “It continues to drop quickly”",
        "the drop goes on as quickly as it began, at each further packet of a burst or until eight",
    )
    .compare("T(4) / T(2)", paper.ratio(4, 2), Band::to(0.6, halves))
    .compare("T(8) / T(2)", paper.ratio(8, 2), Band::to(0.6, halves))
    .recorded(Verdict::NotReproduced)
    .because(
        "a burst within one window costs this TCP one timeout, however long it is: the \
         retransmission of its first packet is acknowledged, which ends fast recovery, and too few \
         packets are on their way to show the next loss. Longer bursts cost more only where they \
         outlast the window and hit retransmissions too, so that another timeout follows. The \
         paper's curve is known to us from its words alone",
    )
}

fn monotone(paper: &Curve) -> Claim {
    let claim = Claim::paper(
        "S3.6",
        "section 3.1: “It continues to drop … as the burst size increases”",
        "each further packet of a burst costs more, and eight more than two",
    );
    let claim = claim.recorded(Verdict::InPart).because(
        "it rises by a twentieth from two lost packets to three, and by a twelfth from five to \
             six",
    );
    let steps = (1..8).map(|lost| [lost + 1, lost]).chain([[8, 2]]);
    steps.fold(claim, |claim, [more, less]| {
        let of = format!("T({more}) / T({less})");
        claim.compare(of, paper.ratio(more, less), Band::below(1.0, "it drops"))
    })
}

//= S3.15
fn with_timers(paper: &Curve, net3: &Curve, second: &Curve, short: &Curve) -> Claim {
    let gain = |one: &Curve, other: &Curve| {
        let pairs = one.shares(2, 0).into_iter().zip(other.shares(2, 0));
        Estimate::mean(&pairs.map(|(one, other)| one - other).collect::<Vec<_>>())
    };
    let more = || Band::from(0.0, "a greater share with the shorter timeout");
    Claim::ours("S3.15", "the collapse depends on the least timeout: the shorter, the less")
        .compare("two ticks above three, in T(0)", gain(paper, net3), more())
        .compare("200 ms above 1 s, in T(0)", gain(short, second), more())
}

fn without_timeouts(new_reno: &Curve, sack: &Curve) -> Claim {
    let well = || Band::from(WELL, "well: our reading");
    Claim::ours("S3.6", "timeouts do this: a TCP that repairs a window without them is spared")
        .compare("NewReno, T(2) / T(0)", new_reno.share(2, 0), well())
        .compare("SACK, T(2) / T(0)", sack.share(2, 0), well())
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
