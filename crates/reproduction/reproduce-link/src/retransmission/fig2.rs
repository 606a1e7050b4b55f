//! Figure 2: the packets of TCP that loses two of every hundred.

use super::bursts::{Burst, WITHOUT};
use super::senders::{self, Experiment, Trace};
use windfall_experiment::{
    Basis, Claim, Context, ExperimentError, Extent, Figure, Finding, Verdict, VerdictRecord,
};

pub(crate) const FIGURE: Figure = Figure {
    name: "S3.fig2",
    title: "The packets of TCP that loses two of every hundred",
    basis: Basis::Both,
    record: VerdictRecord::with_seeds(Verdict::Reproduced, 1),
    mutation: None,
    run,
};

/// The share of the time in silences that counts as a substantial degradation.
const SUBSTANTIAL: f64 = 0.25;

fn run(figure: &Figure, context: &Context<'_>) -> Result<Finding, ExperimentError> {
    let chosen = senders::all(context, context.extent != Extent::Quick);
    let experiment = Experiment { figure: figure.name, scenario: WITHOUT };
    let traces = experiment.traces(context, &chosen, Burst { lost: 2, of: 100 }, 1_000_000)?;
    let draw = |trace: &Trace| {
        let lost = "two of every hundred frames are lost, no local retransmission";
        trace.chart("TCP that loses two packets of every hundred", lost)
    };
    let mut tables = vec![("senders", senders::summary(&traces))];
    tables.extend(traces.first().map(|trace| ("", trace.sequence.table())));
    let method = format!(
        "{} Seen at the sender's device. The paper's TCP retransmits the first packet of a burst \
         after three duplicate acknowledgments and the second after a timeout.",
        senders::method(&chosen)
    );
    Ok(Finding {
        claims: claims(&traces),
        charts: senders::charts(&traces, draw),
        tables,
        ..figure.finding(context, method)
    })
}

//= S3.7
fn claims(traces: &[Trace]) -> Vec<Claim> {
    let [paper, _, _, new_reno, sack, ..] = traces else { return Vec::new() };
    let said = |trace: &Trace| {
        format!(
            "{} timeouts, {:.0} % of the time in silences above 1 s, {:.1} KB/s",
            trace.run.timeouts,
            100.0 * trace.sequence.silent_share(),
            trace.run.throughput
        )
    };
    let share = paper.sequence.silent_share();
    vec![
        Claim::once(
            "S3.7",
            format!(
                "timeouts substantially degrade performance: at least {:.0} % of the time",
                100.0 * SUBSTANTIAL
            ),
            said(paper),
            paper.run.timeouts > 0 && share >= SUBSTANTIAL,
        ),
        Claim::once(
            "S3.7",
            "(beside it) a TCP that names each loss has no timeouts",
            format!("NewReno: {}; SACK: {}", said(new_reno), said(sack)),
            new_reno.run.timeouts == 0 && sack.run.timeouts == 0,
        ),
    ]
}
