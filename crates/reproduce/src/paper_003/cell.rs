//! Real TCP flows in a cell with one bad station: Figure 12's story beyond the paper (S3.43).
//!
//! The base station sends video and an FTP to the bad station and an FTP to the good one. What it
//! sends to the bad one is lost at rates that rise step by step, and in the end not at all.

use std::fmt::Write as _;
use std::io;

use windfall_base::{Duration, Instant, Seed, Stream};
use windfall_report::{Axis, Chart, Claim, Finding, Mark, Point, Series, Verdict};
use windfall_scenario::Scenario;
use windfall_sim::Simulation;

use crate::error::Error;
use crate::figure::{Basis, Context, Effort, Figure};

pub(crate) const SIMULATED: Figure = Figure {
    name: "S3.43-sim",
    title: "TCP to two stations, one of them bad, by Windfall's TCP in simulated time",
    basis: Basis::Simulated,
    expected: Verdict::Reproduced,
    run: simulate,
};

/// The cell and its flows.
pub(super) const SCENARIO: &str =
    include_str!("../../../../scenarios/paper-003/location-dependent.toml");
/// What video reserves, in kb/s.
pub(super) const RESERVED: f64 = 352.0;
/// The names of the flows, as the scenario numbers them from 1.
pub(super) const FLOWS: [&str; 3] = ["video", "FTP1", "FTP2"];
pub(super) const VIDEO: usize = 0;
pub(super) const FTP1: usize = 1;
pub(super) const FTP2: usize = 2;

/// The loss at the bad station, step by step.
const STEPS: [f64; 6] = [0.0, 0.1, 0.25, 0.5, 0.75, 0.0];
/// How often the simulation is looked at.
const GLANCE: Duration = Duration::from_millis(250);

/// The throughput of each flow in kb/s during each step.
type Rates = Vec<[f64; 3]>;

//= S3.43
fn simulate(figure: &Figure, context: &Context<'_>) -> Result<Finding, Error> {
    let frames = match context.effort {
        Effort::Quick => 1_000,
        Effort::Paper => 3_000,
        Effort::Full => 20_000,
    };
    let course = Course::run(figure.name, context.seed, frames)?;
    let rates: Rates = (0..STEPS.len()).map(|step| course.rates(step, frames)).collect();
    Ok(Finding {
        figure: figure.name,
        title: figure.title.to_owned(),
        method: format!(
            "Three TCP connections (NetBSD 1.2's TCP, windows of 16 kB) from a base station over a \
             polled radio of 2 Mb/s with persistent local retransmission: video, reserving \
             {RESERVED} kb/s at power factor 1.4, and FTP1 to one station, FTP2 to another, at \
             1.2. Of what the first station hears a share is lost that changes every {frames} \
             frames. Throughput is counted in acknowledged packets, the first third of a step left \
             out."
        ),
        claims: claims(&rates),
        expected: figure.expected,
        charts: vec![("", course.chart())],
        tables: Vec::new(),
        provenance: figure.provenance(context),
    })
}

/// What Figure 12's prose says, of TCP.
fn claims(rates: &Rates) -> Vec<Claim> {
    let share = |step: usize, flow: usize| rates[step][flow] / RESERVED;
    let ftps = |step: usize| rates[step][FTP1] / rates[step][FTP2].max(1e-9);
    let claim = |requirement, paper: &str, measured: String, holds| Claim {
        requirement,
        paper: paper.to_owned(),
        measured,
        verdict: Verdict::of(holds),
    };
    let shown = |step: usize| {
        format!(
            "video {:.2} of its reservation, FTP1 {:.2} of FTP2",
            share(step, VIDEO),
            ftps(step)
        )
    };
    vec![
        claim(
            "S3.43",
            "at 10 % extra effort makes up for all errors: video keeps its rate, the FTPs share",
            shown(1),
            (share(1, VIDEO) - 1.0).abs() < 0.05 && (ftps(1) - 1.0).abs() < 0.1,
        ),
        claim(
            "S3.30",
            "at 25 % FTP1 is beyond its crossover of 16.7 %, video is not beyond its of 28.6 %: \
             1.2 · (1 − 0.25) = 0.9",
            shown(2),
            (share(2, VIDEO) - 1.0).abs() < 0.05 && (ftps(2) - 0.9).abs() < 0.1,
        ),
        claim(
            "S3.30",
            "at 50 % both are: video gets 1.4 · (1 − 0.5) = 0.7, FTP1 0.6 of FTP2",
            shown(3),
            (share(3, VIDEO) - 0.7).abs() < 0.08 && (ftps(3) - 0.6).abs() < 0.12,
        ),
        claim(
            "S3.41",
            "FTP2 is never starved",
            format!("{:.0} kb/s at 75 % loss, {:.0} without", rates[4][FTP2], rates[0][FTP2]),
            rates[4][FTP2] > 0.4 * rates[0][FTP2],
        ),
        claim(
            "S3.42",
            "when errors end video exceeds its reservation, up to 1.4 times, and FTP1 gets more \
             than FTP2",
            shown(5),
            (1.05..1.45).contains(&share(5, VIDEO)) && ftps(5) > 1.05,
        ),
    ]
}

