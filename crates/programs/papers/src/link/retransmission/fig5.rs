//! Figure 5: what is lost end to end when the link retransmits a lost frame at most *n* times.

use windfall_base::{DropReason, Duration, Seed};
use windfall_report::statistics::{residual_loss, residual_loss_in_bursts, retransmissions_needed};
use windfall_report::{Axis, Chart, Estimate, Mark, Point, Series, Table};

use super::spray::Spray;
use crate::experiment::{
    Band, Basis, Claim, Context, ExperimentError, ExperimentInput, Extent, Figure, Finding,
    Verdict, VerdictRecord,
};

pub(crate) const FIGURE: Figure = Figure {
    name: "S3.fig5",
    title: "Loss that is left after at most n local retransmissions",
    basis: Basis::Simulated,
    record: VerdictRecord::with_seeds(Verdict::InPart, 10),
    mutation: Some("the link does not retransmit"),
    run,
};

/// A link that retransmits lost frames, and a spray of small packets.
const SCENARIO: &str = include_str!("../../../../../../scenarios/paper-003/residual-loss.toml");
/// The largest numbers of retransmissions shown.
const RETRANSMISSIONS: [u8; 6] = [0, 1, 3, 6, 20, 43];
/// The local losses that are simulated.
const LOSSES: [f64; 9] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9];
/// Mean length of a burst of lost frames, where losses come in bursts.
const BURST: f64 = 20.0;
/// The number of expected losses below which a rate is not compared: its standard error is a
/// seventieth of it then.
const ENOUGH: f64 = 5_000.0;
/// The number of expected random losses from which on bursts are compared with them.
const SOME: f64 = 10.0;
/// The distance from the closed form, as a share of it, that counts as agreement.
const NEAR: f64 = 0.1;
/// The share that is left over should be less.
const LITTLE: f64 = 0.01;

/// The packets that ended at the link with given losses, and the part of them that was lost, with
/// each seed.
#[derive(Clone, Debug)]
struct Outcome {
    loss: f64,
    retransmissions: u8,
    /// All packets and those lost, of each run.
    runs: Vec<(u64, u64)>,
}

impl Outcome {
    fn packets(&self) -> u64 {
        self.runs.iter().map(|run| run.0).sum()
    }

    fn lost(&self) -> u64 {
        self.runs.iter().map(|run| run.1).sum()
    }

    /// The share of packets that was lost end to end.
    fn rate(&self) -> Estimate {
        let rate = |(packets, lost): &(u64, u64)| *lost as f64 / (*packets).max(1) as f64;
        Estimate::mean(&self.runs.iter().map(rate).collect::<Vec<_>>())
    }

    /// The loss rate end to end as a multiple of the share `of`.
    fn multiple(&self, of: f64) -> Estimate {
        let rate = |(packets, lost): &(u64, u64)| *lost as f64 / (*packets).max(1) as f64 / of;
        Estimate::mean(&self.runs.iter().map(rate).collect::<Vec<_>>())
    }

    /// The expected rate with independent losses.
    fn expected(&self) -> f64 {
        residual_loss(self.loss, self.retransmissions.into())
    }

