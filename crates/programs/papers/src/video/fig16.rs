//! Figure 16: the throughput.

use windfall_report::{Axis, Estimate};

use crate::experiment::{
    Band, Basis, Claim, Context, ExperimentError, Figure, Finding, Verdict, VerdictRecord,
};
use crate::video::combination::{BAD, LITE, LITE_RLP, UDP, UDP_RLP};
use crate::video::runs::{self, MUTATION, SeedRuns, VideoRun, deviation, each, mean};

pub(crate) const FIGURE: Figure = Figure {
    name: "S1.fig16",
    title: "Throughput, by transport, link and channel",
    basis: Basis::Simulated,
    record: VerdictRecord::with_seeds(Verdict::Reproduced, 40),
    mutation: Some(MUTATION),
    run,
};

fn run(figure: &Figure, context: &Context<'_>) -> Result<Finding, ExperimentError> {
    // Ten runs, as in the paper, tell one per cent from nothing, but not from a half.
    let runs = runs::repeated(figure.name, context, runs::many(context.extent))?;
    let of = |runs: &[&VideoRun]| {
        let rates: Vec<f64> = runs.iter().map(|run| run.throughput()).collect();
        (mean(&rates), deviation(&rates))
    };
    let method = format!(
        "{} Throughput is what arrived of the stream, damaged bytes among it, without headers.",
        runs::method(&runs, context)
    );
    let axis = Axis::linear("throughput (kb/s)");
    Ok(Finding {
        inputs: runs::inputs(),
        claims: claims(&runs),
        charts: vec![("", runs::chart(&runs, "Throughput", axis, &of))],
        tables: vec![("", runs::table(&runs))],
        ..figure.finding(context, method)
    })
}

/// The throughput of one combination over that of another on the bad channel, of each seed.
fn ratio(runs: &[SeedRuns], one: usize, other: usize) -> Estimate {
    let of = |run: &SeedRuns, at: usize| run[BAD][at].throughput();
    Estimate::geometric_mean(&each(runs, |run| of(run, one) / of(run, other)))
}

//= S1.50
fn claims(runs: &[SeedRuns]) -> Vec<Claim> {
    let more = || Band::above(1.0, "an ordering");
    vec![
        Claim::paper(
            "S1.50",
            "section 5.2.4: “we expect to see higher throughput for the RLP connections, and this \
             is indeed the case”",
            "RLP has the higher throughput",
        )
        .compare("UDP, bad channel: RLP by non-RLP", ratio(runs, UDP_RLP, UDP), more())
        .compare(
            "UDP-Lite, bad channel: RLP by non-RLP",
            ratio(runs, LITE_RLP, LITE),
            more(),
        ),
        Claim::paper(
            "S1.50",
            "section 5.3: “slightly higher (1%) throughput”",
            "without RLP UDP-Lite has 1 % more throughput than UDP",
        )
        .compare("bad channel: UDP-Lite by UDP", ratio(runs, LITE, UDP), more())
        .compare(
            "bad channel: UDP-Lite by UDP",
            ratio(runs, LITE, UDP),
            Band::between(1.005, 1.015, "1 %, rounded"),
        ),
    ]
}
