//! Figure 7: what TCP sends during one burst of 100 lost packets.

use windfall_report::Estimate;

use super::fig6::Traces;
use super::senders::{self, Trace, Traced};
use crate::experiment::{
    Band, Basis, Claim, Context, ExperimentError, Figure, Finding, Sequence, Verdict, VerdictRecord,
};

pub(crate) const FIGURE: Figure = Figure {
    name: "S3.fig7",
    title: "Competing retransmission, one burst of losses from near",
    basis: Basis::Both,
    record: VerdictRecord::with_seeds(Verdict::InPart, 20),
    mutation: Some("no local retransmission"),
    run,
};

/// The share of redundant data in per cent (S3.14).
const OVERLAP: f64 = 3.0;
/// The rate of the link without errors that counts as smooth after a pause, in KB/s of 100.
const SMOOTH: f64 = 80.0;
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

/// When something began and ended, in seconds.
type Span = (f64, f64);

/// The pauses of a transfer, and those in which the timer fired.
fn pauses(trace: &Trace) -> (Vec<Span>, Vec<Span>) {
    let timeouts = &trace.sequence.timeouts;
    let all: Vec<_> = trace.sequence.pauses().collect();
    let fired = |(from, to): &Span| timeouts.iter().any(|(at, _)| (*from..=*to).contains(at));
    let fired = all.iter().copied().filter(fired).collect();
    (all, fired)
}

/// The share of the pauses of a transfer in which the timer fired.
fn fired(trace: &Trace) -> f64 {
    let (all, fired) = pauses(trace);
    fired.len() as f64 / all.len().max(1) as f64
}

/// Segments sent again from `begin` to `end` of each pause in which the timer fired, the mean.
fn again(trace: &Trace, part: impl Fn(Span) -> Span) -> f64 {
    let (_, fired) = pauses(trace);
    let segments = fired.iter().map(|pause| {
        let (from, to) = part(*pause);
        let again = trace.sequence.retransmitted.iter();
        again.filter(|(at, _)| *at > from && *at <= to).count() as f64
    });
    segments.sum::<f64>() / fired.len().max(1) as f64
}

/// The rate in the two seconds after each pause but the last, the mean in KB/s.
fn recovered(trace: &Trace) -> f64 {
    let (all, _) = pauses(trace);
    let rates = all.windows(2).map(|pair| {
        let to = pair[0].1;
        trace.sequence.rate(to, to + 2.0 * AROUND)
    });
    rates.sum::<f64>() / all.len().saturating_sub(1).max(1) as f64
}

fn overlap(trace: &Trace) -> f64 {
    100.0 * trace.sequence.overlap()
}

//= S3.14
fn claims(traces: &Traces) -> Vec<Claim> {
    let [paper, net3, second, short, ..] = &traces.as_written[..] else { return Vec::new() };
    let Some(of_both) = traces.of_both.first() else { return Vec::new() };
    let about = || Band::near(OVERLAP, 1.0 / 6.0, "3 % to one digit: 2.5 to 3.5");
    vec![
        triggered(paper),
        both_kinds(paper),
        Claim::paper(
            "S3.14",
            "section 3.2.3: “While we do have redundant retransmissions, the amount of overlap is \
             only about 3 %”",
            "about 3 % of the data are sent twice",
        )
        .compare("% of the bytes", paper.mean(overlap), about())
        .recorded(Verdict::NotReproduced)
        .because(
            "where its timer fires our copy of the paper's TCP sends three probes and five \
             segments again, too few for 3 % of what lies between two bursts; if packets of \
             both directions count there is less between them, and the overlap is nearer",
        ),
        smoothly(paper),
        condition(second, short),
        Claim::ours("S3.14", "about 3 % if packets of both directions count in the pattern")
            .compare("% of the bytes", of_both.mean(overlap), about())
            .recorded(Verdict::NotReproduced),
        timers(paper, net3, second, short),
    ]
}

fn triggered(paper: &Traced) -> Claim {
    Claim::paper(
        "S3.14",
        "section 3.2.3: 100 consecutive drops “will cause a sudden significant delay and should \
         trigger a TCP timeout”",
        "such a burst makes the retransmission timer fire",
    )
    .compare(
        "share of the pauses in which it fires",
        paper.mean(fired),
        Band::from(0.5, "in most: ours"),
    )
}

/// The two kinds, where the timer fired: without it nothing is sent again.
fn both_kinds(paper: &Traced) -> Claim {
    let probes = |trace: &Trace| again(trace, |(from, to)| (from, to));
    let afterwards = |trace: &Trace| again(trace, |(_, to)| (to, to + AROUND));
    Claim::paper(
        "S3.14",
        "section 3.2.3: “two types of redundant packet: ‘probe’ packets … and a sequence of \
         packets retransmitted after the pause”",
        "where the timer fires the sender probes, and retransmits a sequence after the pause",
    )
    .compare(
        "probes in such a pause",
        paper.mean(probes),
        Band::from(1.0, "one at least: what a timeout sends"),
    )
    .compare(
        "retransmitted within a second after it",
        paper.mean(afterwards),
        Band::from(2.0, "a sequence: two at least"),
    )
}

fn smoothly(paper: &Traced) -> Claim {
    Claim::paper(
        "S3.14",
        "section 3.3: “when the delay period is over, the order-maintaining queue structure \
         allows TCP to recover smoothly”",
        "TCP has the link's rate again as soon as the pause is over",
    )
    .compare(
        "KB/s in the two seconds after a pause",
        paper.mean(recovered),
        Band::from(SMOOTH, "four fifths of the link's 100: ours"),
    )
}

/// Says why the condition of the paper's result is not judged: nothing here varies it.
fn condition(second: &Traced, short: &Traced) -> Claim {
    let [long, short] = [second, short].map(|traced| traced.mean(overlap).value);
    Claim::paper(
        "S3.15",
        "section 3.2.3: “This positive result depends on end-to-end retransmission timeouts being \
         substantially longer than the per-hop round-trip time”",
        "with timeouts that are not much longer than a hop's round trip much is sent twice",
    )
    .not_comparable(
        format!("{short:.1} % with 200 ms at least, {long:.1} % with 1 s"),
        "the least of these timeouts is ten times a hop's round trip of 20 ms, and a timer never \
         waits less than the round trip that it has seen: the condition was not varied",
    )
}

//= S3.15
fn timers(paper: &Traced, net3: &Traced, second: &Traced, short: &Traced) -> Claim {
    let less = |one: &Traced, other: &Traced| {
        let pairs = one.traces.iter().zip(&other.traces);
        let apart = pairs.map(|(one, other)| overlap(one) - overlap(other));
        Estimate::mean(&apart.collect::<Vec<_>>())
    };
    let more = || Band::from(0.0, "more with the shorter timeout");
    Claim::ours("S3.15", "the overlap depends on the least timeout: the longer, the less")
        .compare("points more with 200 ms than with 1 s", less(short, second), more())
        .compare("points more with two ticks than with three", less(paper, net3), more())
}
