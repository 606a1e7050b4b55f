//! Figure 6: competing retransmission, 400 packets pass and 100 are lost.

use windfall_report::Estimate;

use super::bursts::{Burst, WITH, WITHOUT};
use super::senders::{self, Experiment, Sender, Traced};
use super::spray;
use crate::experiment::{
    Band, Basis, Claim, Context, ExperimentError, Extent, Figure, Finding, Verdict, VerdictRecord,
};

pub(crate) const FIGURE: Figure = Figure {
    name: "S3.fig6",
    title: "Competing retransmission: 100 of every 500 packets lost in one burst",
    basis: Basis::Both,
    record: VerdictRecord::with_seeds(Verdict::InPart, 20),
    mutation: Some("no local retransmission"),
    run,
};

/// The burst of Figures 6 and 7 as the paper writes it.
const AS_WRITTEN: Burst = Burst { lost: 100, of: 500 };
/// The burst of Figures 6 and 7 if packets of both directions count: one in four of the 400 that
/// pass is an acknowledgment, and the 100 that are lost are all data.
const OF_BOTH: Burst = Burst { lost: 100, of: 400 };
/// Frames of one burst.
const LOST: f64 = 100.0;

/// Seconds of a transfer that are drawn.
const DRAWN: f64 = 20.0;
/// The paper's 64 KB/s, give or take 5 (S3.13), of the 80 that its losses leave.
const AS_MEASURED: [f64; 2] = [60.0 / 80.0, 70.0 / 80.0];
/// The throughput of a TCP that performs well between bursts, of the link's 100 KB/s.
const WELL: f64 = 85.0;

/// The transfers of Figures 6 and 7, in the two ways in which the losses can be counted.
pub(super) struct Traces {
    pub(super) chosen: Vec<Sender>,
    pub(super) as_written: Vec<Traced>,
    pub(super) of_both: Vec<Traced>,
}

impl Traces {
    /// # Errors
    /// If a transfer could not be made.
    pub(super) fn of(figure: &Figure, context: &Context<'_>) -> Result<Self, ExperimentError> {
        let chosen = senders::all(context, context.extent != Extent::Quick);
        let scenario = if context.is_mutated { WITHOUT } else { WITH };
        let experiment = Experiment { figure: figure.name, scenario };
        // Enough for eight bursts and more; in a hurry, for three.
        let bytes = if context.extent == Extent::Quick { 2_000_000 } else { 5_000_000 };
        let paper = &chosen[..1];
        Ok(Self {
            as_written: experiment.traces(context, &chosen, AS_WRITTEN, bytes)?,
            of_both: experiment.traces(context, paper, OF_BOTH, bytes)?,
            chosen,
        })
    }

    /// The method of their measurement.
    pub(super) fn method(&self) -> String {
        format!(
            "{} Seen at the sender's device. Drawn and judged is the pattern as it is written: of \
             each 500 packets of the data's direction 400 pass and 100 are lost. A second \
             reading, in which acknowledgments count among the 400 (300 packets with data), \
             stands in a table.",
            senders::method(&self.chosen)
        )
    }

    /// Two tables with a row for each sender, and the packets that are drawn.
    pub(super) fn tables(&self) -> Vec<(&'static str, windfall_report::Table)> {
        let mut tables = vec![
            ("senders", senders::summary(&self.as_written)),
            ("both-directions", senders::summary(&self.of_both)),
        ];
        tables.extend(senders::packets(&self.as_written));
        tables
    }

    /// The inputs of the experiment.
    pub(super) fn inputs() -> Vec<crate::experiment::ExperimentInput> {
        senders::inputs("400 packets of the data's pass, 100 are lost, and so on")
    }
}

/// Bursts that fell into a transfer.
pub(super) fn bursts(trace: &senders::Trace) -> f64 {
    (trace.retransmitted_by_link.unwrap_or_default() as f64 / LOST).max(1.0)
}

