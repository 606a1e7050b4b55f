//! Real TCP flows in a cell with one bad station: Figure 12's phases beyond the paper (S3.43).
//!
//! The base station sends video and an FTP to the bad station and an FTP to the good one. What it
//! sends to the bad one is lost at rates that rise step by step, and in the end not at all.

use std::io;

use windfall_base::{Duration, Instant, Seed, Stream};
use windfall_network::{EventKind, Recording};
use windfall_report::{Axis, Chart, Estimate, Mark, Point, Series, Table};
use windfall_scenario::Scenario;
use windfall_scenario::sim::Simulation;

use crate::experiment::{
    Band, Basis, Claim, Context, ExperimentError, ExperimentInput, Extent, Figure, Finding,
    Verdict, VerdictRecord,
};
use crate::link::losses;

pub(crate) const SIMULATED: Figure = Figure {
    name: "S3.43-sim",
    title: "TCP to two stations, one of them bad, by Windfall's TCP in simulated time",
    basis: Basis::Simulated,
    record: VerdictRecord::with_seeds(Verdict::NotComparable, 20),
    mutation: Some(MUTATION),
    run: simulate,
};

/// The mutation of these experiments.
pub(super) const MUTATION: &str = "weighted fair queueing in place of ELF";

/// The cell and its flows.
const SCENARIO: &str =
    include_str!("../../../../../../scenarios/paper-003/location-dependent.toml");
/// The reservation of video in kb/s.
pub(super) const RESERVED: f64 = 352.0;
/// The names of the flows, as the scenario numbers them from 1.
const FLOWS: [&str; 3] = ["video", "FTP1", "FTP2"];
const VIDEO: usize = 0;
const FTP1: usize = 1;
const FTP2: usize = 2;

/// The frames of the last step that count: the lag that they make up for is bounded, so that a
/// longer step would mix them with what follows.
const MADE_UP_FOR: u64 = 700;
/// The interval at which the flows are looked at, in seconds.
pub(super) const INTERVAL: f64 = 0.25;
/// Samples whose mean the chart shows.
const WINDOW: usize = 20;

/// The phases of a run: the losses at the bad station one after the other, each for a
/// number of frames to that station.
#[derive(Clone, Copy, Debug)]
pub(super) struct Phases {
    pub(super) losses: &'static [f64],
    pub(super) frames: u64,
}

impl Phases {
    /// Every step of it.
    pub(super) const WHOLE: &'static [f64] = &[0.0, 0.1, 0.25, 0.5, 0.75, 0.0];
    /// The file that its scenario names.
    pub(super) const TRACE: &'static str = "steps.trace";
    /// The ports of the base station and of the bad one, whose path has the errors.
    pub(super) const PORTS: (u16, u16) = (0, 2);

    /// The scenario, as TOML.
    pub(super) fn scenario(context: &Context<'_>) -> String {
        let trace = format!("\nerror-trace = {:?}\n", Self::TRACE);
        let text = SCENARIO.replace("\nloss = 0\n", &trace);
        if context.is_mutated { text.replace("elf,20", "wfq,20") } else { text }
    }

    /// The frames to the bad station in all steps.
    pub(super) fn end(&self) -> u64 {
        self.frames * self.losses.len() as u64
    }

    /// An error trace that loses frames in random order, as many of each hundred as a step says.
    pub(super) fn trace(&self, seed: Seed) -> String {
        losses::trace(self.losses, self.frames, &mut Stream::new(seed, "steps"))
    }
}

//= S3.43
fn simulate(figure: &Figure, context: &Context<'_>) -> Result<Finding, ExperimentError> {
    let (runs, frames) = match context.extent {
        Extent::Quick => (2, 700),
        Extent::Paper => (20, 2_000),
        Extent::Full => (20, 14_000),
    };
    let phases = Phases { losses: Phases::WHOLE, frames };
    let courses = context.replicate(runs, |seed| run(figure.name, context, seed, phases));
    let courses: Vec<Course> = courses.into_iter().collect::<Result<_, _>>()?;
    let steps = (0..phases.losses.len())
        .map(|step| courses.iter().map(|course| course.rates(step)).collect())
        .collect();
    let method = format!(
        "Three TCP connections (NetBSD 1.2's, windows of 16 kB) from a base station over a \
         polled radio of 2 Mb/s with persistent local retransmission, {runs} times, the first of \
         which is drawn: video, reserving {RESERVED} kb/s at power factor 1.4, and FTP1 to one \
         station, FTP2 to another, at 1.2. {}",
        courses[0].method()
    );
    Ok(Finding {
        inputs: inputs(),
        claims: Rates { losses: phases.losses, steps }.all_claims(),
        charts: vec![("", courses[0].chart())],
        tables: vec![("", courses[0].table())],
        ..figure.finding(context, method)
    })
}

