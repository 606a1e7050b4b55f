//! Figure 4: the packets of TCP at 83 % loss with persistent local retransmission.

use windfall_report::{Claim, Finding, Verdict};

use super::{Burst, Runs, WITH, captured, method_of_tcp};
use crate::error::Error;
use crate::figure::{Basis, Context, Figure};
use crate::sequence::Sequence;

pub(crate) const FIGURE: Figure = Figure {
    name: "S3.fig4",
    title: "The packets of TCP at 83 % loss with local retransmission",
    basis: Basis::RealTime,
    expected: Verdict::Reproduced,
    run,
};

//= S3.9
fn run(figure: &Figure, context: &Context<'_>) -> Result<Finding, Error> {
    let burst = Burst { lost: 5, of: 6 };
    let bytes = Runs::of(context.effort).bytes;
    let done = captured(context, figure.name, WITH, burst, bytes)?;
    let sequence = Sequence::of_transfer(figure.name, &done)?;
    let counters = done.outcome.counters;
    let chart = sequence.chart(
        "TCP at 83 % loss with persistent local retransmission",
        "kernel TCP, Reno without SACK; five of every six frames are lost",
    );
    Ok(Finding {
        figure: figure.name,
        title: figure.title.to_owned(),
        method: format!(
            "{} Captured at the sender; timeouts as the kernel counts them.",
            method_of_tcp()
        ),
        claims: vec![Claim {
            requirement: "S3.9",
            paper: "TCP stabilises at the rate of the link: a smooth trace without timeouts"
                .to_owned(),
            measured: format!(
                "{} timeouts, {} segments sent again, {:.1} KB/s",
                counters.timeouts,
                counters.retransmitted,
                done.throughput()
            ),
            verdict: Verdict::of(counters.timeouts == 0),
        }],
        expected: figure.expected,
        charts: vec![("", chart)],
        tables: vec![("", sequence.table())],
        provenance: figure.provenance(context),
    })
}
