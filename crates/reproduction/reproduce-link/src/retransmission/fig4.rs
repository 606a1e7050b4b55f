//! Figure 4: the packets of TCP at 83 % loss with persistent local retransmission.

use super::bursts::{Burst, Runs, WITH};
use super::senders::{self, Experiment, Trace};
use windfall_experiment::{
    Basis, Claim, Context, ExperimentError, Figure, Finding, Verdict, VerdictRecord,
};

pub(crate) const FIGURE: Figure = Figure {
    name: "S3.fig4",
    title: "The packets of TCP at 83 % loss with local retransmission",
    basis: Basis::Both,
    record: VerdictRecord::with_seeds(Verdict::Reproduced, 1),
    mutation: None,
    run,
};

/// No silence of a smooth trace is as long, in seconds: the paper's least timeout.
const SMOOTH: f64 = 1.0;

fn run(figure: &Figure, context: &Context<'_>) -> Result<Finding, ExperimentError> {
    let chosen = senders::all(context, true);
    let experiment = Experiment { figure: figure.name, scenario: WITH };
    let bytes = Runs::of(context.extent).bytes;
    let traces = experiment.traces(context, &chosen, Burst { lost: 5, of: 6 }, bytes)?;
    let draw = |trace: &Trace| {
        let lost = "five of every six frames are lost";
        trace.chart("TCP at 83 % loss with persistent local retransmission", lost)
    };
    let mut tables = vec![("senders", senders::summary(&traces))];
    tables.extend(traces.first().map(|trace| ("", trace.sequence.table())));
    Ok(Finding {
        claims: traces.iter().map(smooth).collect(),
        charts: senders::charts(&traces, draw),
        tables,
        ..figure
            .finding(context, format!("{} Seen at the sender's device.", senders::method(&chosen)))
    })
}

//= S3.9
fn smooth(trace: &Trace) -> Claim {
    let (from, to) = trace.sequence.longest_silence().unwrap_or_default();
    Claim::once(
        "S3.9",
        format!("a smooth trace without timeouts: no silence of {SMOOTH} s"),
        format!(
            "{}: {} timeouts, {} segments sent again, longest silence {:.2} s, {:.1} KB/s",
            trace.sender.name,
            trace.run.timeouts,
            trace.run.retransmitted,
            to - from,
            trace.run.throughput
        ),
        trace.run.timeouts == 0 && to - from < SMOOTH,
    )
}