/// The inputs of the experiment, in simulated and in real time.
pub(super) fn inputs() -> Vec<ExperimentInput> {
    vec![
        ExperimentInput::given(
            "flows",
            "video 44 % of the link at power factor 1.4, two FTPs at 1.2",
            "paper 003, section 7, Figure 12; without its audio",
        ),
        ExperimentInput::given(
            "losses",
            "steps of 0, 10, 25, 50, 75 and 0 %",
            "ours: on either side of each crossover",
        ),
    ]
}

/// Simulates all phases.
fn run(
    figure: &'static str,
    context: &Context<'_>,
    seed: Seed,
    phases: Phases,
) -> Result<Course, ExperimentError> {
    let failed = |message: String| ExperimentError::Scenario { figure, message };
    let text = Phases::scenario(context);
    let trace = phases.trace(seed);
    let scenario = Scenario::parse(figure, &text).map_err(|error| failed(error.to_string()))?;
    let read = &mut |name: &str| match name {
        Phases::TRACE => Ok(trace.clone().into_bytes()),
        other => Err(io::Error::other(format!("{other} is none of the figure's files"))),
    };
    let mut topology =
        scenario.topology(0, (figure, &text), read).map_err(|e| failed(e.to_string()))?;
    // Longer than any run; it ends with the last step.
    topology.duration = Duration::from_secs(100_000);
    let mut simulation =
        Simulation::new(&topology, seed).map_err(|error| failed(error.to_string()))?;
    simulation.network_mut().record(Recording { events: true, packets: false });
    let mut frames = 0;
    let mut now = Instant::START;
    let mut course = Course { phases, samples: Vec::new() };
    while course.frames() < phases.end() && now < simulation.end() {
        now = now.saturating_add(Duration::from_secs_f64(INTERVAL));
        // What is observed cannot fail.
        let _ = simulation.run(now, &mut |event| {
            if let EventKind::Medium(event) = &event.what
                && (event.from.0, event.to.0) == Phases::PORTS
                && let Some(number) = event.number
            {
                frames = number + 1;
            }
            Ok(())
        });
        let network = simulation.network();
        let Some(base) = network.interfaces().next() else { break };
        let flows = network.flows(base);
        let bytes = [1, 2, 3].map(|flow| flows.get(flow).map_or(0, |account| account.bytes));
        let seconds = now.as_secs_f64();
        course.samples.push(Sample { seconds, frames, bytes });
    }
    Ok(course)
}

/// The counters of the base station at one moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    pub(super) seconds: f64,
    /// Frames sent to the bad station.
    pub(super) frames: u64,
    /// Bytes acknowledged by the link, flow by flow.
    pub(super) bytes: [u64; 3],
}

/// The course of a run.
pub(super) struct Course {
    pub(super) phases: Phases,
    pub(super) samples: Vec<Sample>,
}

impl Course {
    /// The frames of all samples.
    pub(super) fn frames(&self) -> u64 {
        self.samples.last().map_or(0, |sample| sample.frames)
    }

    /// The throughput of each flow in the last two thirds of a step, in kb/s; no numbers if the
    /// course did not get so far.
    fn rates(&self, step: usize) -> [f64; 3] {
        self.batches(step, 1)[0]
    }

    /// The throughput of each flow in each of `count` equal parts of the last two thirds of a
    /// step, in kb/s.
    pub(super) fn batches(&self, step: usize, count: u64) -> Vec<[f64; 3]> {
        let frames = self.phases.frames;
        let is_last = step + 1 == self.phases.losses.len();
        let counted = if is_last { frames.min(MADE_UP_FOR) } else { frames };
        let start = step as u64 * frames + counted / 3;
        let length = (counted - counted / 3) / count;
        let at = |frame: u64| self.samples.iter().find(|sample| sample.frames >= frame);
        let batch = |number: u64| {
            let from = at(start + number * length);
            match (from, at(start + (number + 1) * length)) {
                (Some(from), Some(to)) => rates(from, to),
                _ => [f64::NAN; 3],
            }
        };
        (0..count).map(batch).collect()
    }

