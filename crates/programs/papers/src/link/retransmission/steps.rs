//! Section 3.2.2: a link whose errors grow and end, and what TCP makes of it (S3.11).

use windfall_base::{DropReason, Duration, Instant, Seed, Stream};
use windfall_report::{Axis, Chart, Estimate, Mark, Point, Series, Table};
use windfall_scenario::sim::Simulation;
use windfall_scenario::{Arq, Scenario, without_span};

use crate::experiment::{
    Band, Basis, Claim, Context, ExperimentError, ExperimentInput, Extent, Figure, Finding,
    Verdict, VerdictRecord,
};
use crate::link::losses;

pub(crate) const FIGURE: Figure = Figure {
    name: "S3.steps",
    title: "TCP over a link whose errors leave a quarter of it, and then end",
    basis: Basis::Simulated,
    record: VerdictRecord::with_seeds(Verdict::Reproduced, 20),
    mutation: Some("no local retransmission"),
    run,
};

const SCENARIO: &str = include_str!("../../../../../../scenarios/paper-003/tcp-over-steps.toml");
/// The name under which the scenario finds its losses.
const TRACE: &str = "steps.trace";
/// The losses of the three steps.
const LOSSES: [f64; 3] = [0.0, 0.75, 0.0];
/// The interfaces of the path, in order: the server's, the base's two, the mobile's.
const AIR: usize = 2;
/// Samples of the connection are as far apart.
const INTERVAL: Duration = Duration::from_millis(250);
/// The rate of the link in KB/s of data: 0.8 Mb/s for full packets, 1448 bytes of 1500 in each.
const FULL: f64 = 100.0 * 1448.0 / 1500.0;
/// The share of a rate that TCP must reach.
const ENOUGH: f64 = 0.85;

/// The counters at one moment.
#[derive(Clone, Copy, Debug, Default)]
struct Sample {
    seconds: f64,
    frames: u64,
    kilobytes: f64,
    refused: u64,
    retransmitted: u64,
    reductions: u64,
}

/// The throughput and the losses of one step.
#[derive(Clone, Copy, Debug, Default)]
struct Step {
    /// KB/s, after the first third of the step.
    rate: f64,
    /// Packets that the queue before the radio refused, in the first step after its first third.
    refused: f64,
    /// Segments that TCP sent again.
    retransmitted: f64,
    /// Reductions of its congestion window.
    reductions: f64,
}

//= S3.11
fn run(figure: &Figure, context: &Context<'_>) -> Result<Finding, ExperimentError> {
    let (runs, frames) = match context.extent {
        Extent::Quick => (3, 1_000),
        Extent::Paper => (20, 2_000),
        Extent::Full => (60, 4_000),
    };
    let courses = context.replicate(runs, |seed| course(figure, context, seed, frames));
    let courses: Vec<Vec<Sample>> = courses.into_iter().collect::<Result<_, _>>()?;
    let steps: Vec<[Step; 3]> = courses.iter().map(|course| steps(course, frames)).collect();
    let method = format!(
        "TCP from a server 50 ms away over a base station whose radio retransmits, in simulated \
         time; {runs} transfers. Of the frames of the radio as many are lost as each step says, \
         at random, for {frames} frames. Rates are those after the first third of a step."
    );
    Ok(Finding {
        inputs: inputs(),
        claims: claims(&steps),
        charts: vec![("", chart(&courses[0]))],
        tables: vec![("", table(&courses[0]))],
        ..figure.finding(context, method)
    })
}

fn inputs() -> Vec<ExperimentInput> {
    let losses = LOSSES.map(|loss| format!("{:.0} %", 100.0 * loss)).join(", ");
    vec![
        ExperimentInput::given("losses", losses, "ours: the paper has words, and no numbers"),
        ExperimentInput::given(
            "queue",
            "6 packets, a window of 11",
            "ours: it must hold what waits without errors, and not the window",
        ),
    ]
}

fn claims(steps: &[[Step; 3]]) -> Vec<Claim> {
    let mean =
        |of: &dyn Fn(&[Step; 3]) -> f64| Estimate::mean(&steps.iter().map(of).collect::<Vec<_>>());
    let left = 1.0 - LOSSES[1];
    let enough = || Band::from(ENOUGH, "TCP uses what there is: our reading");
    vec![
        Claim::paper(
            "S3.11",
            "section 3.2.2: “The queue will drain more slowly and will eventually overflow, \
             causing packets to be lost”",
            "when errors grow a queue that is shorter than the window, as it must be for that, \
             overflows",
        )
        .stated(
            format!(
                "packets refused, more than without errors: {:.1}",
                mean(&|it| it[1].refused - it[0].refused).value
            ),
            Verdict::ByConstruction,
        )
        .recorded(Verdict::ByConstruction)
        .because("queue and window were chosen so that a quarter of the rate overflows them"),
        Claim::paper(
            "S3.11",
            "section 3.2.2: “TCP will back off and retransmit the lost packets … exactly the \
             right response”",
            "TCP reduces its window, retransmits what was refused and fits what the errors leave",
        )
        .compare(
            "reductions of the window",
            mean(&|it| it[1].reductions - it[0].reductions),
            Band::from(1.0, "one more at least than without errors"),
        )
        .compare("segments sent again", mean(&|it| it[1].retransmitted), Band::from(1.0, "some"))
        .compare(
            "share used of the link's rate that the errors leave",
            mean(&|it| it[1].rate / (left * FULL)),
            Band::between(ENOUGH, 1.0, "TCP uses what there is: our reading"),
        ),
        Claim::paper(
            "S3.11",
            "section 3.2.2: “periodic probes by TCP senders will discover and start using the \
             excess bandwidth”",
            "when errors end TCP finds and uses the excess",
        )
        .compare("share of the rate before", mean(&|it| it[2].rate / it[0].rate), enough()),
    ]
}

