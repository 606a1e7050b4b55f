//! Figure 15: the loss of packets.

use windfall_report::{Axis, Estimate, Table};

use crate::experiment::{
    Band, Basis, Claim, Context, ExperimentError, Figure, Finding, Verdict, VerdictRecord,
};
use crate::video::combination::{BAD, CHANNELS, LITE, LITE_RLP, NAMES, UDP, UDP_RLP};
use crate::video::runs::{self, MUTATION, SeedRuns, VideoRun, deviation, each, mean};

pub(crate) const FIGURE: Figure = Figure {
    name: "S1.fig15",
    title: "Loss of packets, by transport, link and channel",
    basis: Basis::Simulated,
    record: VerdictRecord::with_seeds(Verdict::InPart, 10),
    mutation: Some(MUTATION),
    run,
};

/// The loss of UDP and of UDP-Lite on a synchronous transparent line, of each seed.
type Synchronous = Vec<[f64; 2]>;

fn run(figure: &Figure, context: &Context<'_>) -> Result<Finding, ExperimentError> {
    let runs = runs::all(figure.name, context)?;
    let synchronous = runs::synchronous(figure.name, context)?;
    let synchronous: Synchronous =
        synchronous.iter().map(|both| [both[0].loss(), both[1].loss()]).collect();
    let of = |runs: &[&VideoRun]| {
        let losses: Vec<f64> = runs.iter().map(|run| 100.0 * run.loss()).collect();
        (mean(&losses), deviation(&losses))
    };
    let axis = Axis::linear("packets lost (%)").from_zero();
    let method = format!(
        "{} The synchronous line has no start and stop bits: its characters keep their places \
         whatever is damaged.",
        runs::method(&runs, context)
    );
    Ok(Finding {
        inputs: runs::inputs(),
        claims: claims(&runs, &synchronous),
        charts: vec![("", runs::chart(&runs, "Packets lost", axis, &of))],
        tables: vec![("", runs::table(&runs)), ("synchronous", table(&synchronous))],
        ..figure.finding(context, method)
    })
}

/// The packets that UDP-Lite loses for each one of UDP, over all runs.
fn ratio(losses: &[[f64; 2]]) -> Estimate {
    Estimate::bootstrap(losses.len(), |chosen| {
        let sum = |which: usize| chosen.iter().map(|&run| losses[run][which]).sum::<f64>();
        sum(1) / sum(0)
    })
}

//= S1.49
fn claims(runs: &[SeedRuns], synchronous: &Synchronous) -> Vec<Claim> {
    let loss = |channel: usize, at: usize| {
        Estimate::mean(&each(runs, |run| 100.0 * run[channel][at].loss()))
    };
    let mut nothing = Claim::paper(
        "S1.49",
        "section 5.2.3: “Loss is 0% for the RLP connection”",
        "RLP loses nothing",
    );
    for (channel, (_, name)) in CHANNELS.iter().enumerate() {
        for at in [UDP_RLP, LITE_RLP] {
            let label = format!("{}, {name}, %", NAMES[at]);
            nothing = nothing.compare(label, loss(channel, at), Band::to(0.05, "0 %, rounded"));
        }
    }
    let both: Vec<[f64; 2]> =
        runs.iter().map(|run| [UDP, LITE].map(|at| run[BAD][at].loss())).collect();
    let half = Band::between(0.4, 0.6, "1.1 by 2.1 %, the requirement's about a half");
    vec![
        nothing,
        Claim::paper(
            "S1.49",
            "section 5.2.3: “packet loss is much lower for UDP Lite than UDP (1.1% vs. 2.1%)”",
            "without RLP UDP loses about 2 %, UDP-Lite about 1 %",
        )
        .compare("UDP, bad channel, %", loss(BAD, UDP), Band::near(2.1, 0.3, "about 2 %"))
        .compare("UDP-Lite, bad channel, %", loss(BAD, LITE), Band::near(1.1, 0.3, "about 1 %"))
        .recorded(Verdict::NotReproduced)
        .because(
            "the block error rate of WSim's traces costs UDP more than the paper's calls lost, \
             whose block error rate it does not give",
        ),
        Claim::paper(
            "S1.49",
            "section 5.3: “50% less packet loss”",
            "UDP-Lite loses half as many packets as UDP",
        )
        .compare("UDP-Lite by UDP, bad channel", ratio(&both), half)
        .recorded(Verdict::NotReproduced)
        .because(
            "damage to a start or stop bit shifts the characters behind it, and PPP Lite sees no \
             frame",
        ),
        Claim::ours("S1.49", "UDP-Lite loses fewer packets than UDP").compare(
            "UDP-Lite by UDP, bad channel",
            ratio(&both),
            Band::below(1.0, "an ordering"),
        ),
        Claim::ours("S1.49", "where no start and stop bits are, UDP-Lite saves more").compare(
            "UDP-Lite by UDP, bad channel: synchronous by asynchronous",
            Estimate::bootstrap(both.len(), |chosen| {
                let ratio = |losses: &[[f64; 2]]| {
                    let sum =
                        |which: usize| chosen.iter().map(|&it| losses[it][which]).sum::<f64>();
                    sum(1) / sum(0)
                };
                ratio(synchronous) / ratio(&both)
            }),
            Band::below(1.0, "an ordering"),
        ),
    ]
}

fn table(synchronous: &Synchronous) -> Table {
    let mut table = Table::new(["run", "UDP, loss (%)", "UDP-Lite, loss (%)"]);
    for (run, losses) in synchronous.iter().enumerate() {
        let losses = losses.map(|loss| format!("{:.2}", 100.0 * loss));
        table.push([run.to_string()].into_iter().chain(losses));
    }
    table
}