    /// The losses in words.
    fn losses(&self) -> String {
        let each: Vec<_> = self.phases.losses.iter().map(|p| format!("{:.0}", 100.0 * p)).collect();
        each.join(", ")
    }

    /// Describes losses and throughput, for the text below a figure.
    pub(super) fn method(&self) -> String {
        format!(
            "Of what the first station hears {} % are lost, one after the other, for {} \
             frames each. Throughput is counted in acknowledged packets, the first third of a \
             step left out; of the last, whose errors have ended, in at most {MADE_UP_FOR} \
             frames, while what was missed is made up for.",
            self.losses(),
            self.phases.frames
        )
    }

    /// The throughput of each flow in each step.
    pub(super) fn table(&self) -> Table {
        let names = FLOWS.iter().map(|name| format!("{name} (kb/s)"));
        let mut table = Table::new(core::iter::once("lost (%)".to_owned()).chain(names));
        for (step, loss) in self.phases.losses.iter().enumerate() {
            let rates = self.rates(step).map(|rate| format!("{rate:.1}"));
            table.push([format!("{:.0}", 100.0 * loss)].into_iter().chain(rates));
        }
        table
    }

    pub(super) fn chart(&self) -> Chart {
        let mut series: Vec<Series> =
            FLOWS.iter().map(|name| Series::new(*name, Mark::Line, Vec::new())).collect();
        for pair in self.samples.windows(WINDOW + 1).step_by(WINDOW / 4) {
            for (series, rate) in series.iter_mut().zip(rates(&pair[0], &pair[WINDOW])) {
                series.points.push(Point::new(pair[WINDOW].seconds, rate));
            }
        }
        let seconds = WINDOW as f64 * INTERVAL;
        Chart {
            title: "TCP where one of two stations is bad".to_owned(),
            subtitle: format!("means over {seconds} s; losses of {} %", self.losses()),
            x: Axis::linear("time (s)"),
            y: Axis::linear("throughput (kb/s)").from_zero(),
            series,
            rules: Vec::new(),
        }
    }
}

/// The throughput of the flows in each step, in kb/s, each time that it was measured.
pub(super) struct Rates {
    pub(super) losses: &'static [f64],
    pub(super) steps: Vec<Vec<[f64; 3]>>,
}

impl Rates {
    fn mean(&self, step: usize, of: impl Fn(&[f64; 3]) -> f64) -> Estimate {
        Estimate::mean(&self.steps[step].iter().map(of).collect::<Vec<_>>())
    }

    /// The share of its reservation that video has in a step.
    fn video(&self, step: usize) -> Estimate {
        self.mean(step, |rates| rates[VIDEO] / RESERVED)
    }

    /// FTP1's share of what FTP2 has.
    fn ftps(&self, step: usize) -> Estimate {
        self.mean(step, |rates| rates[FTP1] / rates[FTP2])
    }

    /// Holds the order of things in the paper's simulation to these rates; its numbers are not
    /// known.
    fn in_order(&self, claim: Claim) -> Claim {
        let last = self.losses.len() - 1;
        let at = |loss: f64| self.losses.iter().position(|other| *other == loss).unwrap_or(last);
        let [mild, second, third] = [0.1, 0.25, 0.5].map(at);
        let keeps = || Band::from(0.95, "it keeps its rate: ours");
        claim
            .compare("video at 10 %, of its reservation", self.video(mild), keeps())
            .compare("FTP1 / FTP2 at 10 %", self.ftps(mild), Band::near(1.0, 0.1, "equal: ours"))
            .compare("video at 25 %", self.video(second), keeps())
            .compare("FTP1 / FTP2 at 25 %", self.ftps(second), Band::to(0.95, "it loses: ours"))
            .compare("video at 50 %", self.video(third), Band::to(0.9, "it loses: ours"))
            .compare("video when errors have ended", self.video(last), Band::from(1.05, "more"))
            .compare("FTP1 / FTP2 then", self.ftps(last), Band::from(1.05, "more"))
    }

    /// The paper's claim if parts of one run are the samples: values and no verdict.
    pub(super) fn not_judged(&self) -> Claim {
        let in_order = self.in_order(of_paper());
        let each = in_order.comparisons().iter();
        let values: Vec<_> = each.map(|it| format!("{} {:.2}", it.of, it.estimate.value)).collect();
        of_paper().not_comparable(
            values.join(", "),
            "parts of one run in real time are no independent runs",
        )
    }