    fn name(&self) -> String {
        format!("p = {}, n = {}", self.loss, self.retransmissions)
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
        "Lines: closed forms, pⁿ⁺¹ for independent losses. Points: sprays of packets over the \
         WaveLAN link in simulated time, those that were lost end to end after n \
         retransmissions. Losses in bursts come from a two-state chain with the same loss \
         and bursts of {BURST} frames on average. Rates for which {ENOUGH} losses and more are to \
         be expected are compared."
    );
    let inputs = vec![
        ExperimentInput::given("losses", "random, 10 to 90 %", "paper 003, section 3.2.3"),
        ExperimentInput::given(
            "bursts",
            format!("{BURST} frames on average"),
            "ours: the paper gives no length",
        ),
    ];
    Ok(Finding {
        inputs,
        claims: vec![persistent(), worse(&random, &bursty), agreement(&random), counts()],
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
    let (runs, duration) = match context.extent {
        Extent::Quick => (3, Duration::from_secs(2)),
        Extent::Paper => (10, Duration::from_secs(15)),
        Extent::Full => (10, Duration::from_secs(400)),
    };
    let mut outcomes = Vec::new();
    for retransmissions in RETRANSMISSIONS {
        (context.progress)(&format!("{}: {what}, n = {retransmissions}", figure.name));
        for loss in LOSSES {
            let attempts = if context.is_mutated { 0 } else { retransmissions };
            let uplink = format!("{}\narq = {attempts}", air(loss));
            let runs = context.replicate(runs, |seed| {
                // Each point draws anew, or one unusual run of luck would show at all of them.
                let seed = Seed(seed.0.wrapping_add(outcomes.len() as u64));
                let uplink = uplink.clone();
                let spray =
                    Spray { figure: figure.name, scenario: SCENARIO, uplink, seed, duration };
                let ledger = spray.run()?;
                let lost =
                    ledger.drops.of(DropReason::RetryLimit) + ledger.drops.of(DropReason::Lost);
                Ok((ledger.delivered + lost, lost))
            });
            let runs = runs.into_iter().collect::<Result<_, _>>()?;
            outcomes.push(Outcome { loss, retransmissions, runs });
        }
    }
    Ok(outcomes)
}

//= S3.12
/// Claims the number of retransmissions that keep the loss below 1 %, in closed form.
fn counts() -> Claim {
    let needed = |loss| retransmissions_needed(loss, LITTLE);
    let found = [0.5, 0.8, 0.9].map(needed);
    let text = |n: Option<u32>| n.map_or("–".to_owned(), |n| n.to_string());
    let [half, most, nearly_all] = found.map(text);
    Claim::ours(
        "S3.12",
        "by pⁿ⁺¹ less than 1 % is left after 6 retransmissions at p = 0.5, 20 at 0.8, 43 at 0.9",
    )
    .fact(format!("{half}, {most} and {nearly_all}"), found == [Some(6), Some(20), Some(43)])
}

//= S3.12
/// Claims what the paper calculates.
fn persistent() -> Claim {
    Claim::paper(
        "S3.12",
        "section 3.2.3: “retransmission may need to be very persistent to keep the packet loss \
         rate below 1 %”; “a small constant will work well only if wireless packet loss rates are \
         low”",
        "few retransmissions leave less than 1 % where little is lost, and many are needed else",
    )
    .by_construction("independent losses leave pⁿ⁺¹, in the paper and here")
}

//= S3.12
/// Claims that the simulated link loses what the closed form says.
fn agreement(random: &[Outcome]) -> Claim {
    let is_telling = |outcome: &&Outcome| outcome.expected() * outcome.packets() as f64 >= ENOUGH;
    let claim = Claim::ours("S3.12", "the link leaves over what pⁿ⁺¹ says of independent losses");
    random.iter().filter(is_telling).fold(claim, |claim, outcome| {
        let band = Band::near(1.0, NEAR, "the closed form, within a tenth");
        claim.compare(outcome.name(), outcome.multiple(outcome.expected()), band)
    })
}

//= S3.12
/// Claims that losses in bursts leave more of them, wherever enough random losses are to be
/// expected.
fn worse(random: &[Outcome], bursty: &[Outcome]) -> Claim {
    let claim = Claim::paper(
        "S3.12",
        "section 3.2.3: “bursty errors increase the end-to-end loss rate”",
        "losses in bursts leave more over than independent ones, at every loss and number of \
         retransmissions",
    );
    // The many packets of a full run show it there, too.
    let claim = claim.recorded(Verdict::InPart).left_open().because(
        "at 90 % with one retransmission the closed forms are half a per cent apart, which the \
         packets do not show; everywhere else it is shown",
    );
    let pairs = random.iter().zip(bursty).filter(|(random, _)| {
        random.retransmissions > 0 && random.expected() * random.packets() as f64 >= SOME
    });
    pairs.fold(claim, |claim, (random, bursty)| {
        let multiple = bursty.multiple(random.expected());
        claim.compare(random.name(), multiple, Band::from(1.0, "more than pⁿ⁺¹"))
    })
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
            format!("{:.3e}", random.rate().value),
            random.packets().to_string(),
            format!("{:.3e}", left_by_bursts(bursty.loss, bursty.retransmissions)),
            format!("{:.3e}", bursty.rate().value),
            bursty.packets().to_string(),
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
        let simulated = outcomes.iter().filter(|it| it.retransmissions == n && it.lost() > 0);
        let points = simulated.map(|it| Point::new(it.loss, it.rate().value)).collect();
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
