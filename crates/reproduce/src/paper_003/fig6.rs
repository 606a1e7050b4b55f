//! Figure 6: competing retransmission, 400 packets pass and 100 are lost.

use windfall_report::{Claim, Finding, Verdict};

use super::{Burst, Runs, WITH, captured, method_of_tcp};
use crate::error::Error;
use crate::figure::{Basis, Context, Figure};
use crate::sequence::Sequence;

pub(crate) const FIGURE: Figure = Figure {
    name: "S3.fig6",
    title: "Competing retransmission: 100 of every 500 packets lost in one burst",
    basis: Basis::RealTime,
    expected: Verdict::NotComparable,
    run,
};

/// The burst of Figures 6 and 7.
pub(super) const BURST: Burst = Burst { lost: 100, of: 500 };

//= S3.13
fn run(figure: &Figure, context: &Context<'_>) -> Result<Finding, Error> {
    // The burst comes after 400 packets, so that a transfer must be longer than that.
    let bytes = Runs::of(context.effort).bytes.max(1_000_000);
    let done = captured(context, figure.name, WITH, BURST, bytes)?;
    let sequence = Sequence::of_transfer(figure.name, &done)?;
    let chart = sequence.chart(
        "Competing retransmission",
        "modern kernel, Reno without SACK; 100 of every 500 frames are lost in one burst",
    );
    Ok(Finding {
        figure: figure.name,
        title: figure.title.to_owned(),
        method: format!(
            "{} Captured at the sender. The kernel's smallest retransmission timeout is 0.2 s, \
             the paper's was a second.",
            method_of_tcp()
        ),
        claims: vec![Claim {
            requirement: "S3.13",
            paper: "64 KB/s, about 80 % of the 80 KB/s that the losses leave".to_owned(),
            measured: format!("{:.1} KB/s", done.throughput()),
            verdict: Verdict::NotComparable,
        }],
        expected: figure.expected,
        charts: vec![("", chart)],
        tables: vec![("", sequence.table())],
        provenance: figure.provenance(context),
    })
}
