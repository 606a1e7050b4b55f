//! Figure 13: the delay from end to end.

use windfall_report::{Axis, Estimate};

use crate::experiment::{
    Band, Basis, Claim, Context, ExperimentError, Figure, Finding, Verdict, VerdictRecord,
};
use crate::video::combination::{BAD, CHANNELS, GOOD, LITE, LITE_RLP, UDP, UDP_RLP};
use crate::video::runs::{self, MUTATION, SeedRuns, VideoRun, deviation, each, mean, pooled};

pub(crate) const FIGURE: Figure = Figure {
    name: "S1.fig13",
    title: "Delay from end to end, by transport, link and channel",
    basis: Basis::Simulated,
    record: VerdictRecord::with_seeds(Verdict::NotReproduced, 10),
    mutation: Some(MUTATION),
    run,
};

fn run(figure: &Figure, context: &Context<'_>) -> Result<Finding, ExperimentError> {
    let runs = runs::all(figure.name, context)?;
    let synchronous = runs::synchronous(figure.name, context)?;
    let axis = Axis::linear("delay (s)").from_zero();
    let of = |runs: &[&VideoRun]| {
        let delays = pooled(runs, VideoRun::delays);
        (mean(&delays), deviation(&delays))
    };
    let method = format!(
        "{} The delay is that from the picture's instant to the arrival of the last block of the \
         packet; packets that are lost have none.",
        runs::method(&runs, context)
    );
    Ok(Finding {
        inputs: runs::inputs(),
        claims: claims(&runs, &synchronous),
        charts: vec![("", runs::chart(&runs, "Delay from end to end", axis, &of))],
        tables: vec![("", runs::table(&runs))],
        ..figure.finding(context, method)
    })
}

/// The mean delay of one combination over that of another, of each seed.
fn ratio(runs: &[SeedRuns], channel: usize, one: usize, other: usize) -> Estimate {
    let delay = |run: &SeedRuns, at: usize| mean(&run[channel][at].delays());
    Estimate::geometric_mean(&each(runs, |run| delay(run, one) / delay(run, other)))
}

//= S1.47
//= S1.61
fn claims(runs: &[SeedRuns], synchronous: &[[VideoRun; 2]]) -> Vec<Claim> {
    let mut smaller = Claim::paper(
        "S1.47",
        "section 5.2.1: “the mean delay of the non-RLP connection, for both UDP and UDP Lite, is \
         smaller than the mean delay of the RLP connection”",
        "without RLP the mean delay is smaller",
    );
    for (channel, (_, name)) in CHANNELS.iter().enumerate() {
        for (way, by, transport) in [(UDP, UDP_RLP, "UDP"), (LITE, LITE_RLP, "UDP-Lite")] {
            let label = format!("{transport}, {name}: non-RLP by RLP");
            smaller = smaller.compare(label, ratio(runs, channel, way, by), less());
        }
    }
    let quarter = |reason: &str| Band::between(0.64, 0.84, reason);
    vec![
        smaller.recorded(Verdict::NotReproduced).because(
            "ten bits for each byte fill 960 bytes a second, RLP's frames 1200: the same packet is \
             a quarter longer on the asynchronous line, which outweighs the retransmissions",
        ),
        Claim::paper(
            "S1.47",
            "section 5.3: “UDP Lite (with non-RLP) provides 26% less end-to-end delay”",
            "UDP-Lite without RLP has 26 % less delay than UDP over RLP",
        )
        .compare(
            "bad channel: UDP Lite / non-RLP by UDP / RLP",
            ratio(runs, BAD, LITE, UDP_RLP),
            quarter("26 % less, the requirement's 10 points about it"),
        )
        .recorded(Verdict::NotReproduced)
        .because("as above"),
        Claim::paper(
            "S1.61",
            "section 5.3: “26% less end-to-end delay … than UDP”",
            "UDP-Lite without RLP has 26 % less delay than UDP without RLP",
        )
        .compare(
            "bad channel: UDP Lite by UDP, both non-RLP",
            ratio(runs, BAD, LITE, UDP),
            quarter("26 % less, read against UDP on the same link"),
        )
        .recorded(Verdict::NotReproduced)
        .because("nothing that UDP-Lite does changes when a packet arrives"),
        Claim::ours("S1.47", "where no start and stop bits are, the delay is smaller without RLP")
            .compare(
                "UDP, bad channel: synchronous by RLP",
                at_one_rate(runs, synchronous),
                less(),
            ),
        Claim::ours("S1.47", "retransmissions cost delay: the bad channel delays RLP more")
            .compare(
                "UDP / RLP: bad by good channel",
                across(runs, UDP_RLP),
                Band::above(1.0, "an ordering"),
            ),
        Claim::ours("S1.47", "without RLP the delay does not depend on the channel").compare(
            "UDP / non-RLP: bad by good channel",
            across(runs, UDP),
            Band::near(1.0, 0.01, "constant delay: paper 001, section 2.3.2"),
        ),
    ]
}

/// The mean delay of a synchronous line over that of RLP, on the bad channel.
fn at_one_rate(runs: &[SeedRuns], synchronous: &[[VideoRun; 2]]) -> Estimate {
    let pairs = runs.iter().zip(synchronous);
    let of = |(run, line): (&SeedRuns, &[VideoRun; 2])| {
        mean(&line[0].delays()) / mean(&run[BAD][UDP_RLP].delays())
    };
    Estimate::geometric_mean(&pairs.map(of).collect::<Vec<_>>())
}

/// The mean delay of a combination on the bad channel over that on the good one.
fn across(runs: &[SeedRuns], combination: usize) -> Estimate {
    let delay = |run: &SeedRuns, channel: usize| mean(&run[channel][combination].delays());
    Estimate::geometric_mean(&each(runs, |run| delay(run, BAD) / delay(run, GOOD)))
}

fn less() -> Band {
    Band::below(1.0, "an ordering")
}
