//! Figure 7: what TCP sends during one burst of 100 lost packets.

use windfall_report::{Claim, Finding, Verdict};

use super::fig6::BURST;
use super::{Runs, WITH, captured, method_of_tcp};
use crate::error::Error;
use crate::figure::{Basis, Context, Figure};
use crate::sequence::Sequence;

pub(crate) const FIGURE: Figure = Figure {
    name: "S3.fig7",
    title: "Competing retransmission, one burst of losses from near",
    basis: Basis::RealTime,
    expected: Verdict::NotComparable,
    run,
};

//= S3.14
fn run(figure: &Figure, context: &Context<'_>) -> Result<Finding, Error> {
    let bytes = Runs::of(context.effort).bytes.max(1_000_000);
    let done = captured(context, figure.name, WITH, BURST, bytes)?;
    let sequence = Sequence::of_transfer(figure.name, &done)?;
    let (from, to) = sequence.longest_silence().unwrap_or((0.0, 1.0));
    let chart = sequence.between(from - 1.0, to + 1.0).chart(
        "One burst of 100 lost packets",
        "modern kernel, Reno without SACK; the longest pause of the transfer",
    );
    let overlap = sequence.bytes_repeated as f64 / sequence.bytes_sent.max(1) as f64;
    Ok(Finding {
        figure: figure.name,
        title: figure.title.to_owned(),
        method: format!(
            "{} Captured at the sender, shown around the longest time without an acknowledgement.",
            method_of_tcp()
        ),
        claims: vec![Claim {
            requirement: "S3.14",
            paper: "probes and repetitions after the pause; they overlap by about 3 %".to_owned(),
            measured: format!("{:.1} % of the bytes were sent again", 100.0 * overlap),
            verdict: Verdict::NotComparable,
        }],
        expected: figure.expected,
        charts: vec![("", chart)],
        tables: vec![("", sequence.table())],
        provenance: figure.provenance(context),
    })
}