/// Simulates one transfer through all steps.
fn course(
    figure: &Figure,
    context: &Context<'_>,
    seed: Seed,
    frames: u64,
) -> Result<Vec<Sample>, ExperimentError> {
    let mut simulation = build(figure.name, context, seed, frames)?;
    let mut samples = vec![Sample::default()];
    let end = frames * LOSSES.len() as u64;
    let mut now = Instant::START;
    while samples.last().is_none_or(|last| last.frames < end) && now < simulation.end() {
        now = now.saturating_add(INTERVAL);
        // Nothing is observed that could fail.
        let _ = simulation.run(now, &mut |_| Ok(()));
        samples.push(sample(&simulation, now));
    }
    Ok(samples)
}

fn build(
    figure: &'static str,
    context: &Context<'_>,
    seed: Seed,
    frames: u64,
) -> Result<Simulation, ExperimentError> {
    let failed = |message: String| ExperimentError::Scenario { figure, message };
    let mut scenario =
        Scenario::parse(figure, SCENARIO).map_err(|error| failed(error.to_string()))?;
    if let Some(air) = scenario.links.last_mut() {
        let arq = if context.is_mutated { Arq::None } else { Arq::Persistent };
        air.both.arq = Some(without_span(arq));
        air.uplink.error_trace = Some(without_span(TRACE.into()));
    }
    for app in &mut scenario.apps {
        let start = Stream::new(seed, "start of the transfer").below(1_000);
        app.start = Some(without_span(Duration::from_millis(start)));
    }
    let trace = losses::trace(&LOSSES, frames, &mut Stream::new(seed, "steps"));
    let read = &mut |_: &str| Ok(trace.clone().into_bytes());
    let topology =
        scenario.topology(0, (figure, SCENARIO), read).map_err(|e| failed(e.to_string()))?;
    Simulation::new(&topology, seed).map_err(|error| failed(error.to_string()))
}

fn sample(simulation: &Simulation, now: Instant) -> Sample {
    let network = simulation.network();
    let mobile = network.station(2);
    let reports = mobile.map(|mobile| mobile.reports(now).flatten().collect::<Vec<_>>());
    let received = reports.into_iter().flatten().find(|(name, _)| *name == "received_bytes");
    let operations = network
        .station(0)
        .and_then(|server| server.connections().next().map(|it| *it.operations()))
        .unwrap_or_default();
    let ledger = network.interfaces().nth(AIR).map(|air| network.ledger(air));
    Sample {
        seconds: now.as_secs_f64(),
        frames: ledger.map_or(0, |ledger| ledger.packets.frames),
        kilobytes: received.map_or(0.0, |(_, bytes)| bytes.number() / 1e3),
        refused: ledger.map_or(0, |ledger| ledger.drops.of(DropReason::QueueFull)),
        retransmitted: operations.retransmissions,
        reductions: operations.reductions,
    }
}

/// Divides a course by the frames of its steps.
fn steps(course: &[Sample], frames: u64) -> [Step; 3] {
    let at = |frame: u64| course.iter().find(|sample| sample.frames >= frame).copied();
    [0, 1, 2].map(|step| {
        let begin = step * frames;
        // What a course did not come to counts as nothing.
        let (Some(from), Some(settled), Some(to)) =
            (at(begin), at(begin + frames / 3), at(begin + frames))
        else {
            return Step::default();
        };
        // The connection begins with bursts that are no answer to errors.
        let from = if step == 0 { settled } else { from };
        Step {
            rate: (to.kilobytes - settled.kilobytes) / (to.seconds - settled.seconds),
            refused: (to.refused - from.refused) as f64,
            retransmitted: (to.retransmitted - from.retransmitted) as f64,
            reductions: (to.reductions - from.reductions) as f64,
        }
    })
}

fn table(course: &[Sample]) -> Table {
    let names = ["time s", "frames sent", "received kB", "packets refused", "segments sent again"];
    let mut table = Table::new(names);
    for Sample { seconds, frames, kilobytes, refused, retransmitted, .. } in course {
        table.push([
            format!("{seconds:.2}"),
            frames.to_string(),
            format!("{kilobytes:.1}"),
            refused.to_string(),
            retransmitted.to_string(),
        ]);
    }
    table
}

fn chart(course: &[Sample]) -> Chart {
    let points = |of: &dyn Fn(&Sample) -> f64| {
        course.iter().map(|sample| Point::new(sample.seconds, of(sample))).collect()
    };
    let refused = points(&|sample| sample.refused as f64 * 1.5);
    Chart {
        title: "TCP over a link whose errors grow and end".to_owned(),
        subtitle: "three quarters of the frames lost in the middle third of them".to_owned(),
        x: Axis::linear("time (s)"),
        y: Axis::linear("data (kB)").from_zero(),
        series: vec![
            Series::new("received", Mark::Line, points(&|sample| sample.kilobytes)),
            Series::new("refused by the full queue, so far", Mark::Line, refused),
        ],
        rules: Vec::new(),
    }
}
