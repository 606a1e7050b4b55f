//! Figure 5: what is lost end to end when the link retransmits a lost frame at most *n* times.

use windfall_base::{DropReason, Duration, Seed};
use windfall_experiment::{
    Basis, Claim, Context, ExperimentError, Extent, Figure, Finding, Verdict, VerdictRecord,
};
use windfall_report::statistics::{residual_loss, residual_loss_in_bursts, retransmissions_needed};
use windfall_report::{Axis, Chart, Mark, Point, Series, Table};

use super::spray::Spray;

pub(crate) const FIGURE: Figure = Figure {
    name: "S3.fig5",
    title: "Loss that is left after at most n local retransmissions",
    basis: Basis::Simulated,
    record: VerdictRecord::with_seeds(Verdict::Reproduced, 1),
    mutation: None,
    run,
};

/// A link that retransmits lost frames, and a spray of small packets.
const SCENARIO: &str = include_str!("../../../../../scenarios/paper-003/residual-loss.toml");
/// The largest numbers of retransmissions shown.
const RETRANSMISSIONS: [u8; 6] = [0, 1, 3, 6, 20, 43];
/// The local losses that are simulated.
const LOSSES: [f64; 9] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9];
/// Mean length of a burst of lost frames, where losses come in bursts.
const BURST: f64 = 20.0;
/// The number of expected losses below which a rate is not compared.
const ENOUGH: f64 = 20.0;
/// The greatest distance of a rate from its expectation, in standard deviations.
///
/// About forty rates are compared: by chance one in three hundred thousand figures fails.
const SIGMAS: f64 = 5.5;

/// The packets that ended at the link with given losses, and the part of them that was lost.
#[derive(Clone, Copy, Debug)]
struct Outcome {
    loss: f64,
    retransmissions: u8,
    packets: u64,
    lost: u64,
}

impl Outcome {
    fn rate(self) -> f64 {
        self.lost as f64 / self.packets.max(1) as f64
    }

    /// The expected rate with independent losses.
    fn expected(self) -> f64 {
        residual_loss(self.loss, self.retransmissions.into())
    }

    /// The distance of the rate from `expected`, in standard deviations of a binomial count.
    fn deviation(self, expected: f64) -> f64 {
        let variance = expected * (1.0 - expected) / self.packets.max(1) as f64;
        (self.rate() - expected) / variance.sqrt()
    }

    /// Tells whether enough losses are to be expected for a comparison.
    fn is_telling(self) -> bool {
        self.expected() * self.packets as f64 >= ENOUGH
    }
}

fn run(figure: &Figure, context: &Context<'_>) -> Result<Finding, ExperimentError> {
    let random = simulate(figure, context, "independent losses", |loss| format!("loss = {loss}"))?;
    let bursty = simulate(figure, context, "losses in bursts", |loss| {
        // A chain that is in its bad state for a share `loss` of the frames, BURST at a time.
        let enter = loss / (1.0 - loss) / BURST;
        let leave = 1.0 / BURST;
        format!("loss = 0\ngemodel = \"{enter} {leave}\"")
    })?;
    let method = format!(
        "Lines: closed forms, pⁿ⁺¹ for independent losses. Points: a spray of packets over the \
         WaveLAN link in simulated time, those that were lost end to end after n \
         retransmissions. Losses in bursts come from a two-state chain with the same loss \
         and bursts of {BURST} frames on average."
    );
    Ok(Finding {
        claims: vec![counts(), agreement(&random), worse(&random, &bursty)],
        tables: vec![("", table(&random, &bursty))],
        charts: vec![("", chart(&random)), ("bursts", bursts_chart(&bursty))],
        ..figure.finding(context, method)
    })
}

/// Sprays packets at each loss and each number of retransmissions; `air` says how they are lost.
fn simulate(
    figure: &Figure,
    context: &Context<'_>,
    what: &str,
    air: impl Fn(f64) -> String,
) -> Result<Vec<Outcome>, ExperimentError> {
    let duration = match context.extent {
        Extent::Quick => Duration::from_secs(10),
        Extent::Paper => Duration::from_secs(300),
        Extent::Full => Duration::from_secs(3_000),
    };
    let mut outcomes = Vec::new();
    for retransmissions in RETRANSMISSIONS {
        (context.progress)(&format!("{}: {what}, n = {retransmissions}", figure.name));
        for loss in LOSSES {
            let uplink = format!("{}\narq = {retransmissions}", air(loss));
            // Each point draws anew, or one unusual run of luck would show at all of them.
            let seed = Seed(context.seed.0.wrapping_add(outcomes.len() as u64));
            let scenario = SCENARIO;
            let spray = Spray { figure: figure.name, scenario, uplink, seed, duration };
            let ledger = spray.run()?;
            let lost = ledger.drops.of(DropReason::RetryLimit) + ledger.drops.of(DropReason::Lost);
            let packets = ledger.delivered + lost;
            outcomes.push(Outcome { loss, retransmissions, packets, lost });
        }
    }
    Ok(outcomes)
}

