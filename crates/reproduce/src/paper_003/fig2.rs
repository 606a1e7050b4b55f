//! Figure 2: the packets of TCP that loses two of every hundred, without local retransmission.

use windfall_report::{Claim, Finding, Verdict};

use super::{Burst, Runs, WITHOUT, captured, method_of_tcp};
use crate::error::Error;
use crate::figure::{Basis, Context, Figure};
use crate::sequence::Sequence;

pub(crate) const FIGURE: Figure = Figure {
    name: "S3.fig2",
    title: "The packets of TCP that loses two of every hundred",
    basis: Basis::RealTime,
    expected: Verdict::NotComparable,
    run,
};

//= S3.7
fn run(figure: &Figure, context: &Context<'_>) -> Result<Finding, Error> {
    let burst = Burst { lost: 2, of: 100 };
    let bytes = Runs::of(context.effort).bytes;
    let done = captured(context, figure.name, WITHOUT, burst, bytes)?;
    let sequence = Sequence::of_transfer(figure.name, &done)?;
    let counters = done.outcome.counters;
    let chart = sequence.chart(
        "TCP that loses two packets of every hundred",
        "modern kernel, Reno without SACK, no local retransmission",
    );
    Ok(Finding {
        figure: figure.name,
        title: figure.title.to_owned(),
        method: format!(
            "{} Captured at the sender. The paper's kernel met timeouts of a second and more \
             where a modern one recovers within round trips.",
            method_of_tcp()
        ),
        claims: vec![Claim {
            requirement: "S3.7",
            paper: "timeouts substantially degrade performance".to_owned(),
            measured: format!(
                "{} timeouts, {} of {} segments sent again, {:.1} KB/s",
                counters.timeouts,
                counters.retransmitted,
                counters.segments + counters.retransmitted,
                done.throughput()
            ),
            verdict: Verdict::NotComparable,
        }],
        expected: figure.expected,
        charts: vec![("", chart)],
        tables: vec![("", sequence.table())],
        provenance: figure.provenance(context),
    })
}
