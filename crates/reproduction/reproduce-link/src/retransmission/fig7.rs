//! Figure 7: what TCP sends during one burst of 100 lost packets.

use windfall_experiment::{
    Band, Basis, Claim, Context, ExperimentError, Figure, Finding, Sequence, Verdict, VerdictRecord,
};
use windfall_report::Estimate;

use super::fig6::{self, Traces};
use super::senders::{self, Trace, Traced};

pub(crate) const FIGURE: Figure = Figure {
    name: "S3.fig7",
    title: "Competing retransmission, one burst of losses from near",
    basis: Basis::Both,
    record: VerdictRecord::with_seeds(Verdict::InPart, 20),
    mutation: Some("no local retransmission"),
    run,
};

/// The share of redundant data in per cent: the paper's, and the most that passes (S3.14).
const OVERLAP: f64 = 3.0;
const MOST: f64 = 5.0;
/// Seconds before and after a pause that are drawn.
const AROUND: f64 = 1.0;

fn run(figure: &Figure, context: &Context<'_>) -> Result<Finding, ExperimentError> {
    let traces = Traces::of(figure, context)?;
    let method = format!(
        "{} Drawn is the first pause in which the timer fired. The link delivers everything \
         in the end, so that whatever TCP sends again is redundant.",
        traces.method()
    );
    let draw = |traced: &Traced| {
        traced.chart(zoom, "One burst of 100 lost packets", "a pause in which the timer fired")
    };
    Ok(Finding {
        inputs: Traces::inputs(),
        claims: claims(&traces),
        charts: senders::charts(&traces.as_written, draw),
        tables: traces.tables(),
        ..figure.finding(context, method)
    })
}

/// The first pause in which something was sent again, or the longest.
fn zoom(sequence: &Sequence) -> Sequence {
    let mut pauses = sequence.pauses();
    let first = pauses.find(|(from, to)| !sequence.between(*from, *to).retransmitted.is_empty());
    let (from, to) = first.or(sequence.longest_silence()).unwrap_or_default();
    sequence.between(from - AROUND, to + AROUND)
}

/// Segments sent again in the pauses of a transfer, for each burst.
fn probes(trace: &Trace) -> f64 {
    let again = &trace.sequence.retransmitted;
    let pauses: Vec<_> = trace.sequence.pauses().collect();
    let within = |at: f64| pauses.iter().any(|(from, to)| (*from..*to).contains(&at));
    again.iter().filter(|(at, _)| within(*at)).count() as f64 / fig6::bursts(trace)
}

/// Segments sent again within a second after the pauses of a transfer, for each burst.
fn afterwards(trace: &Trace) -> f64 {
    let again = &trace.sequence.retransmitted;
    let pauses: Vec<_> = trace.sequence.pauses().collect();
    let within = |at: f64| pauses.iter().any(|(_, to)| (*to..to + AROUND).contains(&at));
    again.iter().filter(|(at, _)| within(*at)).count() as f64 / fig6::bursts(trace)
}

fn overlap(trace: &Trace) -> f64 {
    100.0 * trace.sequence.overlap()
}

//= S3.14
fn claims(traces: &Traces) -> Vec<Claim> {
    let [paper, second, short, ..] = &traces.as_written[..] else { return Vec::new() };
    let Some(of_both) = traces.of_both.first() else { return Vec::new() };
    let both_kinds = || Band::from(0.1, "in one burst of ten at least");
    let about = || Band::near(OVERLAP, 1.0 / 6.0, "3 % to one digit: 2.5 to 3.5");
    vec![
        Claim::paper(
            "S3.14",
            "section 3.2.3: “two types of redundant packet: ‘probe’ packets … and a sequence of \
             packets retransmitted after the pause”",
            "in a pause the sender probes, after it it retransmits a sequence of packets",
        )
        .compare("probes for each burst", paper.mean(probes), both_kinds())
        .compare("retransmitted after it", paper.mean(afterwards), both_kinds()),
        Claim::paper(
            "S3.14",
            "section 3.2.3: “the amount of overlap is only about 3 %”",
            "about 3 % of the data are sent twice",
        )
        .compare("% of the bytes", paper.mean(overlap), about())
        .recorded(Verdict::NotReproduced)
        .because(
            "with ticks of 500 ms not every burst of 1.6 s lets the timer fire: fewer false \
             retransmissions than the paper saw",
        ),
        Claim::paper(
            "S3.14",
            "section 3.2.3: “only about 3 %. This positive result”",
            "hardly any data are sent twice",
        )
        .compare(
            "% of the bytes",
            paper.mean(overlap),
            Band::between(0.1, MOST, "S3.14: some, and at most 5 %"),
        ),
        Claim::ours("S3.14", "about 3 % if packets of both directions count in the pattern")
            .compare("% of the bytes", of_both.mean(overlap), about())
            .recorded(Verdict::NotReproduced),
        timers([paper, second, short]),
    ]
}

//= S3.15
fn timers([paper, second, short]: [&Traced; 3]) -> Claim {
    let less = |one: &Traced, other: &Traced| {
        let pairs = one.traces.iter().zip(&other.traces);
        let apart = pairs.map(|(one, other)| overlap(one) - overlap(other));
        Estimate::mean(&apart.collect::<Vec<_>>())
    };
    let more = || Band::from(0.0, "more with the shorter timeout");
    Claim::paper(
        "S3.15",
        "section 3.2.3: “depends on end-to-end retransmission timeouts being substantially longer \
         than the per-hop round-trip time”",
        "the overlap depends on the least timeout: the longer, the less",
    )
    .compare("points more with 200 ms than with 1 s", less(short, second), more())
    .compare("points more with 1 s than with ticks of 500 ms", less(second, paper), more())
}
