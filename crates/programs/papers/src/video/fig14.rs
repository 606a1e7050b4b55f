//! Figure 14: the time from one packet's arrival to the next.

use windfall_report::{Axis, Estimate};

use crate::experiment::{
    Band, Basis, Claim, Context, ExperimentError, Figure, Finding, Verdict, VerdictRecord,
};
use crate::video::combination::{BAD, CHANNELS, LITE, LITE_RLP, NAMES, UDP, UDP_RLP};
use crate::video::runs::{self, MUTATION, SeedRuns, VideoRun, deviation, each, mean, pooled};

pub(crate) const FIGURE: Figure = Figure {
    name: "S1.fig14",
    title: "Time between arrivals, by transport, link and channel",
    basis: Basis::Simulated,
    record: VerdictRecord::with_seeds(Verdict::Reproduced, 10),
    mutation: Some(MUTATION),
    run,
};

fn run(figure: &Figure, context: &Context<'_>) -> Result<Finding, ExperimentError> {
    let runs = runs::all(figure.name, context)?;
    let of = |runs: &[&VideoRun]| {
        let gaps = pooled(runs, VideoRun::gaps);
        (mean(&gaps), deviation(&gaps))
    };
    let axis = Axis::linear("time between arrivals (s)").from_zero();
    Ok(Finding {
        inputs: runs::inputs(),
        claims: claims(&runs),
        charts: vec![("", runs::chart(&runs, "Time between arrivals", axis, &of))],
        tables: vec![("", runs::table(&runs))],
        ..figure.finding(context, runs::method(&runs, context))
    })
}

/// A measure of one combination over that of another, of each seed.
fn ratio(
    runs: &[SeedRuns],
    channel: usize,
    one: usize,
    other: usize,
    of: fn(&[f64]) -> f64,
) -> Estimate {
    let measure = |run: &SeedRuns, at: usize| of(&run[channel][at].gaps());
    Estimate::geometric_mean(&each(runs, |run| measure(run, one) / measure(run, other)))
}

//= S1.48
fn claims(runs: &[SeedRuns]) -> Vec<Claim> {
    let mut constant = Claim::paper(
        "S1.48",
        "section 5.2.2: “packet inter-arrival time is remarkably constant across all \
         combinations”",
        "the mean time between arrivals is the same for all combinations",
    );
    for (channel, (_, name)) in CHANNELS.iter().enumerate() {
        for other in [LITE_RLP, UDP, LITE] {
            let label = format!("{name}: {} by {}", NAMES[other], NAMES[UDP_RLP]);
            let band = Band::near(1.0, 0.07, "within a few per cent: at most seven");
            constant = constant.compare(label, ratio(runs, channel, other, UDP_RLP, mean), band);
        }
    }
    vec![
        constant.because("what is lost widens the mean by its share"),
        Claim::paper(
            "S1.48",
            "section 5.2.2: “the range of inter-arrival times is larger for RLP (introduced by \
             re-transmissions) than for non-RLP”",
            "the times between arrivals vary more with RLP",
        )
        .compare(
            "UDP, bad channel: standard deviation, RLP by non-RLP",
            ratio(runs, BAD, UDP_RLP, UDP, deviation),
            Band::above(1.0, "an ordering"),
        )
        .compare(
            "UDP-Lite, bad channel: standard deviation, RLP by non-RLP",
            ratio(runs, BAD, LITE_RLP, LITE, deviation),
            Band::above(1.0, "an ordering"),
        ),
    ]
}