/// Claims the number of retransmissions that keep the loss below 1 %, in closed form.
//= S3.12
fn counts() -> Claim {
    let needed = |loss| retransmissions_needed(loss, 0.01);
    let found = [0.5, 0.8, 0.9].map(needed);
    let text = |n: Option<u32>| n.map_or("–".to_owned(), |n| n.to_string());
    let [half, most, nearly_all] = found.map(text);
    Claim::once(
        "S3.12",
        "less than 1 % is left after 6 retransmissions at p = 0.5, 20 at 0.8, 43 at 0.9",
        format!("{half}, {most} and {nearly_all} by the closed form"),
        found == [Some(6), Some(20), Some(43)],
    )
}

/// Claims that the simulated link loses what the closed form says.
//= S3.12
fn agreement(random: &[Outcome]) -> Claim {
    let telling: Vec<_> = random.iter().filter(|outcome| outcome.is_telling()).collect();
    let deviations = telling.iter().map(|outcome| outcome.deviation(outcome.expected()).abs());
    let worst = deviations.reduce(f64::max).unwrap_or(f64::INFINITY);
    Claim::once(
        "S3.12",
        "end-to-end loss is pⁿ⁺¹ for independent losses",
        format!(
            "simulated: {} rates, the worst {worst:.1} standard deviations away",
            telling.len()
        ),
        worst < SIGMAS,
    )
}

/// Claims that losses in bursts leave more of them, as long as good times outweigh.
//= S3.12
fn worse(random: &[Outcome], bursty: &[Outcome]) -> Claim {
    let pairs = random.iter().zip(bursty).filter(|(random, bursty)| {
        let outweigh = random.loss <= 0.5;
        outweigh && random.retransmissions > 0 && bursty.lost as f64 >= ENOUGH
    });
    let factors: Vec<_> = pairs.map(|(random, bursty)| bursty.rate() / random.expected()).collect();
    let least = factors.iter().copied().reduce(f64::min).unwrap_or(0.0);
    let text = |at: Option<&Outcome>| at.map_or_else(String::new, |at| format!("{:.3}", at.rate()));
    let [alone, together] = [random, bursty]
        .map(|outcomes| text(outcomes.iter().find(|it| it.loss == 0.5 && it.retransmissions == 6)));
    Claim::once(
        "S3.12",
        "bursty errors increase the end-to-end loss",
        format!(
            "in bursts of {BURST} frames {together} instead of {alone} at p = 0.5 and n = 6; \
             at least {least:.1} times as much at each of {} points with p ≤ 0.5",
            factors.len()
        ),
        least > 1.0,
    )
}

fn table(random: &[Outcome], bursty: &[Outcome]) -> Table {
    let columns = [
        "local loss",
        "retransmissions",
        "closed form",
        "simulated",
        "packets",
        "in bursts, closed form",
        "in bursts, simulated",
        "packets in bursts",
    ];
    let mut table = Table::new(columns);
    for (random, bursty) in random.iter().zip(bursty) {
        table.push([
            random.loss.to_string(),
            random.retransmissions.to_string(),
            format!("{:.3e}", random.expected()),
            format!("{:.3e}", random.rate()),
            random.packets.to_string(),
            format!("{:.3e}", left_by_bursts(bursty.loss, bursty.retransmissions)),
            format!("{:.3e}", bursty.rate()),
            bursty.packets.to_string(),
        ]);
    }
    table
}

/// The residual loss with losses in bursts.
fn left_by_bursts(loss: f64, retransmissions: u8) -> f64 {
    residual_loss_in_bursts(loss, BURST, retransmissions.into())
}

fn chart(random: &[Outcome]) -> Chart {
    Chart {
        title: "Loss that local retransmission leaves".to_owned(),
        subtitle: "independent losses; lines: closed form, points: simulated".to_owned(),
        ..figure_of(random, |loss, n| residual_loss(loss, n.into()))
    }
}

fn bursts_chart(bursty: &[Outcome]) -> Chart {
    Chart {
        title: "The same loss in bursts leaves much more".to_owned(),
        subtitle: format!(
            "bursts of {BURST} frames on average; lines: closed form, points: simulated"
        ),
        ..figure_of(bursty, left_by_bursts)
    }
}

/// Lines of a formula over the local loss, and the simulated rates beside them.
fn figure_of(outcomes: &[Outcome], formula: impl Fn(f64, u8) -> f64) -> Chart {
    let mut series = Vec::new();
    for (color, n) in RETRANSMISSIONS.into_iter().enumerate() {
        let name = if n == 1 { "n = 1 retransmission".to_owned() } else { format!("n = {n}") };
        let curve = Series::curve(name, Mark::Line, (0.0, 1.0), 100, |loss| formula(loss, n));
        series.push(curve.with_color(color));
        let simulated = outcomes.iter().filter(|it| it.retransmissions == n && it.lost > 0);
        let points = simulated.map(|it| Point::new(it.loss, it.rate())).collect();
        series.push(Series::new("", Mark::Points, points).with_color(color));
    }
    Chart {
        x: Axis::linear("local loss p").with_range(0.0, 1.0),
        y: Axis::log("end-to-end loss").with_range(1e-5, 1.0),
        series,
        rules: vec![(0.01, "1 %".to_owned())],
        ..Chart::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    //= S3.12
    #[test]
    fn the_verdict_on_record_holds() {
        let context = Context::simulated(Extent::Quick, Seed(1));
        let finding = FIGURE.run(&context).unwrap();
        assert!(finding.is_as_recorded(), "{}", finding.claims_table().to_text());
    }
}