fn run(figure: &Figure, context: &Context<'_>) -> Result<Finding, ExperimentError> {
    let traces = Traces::of(figure, context)?;
    let full = spray::throughput(context, figure.name, &[Burst { lost: 0, of: 1 }])?;
    let full = full.first().and_then(spray::Sprayed::point).map_or(f64::NAN, |point| point.y);
    let draw = |traced: &Traced| {
        let part = |sequence: &crate::experiment::Sequence| sequence.between(0.0, DRAWN);
        traced.chart(part, "Competing retransmission", "of each 500 frames 100 are lost at once")
    };
    Ok(Finding {
        inputs: Traces::inputs(),
        claims: claims(&traces, full),
        charts: senders::charts(&traces.as_written, draw),
        tables: traces.tables(),
        ..figure.finding(context, traces.method())
    })
}

/// The throughput as a share of what the losses leave of the link's `full` throughput.
fn share(traced: &Traced, burst: Burst, full: f64) -> Estimate {
    traced.mean(|trace| trace.run.throughput / ((1.0 - burst.loss()) * full))
}

/// The rate of a transfer from the end of each pause to the beginning of the next, in KB/s; of one
/// without pauses that of the whole.
fn rate_between(trace: &senders::Trace) -> f64 {
    let pauses: Vec<_> = trace.sequence.pauses().collect();
    let stretches = pauses.windows(2).map(|pair| (pair[0].1, pair[1].0));
    let (sum, time) = stretches.fold((0.0, 0.0), |(sum, time), (from, to)| {
        (sum + trace.sequence.rate(from, to) * (to - from), time + to - from)
    });
    if time > 0.0 { sum / time } else { trace.run.throughput }
}

fn claims(traces: &Traces, full: f64) -> Vec<Claim> {
    let [paper, net3, second, short, ..] = &traces.as_written[..] else { return Vec::new() };
    let Some(of_both) = traces.of_both.first() else { return Vec::new() };
    let [low, high] = AS_MEASURED;
    let band = || Band::between(low, high, "60 to 70 of 80 KB/s (S3.13)");
    vec![
        //= S3.13
        Claim::paper(
            "S3.13",
            "section 3.2.3: “64 KB/s, about 80 % of the link capacity available after packet loss \
             (80 KB/s)”",
            "TCP gets about 80 % of what the losses leave",
        )
        .compare("share", share(paper, AS_WRITTEN, full), band())
        .recorded(Verdict::NotReproduced)
        .because(
            "our copy of the paper's TCP gets more: a pause costs it hardly anything beyond the \
             burst, since its window is full when the link works again. What else held the \
             paper's TCP up is not told",
        ),
        //= S3.13
        Claim::ours("S3.13", "nor does the other reading, packets of both directions, explain it")
            .compare("share", share(of_both, OF_BOTH, full), band())
            .recorded(Verdict::NotReproduced),
        //= S3.13
        Claim::paper(
            "S3.13",
            "section 3.2.3: “between error bursts TCP performs well”",
            "between error bursts TCP performs well",
        )
        .compare(
            "KB/s from the end of a pause to the next",
            paper.mean(rate_between),
            Band::from(WELL, "of 100 KB/s: ours"),
        ),
        timers(paper, net3, second, short),
    ]
}

//= S3.15
fn timers(paper: &Traced, net3: &Traced, second: &Traced, short: &Traced) -> Claim {
    let fired = |trace: &senders::Trace| trace.run.timeouts as f64 / bursts(trace);
    let avoided = |traced: &Traced| {
        let pairs = short.traces.iter().zip(&traced.traces);
        let differences = pairs.map(|(short, long)| fired(short) - fired(long));
        Estimate::mean(&differences.collect::<Vec<_>>())
    };
    let many = || Band::from(0.5, "many: one in two bursts and more");
    // The paper says it of long paths of the Internet, by reference to others.
    Claim::ours(
        "S3.15",
        "a least timeout of a second avoids many of the false timeouts that there are with 200 ms",
    )
    .compare("timeouts a burst fewer, two ticks of 500 ms", avoided(paper), many())
    .compare("three ticks", avoided(net3), many())
    .compare("1 s", avoided(second), many())
}
