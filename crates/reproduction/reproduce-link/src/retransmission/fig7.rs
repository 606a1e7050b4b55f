//! Figure 7: what TCP sends during one burst of 100 lost packets.

use windfall_experiment::{
    Basis, Claim, Context, ExperimentError, Figure, Finding, Verdict, VerdictRecord,
};
use windfall_report::Chart;

use super::fig6::Traces;
use super::senders::{self, Trace};

pub(crate) const FIGURE: Figure = Figure {
    name: "S3.fig7",
    title: "Competing retransmission, one burst of losses from near",
    basis: Basis::Both,
    record: VerdictRecord::with_seeds(Verdict::Reproduced, 1),
    mutation: None,
    run,
};

/// The share of redundant data that still counts as the paper's three per cent (S3.14).
const OVERLAP: f64 = 0.05;
/// Seconds before and after a pause that are drawn.
const AROUND: f64 = 1.0;

fn run(figure: &Figure, context: &Context<'_>) -> Result<Finding, ExperimentError> {
    let traces = Traces::of(figure, context)?;
    let method = format!(
        "{} Drawn is the first pause in which the timer fired. The link delivers everything \
         in the end, so that whatever TCP sends again is redundant.",
        traces.method()
    );
    Ok(Finding {
        claims: claims(&traces),
        charts: senders::charts(&traces.of_both, zoom),
        tables: traces.tables(),
        ..figure.finding(context, method)
    })
}

/// The first pause in which something was sent again, or the longest.
fn pause(trace: &Trace) -> (f64, f64) {
    let sequence = &trace.sequence;
    let mut pauses = sequence.pauses();
    let first = pauses.find(|(from, to)| !sequence.between(*from, *to).retransmitted.is_empty());
    first.or(sequence.longest_silence()).unwrap_or_default()
}

fn zoom(trace: &Trace) -> Chart {
    let (from, to) = pause(trace);
    let part =
        Trace { sequence: trace.sequence.between(from - AROUND, to + AROUND), ..trace.clone() };
    part.chart("One burst of 100 lost packets", "a pause in which the timer fired")
}

//= S3.14
fn claims(traces: &Traces) -> Vec<Claim> {
    let [paper, second, short, ..] = &traces.of_both[..] else { return Vec::new() };
    let Some(data_only) = traces.of_data.first() else { return Vec::new() };
    let (from, to) = pause(paper);
    let retransmitted = &paper.sequence.retransmitted;
    let probes = retransmitted.iter().filter(|(at, _)| (from..to).contains(at)).count();
    let after = retransmitted.iter().filter(|(at, _)| (to..to + AROUND).contains(at)).count();
    let overlaps = [short, second, paper].map(|trace| 100.0 * trace.sequence.overlap());
    let overlap = paper.sequence.overlap();
    vec![
        Claim::once(
            "S3.14",
            "during a pause the sender probes, after it retransmits a sequence of packets",
            format!(
                "in a pause of {:.2} s: {probes} probes; after it: {after} retransmissions",
                to - from
            ),
            probes > 0 && after > 2,
        ),
        Claim::once(
            "S3.14",
            format!(
                "they overlap by about 3 %: more than none and at most {:.0} %",
                100.0 * OVERLAP
            ),
            format!(
                "{:.1} % of the bytes were sent again, {:.1} % if only data's packets count; {} \
                 segments, while the link retransmitted {} frames",
                100.0 * overlap,
                100.0 * data_only.sequence.overlap(),
                paper.run.retransmitted,
                paper.retransmitted_by_link.unwrap_or_default()
            ),
            overlap > 0.0 && overlap <= OVERLAP,
        ),
        //= S3.15
        Claim::once(
            "S3.15",
            "the overlap depends on the least timeout: the longer, the less",
            format!(
                "with 200 ms {:.1} %, with 1 s {:.1} %, with ticks of 500 ms {:.1} %",
                overlaps[0], overlaps[1], overlaps[2]
            ),
            overlaps[0] > overlaps[1] && overlaps[1] > overlaps[2],
        ),
    ]
}