    /// The claim of the paper, and ours about a simulation and each of its steps.
    pub(super) fn all_claims(&self) -> Vec<Claim> {
        let ours = "in simulated time too the phases of Figure 12 come in their order under TCP";
        let of_paper = of_paper().not_comparable(
            "a simulation",
            "the paper verifies its simulation by the kernel's TCP over its wireless LAN",
        );
        let in_order = self.in_order(Claim::ours("S3.43", ours));
        [of_paper, in_order].into_iter().chain(self.claims(1.0)).collect()
    }

    /// Holds each step to the formulas. `slack` widens the tolerances, where fewer frames than the
    /// thousand of a simulated step were sent.
    pub(super) fn claims(&self, slack: f64) -> Vec<Claim> {
        let last = self.losses.len() - 1;
        let mut claims = Vec::new();
        for (step, &loss) in self.losses.iter().enumerate().take(last) {
            let promise = PROMISES.into_iter().find(|promise| promise.0 == loss);
            claims.extend(promise.map(|promise| self.promised(step, promise, slack)));
        }
        let clean = self.mean(0, |rates| rates[FTP2]).value;
        claims.push(Claim::ours("S3.41", "FTP2 is never starved").compare(
            "at the greatest loss, of what it had without",
            self.mean(last - 1, |rates| rates[FTP2] / clean),
            Band::from(0.4, "not starved: ours"),
        ));
        claims.push(
            Claim::ours(
                "S3.42",
                "when errors end video exceeds its reservation for a time, up to 1.4 times, and \
                 FTP1 gets more than FTP2",
            )
            .compare("video", self.video(last), Band::between(1.05, 1.45, "1.4 and little more"))
            .compare("FTP1 / FTP2", self.ftps(last), Band::from(1.05, "more")),
        );
        claims
    }

    fn promised(&self, step: usize, promise: Promise, slack: f64) -> Claim {
        let (loss, requirement, statement, (of_video, of_ftps)) = promise;
        let band = |power: f64, tolerance: f64| {
            let due = (power * (1.0 - loss)).min(1.0);
            let tolerance = slack * tolerance;
            Band::between(due - tolerance, due + tolerance, "the lesser of 1 and P (1 − E)")
        };
        Claim::ours(requirement, statement)
            .compare("video, of its reservation", self.video(step), band(1.4, of_video))
            .compare("FTP1 / FTP2", self.ftps(step), band(1.2, of_ftps))
    }
}

/// The claim of the paper on TCP: that it confirms the simulation.
fn of_paper() -> Claim {
    Claim::paper("S3.43", VERIFIED, "under TCP the phases of Figure 12 come in their order")
}

/// The words of the paper on TCP, all of them.
const VERIFIED: &str = "section 7: “We have verified these simulation results by inserting the ELF \
                        scheduler into our prototype wireless LAN and measuring the throughput \
                        obtained by the standard kernel TCP stack”";

/// The prediction of equation 1 for video at power factor 1.4 and the FTPs at 1.2: at which loss,
/// for which requirement, in words, and the tolerances.
type Promise = (f64, &'static str, &'static str, (f64, f64));

const PROMISES: [Promise; 3] = [
    (
        0.1,
        "S3.43",
        "at 10 % extra effort makes up for all errors: video keeps its rate, the FTPs share",
        (0.05, 0.1),
    ),
    (
        0.25,
        "S3.30",
        "at 25 % FTP1 is beyond its crossover of 16.7 %, video is not beyond its of 28.6 %: \
         1.2 · (1 − 0.25) = 0.9",
        (0.05, 0.1),
    ),
    (
        0.5,
        "S3.30",
        "at 50 % both are: video gets 1.4 · (1 − 0.5) = 0.7, FTP1 0.6 of FTP2",
        (0.08, 0.12),
    ),
];

/// Throughput between two samples, in kb/s.
fn rates(from: &Sample, to: &Sample) -> [f64; 3] {
    let seconds = (to.seconds - from.seconds).max(1e-9);
    [VIDEO, FTP1, FTP2].map(|flow| (to.bytes[flow] - from.bytes[flow]) as f64 * 8e-3 / seconds)
}
