//! Figure 2: the packets of TCP that loses two of every hundred.

use windfall_report::Estimate;

use super::bursts::{Burst, WITH, WITHOUT};
use super::senders::{self, Experiment, Traced};
use crate::experiment::{
    Band, Basis, Claim, Context, ExperimentError, Extent, Figure, Finding, Verdict, VerdictRecord,
};

pub(crate) const FIGURE: Figure = Figure {
    name: "S3.fig2",
    title: "The packets of TCP that loses two of every hundred",
    basis: Basis::Both,
    record: VerdictRecord::with_seeds(Verdict::Reproduced, 20),
    mutation: Some("the link retransmits what is lost"),
    run,
};

/// The share of the throughput whose loss counts as a substantial degradation.
const SUBSTANTIAL: f64 = 0.25;

fn run(figure: &Figure, context: &Context<'_>) -> Result<Finding, ExperimentError> {
    let chosen = senders::all(context, context.extent != Extent::Quick);
    let scenario = if context.is_mutated { WITH } else { WITHOUT };
    let experiment = Experiment { figure: figure.name, scenario };
    let all = experiment.traces(context, &chosen, Burst { lost: 2, of: 100 }, 1_000_000)?;
    let draw = |traced: &Traced| {
        let lost = "two of every hundred frames are lost, no local retransmission";
        traced.chart(Clone::clone, "TCP that loses two packets of every hundred", lost)
    };
    let mut tables = vec![("senders", senders::summary(&all))];
    tables.extend(senders::packets(&all));
    let method = format!(
        "{} Transfers of 1 MB seen at the sender's device, the first of which is drawn. The \
         paper's TCP retransmits the first packet of a burst after three duplicate \
         acknowledgments and the second after a timeout.",
        senders::method(&chosen)
    );
    Ok(Finding {
        inputs: senders::inputs("the last two of each hundred packets of the data's"),
        claims: claims(&all),
        charts: senders::charts(&all, draw),
        tables,
        ..figure.finding(context, method)
    })
}

//= S3.7
fn claims(all: &[Traced]) -> Vec<Claim> {
    let [paper, _, _, _, new_reno, sack, ..] = all else { return Vec::new() };
    // Most waits for a timer of two ticks are shorter than a second, so that silences do not count
    // them.
    let pairs = paper.traces.iter().zip(&new_reno.traces);
    let shares = pairs.map(|(own, other)| own.run.throughput / other.run.throughput);
    let shares = Estimate::mean(&shares.collect::<Vec<_>>());
    let few = || Band::to(1.0, "one in a transfer at most: ours");
    vec![
        Claim::paper(
            "S3.7",
            "section 3.1, Figure 2: “timeouts substantially degrade performance”",
            "timeouts substantially degrade performance",
        )
        .compare(
            "timeouts in a transfer",
            paper.timeouts(),
            Band::from(2.0, "timeouts, in the plural"),
        )
        .compare(
            "throughput, of what NewReno has over the same losses without timeouts",
            shares,
            Band::to(1.0 - SUBSTANTIAL, "substantially: a quarter less, our reading"),
        ),
        Claim::ours("S3.7", "a TCP that repairs a window at once has hardly any timeouts")
            .compare("NewReno, timeouts in a transfer", new_reno.timeouts(), few())
            .compare("SACK, timeouts in a transfer", sack.timeouts(), few()),
    ]
}