/// The bytes of each flow that were acknowledged, and the frames sent, over time.
struct Course {
    glances: Vec<(f64, u64, [u64; 3])>,
}

impl Course {
    fn run(figure: &'static str, seed: Seed, frames: u64) -> Result<Self, Error> {
        let failed = |message: String| Error::Scenario { figure, message };
        let text = SCENARIO.replace("\nloss = 0\n", "\nerror-trace = \"steps.trace\"\n");
        let scenario = Scenario::parse(figure, &text).map_err(|error| failed(error.to_string()))?;
        let trace = trace(seed, frames);
        let read = &mut |name: &str| match name {
            "steps.trace" => Ok(trace.clone().into_bytes()),
            other => Err(io::Error::other(format!("{other} is none of the figure's files"))),
        };
        let mut topology =
            scenario.topology(0, (figure, &text), read).map_err(|e| failed(e.to_string()))?;
        // Longer than any run; it ends with the last step.
        topology.duration = Duration::from_secs(100_000);
        let mut simulation =
            Simulation::new(&topology, seed).map_err(|error| failed(error.to_string()))?;
        let end = frames * STEPS.len() as u64;
        let (mut now, mut glances) = (Instant::START, Vec::new());
        while glances.last().is_none_or(|(_, sent, _)| *sent < end) && now < simulation.end() {
            now = now.saturating_add(GLANCE);
            // Nothing is observed that could fail.
            let _ = simulation.run(now, &mut |_| Ok(()));
            let network = simulation.network();
            let Some(base) = network.interfaces().next() else { break };
            let flows = network.flows(base);
            let bytes = [1, 2, 3].map(|flow| flows.get(flow).map_or(0, |account| account.bytes));
            glances.push((now.as_secs_f64(), network.ledger(base).frames, bytes));
        }
        Ok(Self { glances })
    }

    /// The throughput of each flow in the last two thirds of a step.
    fn rates(&self, step: usize, frames: u64) -> [f64; 3] {
        let (start, end) = (step as u64 * frames + frames / 3, (step as u64 + 1) * frames);
        let at = |frame: u64| self.glances.iter().find(|(_, sent, _)| *sent >= frame);
        match (at(start), at(end)) {
            (Some(from), Some(to)) => rates(from, to),
            _ => [0.0; 3],
        }
    }

    fn chart(&self) -> Chart {
        // Means over five seconds.
        let window = 20;
        let mut series: Vec<Series> =
            FLOWS.iter().map(|name| Series::new(*name, Mark::Line, Vec::new())).collect();
        for pair in self.glances.windows(window + 1).step_by(window / 4) {
            let rates = rates(&pair[0], &pair[window]);
            for (series, rate) in series.iter_mut().zip(rates) {
                series.points.push(Point::new(pair[window].0, rate));
            }
        }
        Chart {
            title: "TCP where one of two stations is bad".to_owned(),
            subtitle: "means over 5 s; losses of 0, 10, 25, 50, 75 and again 0 %".to_owned(),
            x: Axis::linear("time (s)"),
            y: Axis::linear("throughput (kb/s)").from_zero(),
            series,
            rules: Vec::new(),
        }
    }
}

/// Throughput between two glances, in kb/s.
fn rates(from: &(f64, u64, [u64; 3]), to: &(f64, u64, [u64; 3])) -> [f64; 3] {
    let seconds = (to.0 - from.0).max(1e-9);
    [VIDEO, FTP1, FTP2].map(|flow| (to.2[flow] - from.2[flow]) as f64 * 8e-3 / seconds)
}

/// An error trace that loses frames at random, `frames` at each rate.
fn trace(seed: Seed, frames: u64) -> String {
    let mut random = Stream::new(seed, "steps");
    let mut text =
        String::from("{\"format\":\"windfall-error-trace\",\"version\":1,\"unit\":\"frame\"}\n");
    let (mut whole, mut number) = (0_u64, 0_u64);
    for rate in STEPS {
        for _ in 0..frames {
            number += 1;
            if (random.bits() >> 11) as f64 / (1_u64 << 53) as f64 >= rate {
                whole += 1;
                continue;
            }
            if whole > 0 {
                // Writing to a string cannot fail.
                let _ = writeln!(text, "{whole}");
            }
            text.push_str("l 1\n");
            whole = 0;
        }
    }
    // The figure ends before the trace begins again.
    let rest = whole + frames;
    let _ = writeln!(text, "{rest}\nend {}", number + frames);
    text
}
