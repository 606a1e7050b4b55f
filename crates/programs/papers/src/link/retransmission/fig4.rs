//! Figure 4: the packets of TCP at 83 % loss with persistent local retransmission.

use crate::experiment::{
    Band, Basis, Claim, Context, ExperimentError, Extent, Figure, Finding, Verdict, VerdictRecord,
};

use super::bursts::{Burst, Runs, WITH, WITHOUT};
use super::senders::{self, Experiment, Traced};
use super::spray;

pub(crate) const FIGURE: Figure = Figure {
    name: "S3.fig4",
    title: "The packets of TCP at 83 % loss with local retransmission",
    basis: Basis::Both,
    record: VerdictRecord::with_seeds(Verdict::Reproduced, 20),
    mutation: Some("no local retransmission"),
    run,
};

/// No silence of a smooth trace is as long, in seconds: a tick of the paper's timer.
const SMOOTH: f64 = 0.5;
/// The losses of the figure.
const LOSSES: Burst = Burst { lost: 5, of: 6 };
/// The distance from the average rate of the link that still is that rate.
const AT_THE_RATE: f64 = 0.1;

/// The place of the sender with the shortest timer.
const SHORT: usize = 3;

fn run(figure: &Figure, context: &Context<'_>) -> Result<Finding, ExperimentError> {
    let chosen = senders::all(context, true);
    let scenario = if context.is_mutated { WITHOUT } else { WITH };
    let experiment = Experiment { figure: figure.name, scenario };
    let bytes = Runs::of(context.extent).bytes;
    let all = experiment.traces(context, &chosen, LOSSES, bytes)?;
    let full = spray::throughput(context, figure.name, &[Burst { lost: 0, of: 1 }])?;
    let full = full.first().and_then(spray::Sprayed::point).map_or(f64::NAN, |point| point.y);
    let draw = |traced: &Traced| {
        let lost = "five of every six frames are lost";
        traced.chart(Clone::clone, "TCP at 83 % loss with persistent local retransmission", lost)
    };
    let mut tables = vec![("senders", senders::summary(&all))];
    tables.extend(senders::packets(&all));
    let method = format!("{} Seen at the sender's device.", senders::method(&chosen));
    let simulated = all.iter().filter(|traced| !traced.sender.is_kernel()).enumerate();
    // The short timer fires less than once in a transfer: few short ones cannot tell.
    let told = |(place, _): &(usize, &Traced)| *place != SHORT || context.extent != Extent::Quick;
    Ok(Finding {
        inputs: senders::inputs("the last five of each six packets of the data's"),
        claims: simulated
            .filter(told)
            .map(|(place, traced)| smooth(place, traced, (1.0 - LOSSES.loss()) * full))
            .collect(),
        charts: senders::charts(&all, draw),
        tables,
        ..figure.finding(context, method)
    })
}

//= S3.9
/// Claims that a trace has no gaps and the average rate of the link, which is `left` KB/s.
fn smooth(place: usize, traced: &Traced, left: f64) -> Claim {
    let longest = traced.mean(|trace| {
        let (from, to) = trace.sequence.longest_silence().unwrap_or((0.0, f64::INFINITY));
        to - from
    });
    let claim = match place {
        0 => Claim::paper(
            "S3.9",
            "section 3.1, Figure 4: “TCP stabilizes at a rate corresponding to the average \
             throughput of the wireless link”",
            "a smooth trace at the average rate of the link, without timeouts",
        ),
        SHORT => Claim::ours("S3.9", format!("so is that of {}", traced.sender.name))
            .recorded(Verdict::InPart)
            .because("its least timeout is hardly longer than the silences"),
        _ => Claim::ours("S3.9", format!("so is that of {}", traced.sender.name)),
    };
    claim
        .compare(
            "rate to the link's average, which is what it sends of a spray",
            traced.mean(|trace| trace.run.throughput / left),
            Band::near(1.0, AT_THE_RATE, "that rate, within a tenth: as linear is in Figure 3"),
        )
        .compare("timeouts in a transfer", traced.timeouts(), Band::to(0.0, "S3.9: none"))
        .compare("longest silence in s", longest, Band::to(SMOOTH, "a tick of the paper's timer"))
}
