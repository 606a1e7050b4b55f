//! Figure 6: competing retransmission, 400 packets pass and 100 are lost.

use super::bursts::{Burst, WITH};
use super::senders::{self, Experiment, Sender, Trace};
use windfall_experiment::{
    Basis, Claim, Context, ExperimentError, Extent, Figure, Finding, Verdict, VerdictRecord,
};

pub(crate) const FIGURE: Figure = Figure {
    name: "S3.fig6",
    title: "Competing retransmission: 100 of every 500 packets lost in one burst",
    basis: Basis::Both,
    record: VerdictRecord::with_seeds(Verdict::Reproduced, 1),
    mutation: None,
    run,
};

/// The burst of Figures 6 and 7 if only packets of the data's direction count.
const OF_DATA: Burst = Burst { lost: 100, of: 500 };
/// The same if packets of both directions count: one in three of the 400 that pass is an
/// acknowledgment, and the 100 that are lost are all data.
const OF_BOTH: Burst = Burst { lost: 100, of: 367 };

/// Bytes of a transfer: enough for eight bursts and more.
const BYTES: u64 = 5_000_000;
/// Seconds of it that are drawn.
const DRAWN: f64 = 20.0;
/// The range that counts as the paper's 64 KB/s (S3.13).
const AS_MEASURED: core::ops::RangeInclusive<f64> = 60.0..=70.0;
/// The throughput of a TCP that performs well between bursts, of the link's 100 KB/s.
const WELL: f64 = 85.0;

/// The traces of Figures 6 and 7, in the two ways in which the losses can be counted.
pub(super) struct Traces {
    pub(super) chosen: Vec<Sender>,
    pub(super) of_both: Vec<Trace>,
    pub(super) of_data: Vec<Trace>,
}

impl Traces {
    /// # Errors
    /// If a transfer could not be made.
    pub(super) fn of(figure: &Figure, context: &Context<'_>) -> Result<Self, ExperimentError> {
        let chosen = senders::all(context, context.extent != Extent::Quick);
        let experiment = Experiment { figure: figure.name, scenario: WITH };
        let traces = |burst| experiment.traces(context, &chosen, burst, BYTES);
        Ok(Self { of_both: traces(OF_BOTH)?, of_data: traces(OF_DATA)?, chosen })
    }

    /// The method of their measurement.
    pub(super) fn method(&self) -> String {
        format!(
            "{} Seen at the sender's device. The paper does not say whose packets its pattern \
             counts. If those of both directions do, 267 of the 400 that pass carry data, so that \
             here 100 of every 367 frames with data are lost; if only those with data do, 100 of \
             every 500. The first reading comes closer to the paper's numbers and is the one that \
             is drawn; the CSV files have both.",
            senders::method(&self.chosen)
        )
    }

    /// One row for each trace of either reading.
    pub(super) fn tables(&self) -> Vec<(&'static str, windfall_report::Table)> {
        let mut tables = vec![
            ("senders", senders::summary(&self.of_both)),
            ("data-only", senders::summary(&self.of_data)),
        ];
        tables.extend(self.of_both.first().map(|trace| ("", trace.sequence.table())));
        tables
    }
}

fn run(figure: &Figure, context: &Context<'_>) -> Result<Finding, ExperimentError> {
    let traces = Traces::of(figure, context)?;
    let draw = |trace: &Trace| {
        let first = Trace { sequence: trace.sequence.between(0.0, DRAWN), ..trace.clone() };
        first.chart("Competing retransmission", "frames are lost in bursts of 100, 267 pass")
    };
    let method = format!(
        "{} With data alone counted TCP gets all that the losses leave of its own error-free \
         throughput (S3.fig3), which the paper's did not.",
        traces.method()
    );
    Ok(Finding {
        claims: claims(&traces),
        charts: senders::charts(&traces.of_both, draw),
        tables: traces.tables(),
        ..figure.finding(context, method)
    })
}

fn claims(traces: &Traces) -> Vec<Claim> {
    let [paper, second, short, ..] = &traces.of_both[..] else { return Vec::new() };
    let Some(data_only) = traces.of_data.first() else { return Vec::new() };
    let between = paper.run.throughput / (1.0 - paper.sequence.silent_share());
    let pauses = |trace: &Trace| trace.sequence.pauses().count().max(1) as f64;
    let fired = [short, second, paper].map(|trace| trace.run.timeouts as f64 / pauses(trace));
    let rates = [short, second, paper].map(|trace| trace.run.throughput);
    vec![
        //= S3.13
        Claim::once(
            "S3.13",
            "64 KB/s (60 to 70), about 80 % of the 80 KB/s that the losses leave",
            format!(
                "{:.1} KB/s if packets of both directions count, {:.1} KB/s if only data's do",
                paper.run.throughput, data_only.run.throughput
            ),
            AS_MEASURED.contains(&paper.run.throughput),
        ),
        //= S3.13
        Claim::once(
            "S3.13",
            format!("between error bursts TCP performs well: at least {WELL} of 100 KB/s"),
            format!("{between:.1} KB/s outside pauses of a second and more"),
            between >= WELL,
        ),
        //= S3.15
        Claim::once(
            "S3.15",
            "with a least timeout of a second few timeouts are false: one a burst at most, and \
             more with 200 ms",
            format!(
                "timeouts a burst with 200 ms, 1 s, ticks of 500 ms: {:.1}, {:.1}, {:.1}; \
                 {:.1}, {:.1}, {:.1} KB/s",
                fired[0], fired[1], fired[2], rates[0], rates[1], rates[2]
            ),
            fired[1] <= 1.0 && fired[2] <= 1.0 && fired[0] > 1.5,
        ),
    ]
}
