//! Sections 2 and 4.5: what rare acknowledgments do to the sender (S2.11).

use windfall_base::Seed;
use windfall_experiment::{
    Basis, Claim, Context, ExperimentError, Extent, Figure, Finding, Verdict, VerdictRecord,
};
use windfall_report::{Axis, Chart, Mark, Point, Series, Table};

use windfall_experiment::simulated::{Transfer, Transferred};

pub(crate) const FIGURE: Figure = Figure {
    name: "S2.11",
    title: "What acknowledging rarely does to the sender",
    basis: Basis::Simulated,
    record: VerdictRecord::with_seeds(Verdict::Reproduced, 1),
    mutation: None,
    run,
};

const SCENARIO: &str =
    include_str!("../../../../scenarios/paper-002/stretched-acknowledgments.toml");
/// Bytes of a transfer.
const BYTES: u64 = 2_000_000;
/// Kilobytes after which the growth of the window is looked at.
const EARLY: f64 = 500.0;

/// Seconds of the growth that are drawn.
const SHOWN: f64 = 10.0;

/// A policy of acknowledging, with and without counting bytes, and with a hasty timer.
struct Policy {
    name: &'static str,
    /// Settings with acknowledgments counted, with bytes counted, and with a least timeout of 200
    /// ms where bytes are counted; the first two have one of 1 s.
    settings: [&'static str; 3],
}

macro_rules! policy {
    ($name:literal, $acks:literal) => {
        Policy {
            name: $name,
            settings: [
                policy!(@ $acks, "min-rto=1s, byte-counting=off"),
                policy!(@ $acks, "min-rto=1s"),
                policy!(@ $acks, "min-rto=200ms"),
            ],
        }
    };
    (@ $acks:literal, $rest:literal) => {
        concat!("sack, send-buffer=512KiB, receive-buffer=64KiB, delayed-ack=", $acks, ", ", $rest)
    };
}

/// From the most frequent to the rarest.
const POLICIES: [Policy; 6] = [
    policy!("every segment", "off"),
    policy!("every second segment, 40 ms", "every:2:40ms"),
    policy!("by traffic, up to 16 segments", "traffic:16"),
    policy!("every eighth segment, 500 ms", "every:8:500ms"),
    policy!("every 100 ms", "time:100ms"),
    policy!("every 500 ms", "time:500ms"),
];
/// The place of what RFC 9293 asks for, and of what the paper recommends.
const STANDARD: usize = 1;
const STRETCHED: usize = 5;

/// The probability that a packet is lost, in per cent.
const LOSSES: [f64; 4] = [0.0, 0.5, 1.0, 3.0];
/// The place of the loss that a statement is about, and of none.
const ONE: usize = 2;
const NONE: usize = 0;

/// The effects of one policy.
struct Effects {
    policy: &'static str,
    /// Acknowledgments for a data segment.
    acks: f64,
    /// Segments that leave at one moment: the most, and the mean over segments.
    burst: (usize, f64),
    /// Seconds until [`EARLY`] is acknowledged, with acknowledgments and with bytes counted.
    early: [f64; 2],
    /// Kilobytes acknowledged over time without losses, with ACKs and with bytes counted.
    growth: [Vec<(f64, f64)>; 2],
    /// Timeouts without a loss, with the hasty timer.
    false_timeouts: u64,
    /// KB/s at each of [`LOSSES`], and the timeouts of all those transfers for each loss repaired.
    throughput: Vec<f64>,
    timeouts: f64,
}

fn run(figure: &Figure, context: &Context<'_>) -> Result<Finding, ExperimentError> {
    let runs = match context.extent {
        Extent::Quick => 3,
        Extent::Paper => 20,
        Extent::Full => 100,
    };
    let mut effects = Vec::new();
    for policy in &POLICIES {
        (context.progress)(policy.name);
        effects.push(measure(figure.name, context.seed, policy, runs)?);
    }
    let method = format!(
        "Transfers of 2 MB by Windfall's TCP (Reno's law, SACK, a window of 64 KiB) in \
         simulated time over 5 Mb/s and 20 ms of round trip; the receiver acknowledges as \
         said, and at once what is out of order. A burst is what leaves the host at one \
         moment. The growth of the window is seen in the time until {EARLY} kB are \
         acknowledged, with a step for each acknowledgment or for bytes (RFC 3465). With \
         losses, {runs} transfers a point. A window that is used up waits for the timed \
         acknowledgment, which bounds what time-based policies achieve: 64 KiB in 500 ms are \
         131 KB/s, and the window has to grow there first."
    );
    Ok(Finding {
        claims: claims(&effects),
        charts: vec![("", chart(&effects)), ("growth", growth(&effects))],
        tables: vec![("", table(&effects))],
        ..figure.finding(context, method)
    })
}

fn transfer(
    figure: &'static str,
    tcp: &'static str,
    loss: f64,
    seed: Seed,
) -> Result<Transferred, ExperimentError> {
    let uplink = if loss > 0.0 { format!("loss = {}", loss / 100.0) } else { String::new() };
    Transfer { figure, scenario: SCENARIO, uplink, tcp, bytes: BYTES, seed }.run()
}

fn measure(
    figure: &'static str,
    seed: Seed,
    policy: &Policy,
    runs: u64,
) -> Result<Effects, ExperimentError> {
    let [counting_acks, counting_bytes, hasty] = policy.settings;
    let clean = transfer(figure, counting_bytes, 0.0, seed)?;
    let slow = transfer(figure, counting_acks, 0.0, seed)?;
    let mut throughput = Vec::new();
    let mut timeouts = 0;
    let mut repaired = 0;
    for loss in LOSSES {
        let mut sum = 0.0;
        for run in 0..runs {
            let seed = Seed(seed.0.wrapping_add(run));
            let done = transfer(figure, counting_bytes, loss, seed)?;
            sum += done.throughput();
            timeouts += done.operations.timeouts;
            repaired += done.operations.retransmissions;
        }
        throughput.push(sum / runs as f64);
    }
    let data = clean.sequence.sent.len().max(1) as f64;
    Ok(Effects {
        policy: policy.name,
        acks: clean.sequence.acknowledged.len() as f64 / data,
        burst: bursts(&clean.sequence.sent),
        early: [&slow, &clean].map(|done| reached(done, EARLY)),
        growth: [slow, clean].map(|done| done.sequence.acknowledged),
        false_timeouts: transfer(figure, hasty, 0.0, seed)?.operations.timeouts,
        throughput,
        timeouts: timeouts as f64 / repaired.max(1) as f64,
    })
}

/// Segments that left at one moment: the most, and the mean as a segment sees it.
fn bursts(sent: &[(f64, f64)]) -> (usize, f64) {
    let sizes: Vec<usize> = sent.chunk_by(|a, b| a.0 == b.0).map(<[_]>::len).collect();
    let squares: usize = sizes.iter().map(|size| size * size).sum();
    (sizes.iter().copied().max().unwrap_or(0), squares as f64 / sent.len().max(1) as f64)
}

/// Returns the time after which a number of kilobytes was acknowledged, in seconds.
fn reached(done: &Transferred, kilobytes: f64) -> f64 {
    let mut acknowledged = done.sequence.acknowledged.iter();
    acknowledged.find(|(_, place)| *place >= kilobytes).map_or(f64::INFINITY, |(at, _)| *at)
}

//= S2.11
fn claims(effects: &[Effects]) -> Vec<Claim> {
    let standard = &effects[STANDARD];
    let stretched = &effects[STRETCHED];
    let pair = |of: fn(&Effects) -> f64, digits: usize| {
        format!("{:.digits$} and {:.digits$}", of(standard), of(stretched))
    };
    let kept = |effects: &Effects| effects.throughput[ONE] / effects.throughput[NONE];
    vec![
        Claim::once(
            "S2.11",
            "a burstier sender: at least four times the burst",
            format!(
                "segments at one moment, every second and every 500 ms: at most {}, on average {}",
                pair(|e| e.burst.0 as f64, 0),
                pair(|e| e.burst.1, 1)
            ),
            stretched.burst.0 >= 4 * standard.burst.0,
        ),
        Claim::once(
            "S2.11",
            "the window grows more slowly, half as fast at most; counting bytes makes up for some",
            format!(
                "until {EARLY} kB: {} s with acknowledgments counted, {} s with bytes",
                pair(|e| e.early[0], 2),
                pair(|e| e.early[1], 2)
            ),
            stretched.early[0] >= 2.0 * standard.early[0]
                && stretched.early[1] < stretched.early[0],
        ),
        Claim::once(
            "S2.11",
            "fast retransmit is weaker: losses cost a larger share of the throughput",
            format!(
                "at 1 % of loss {:.2} and {:.2} of the throughput without",
                kept(standard),
                kept(stretched)
            ),
            kept(stretched) < kept(standard),
        ),
        Claim::once(
            "S2.11",
            "the retransmission timer is at risk: it fires without a loss",
            format!(
                "{} timeouts with a least timeout of 200 ms",
                pair(|e| e.false_timeouts as f64, 0)
            ),
            standard.false_timeouts == 0 && stretched.false_timeouts > 0,
        ),
    ]
}

fn table(effects: &[Effects]) -> Table {
    let mut table = Table::new([
        "acknowledges",
        "ACKs a segment",
        "largest burst",
        "mean burst",
        "s to 500 kB, ACKs counted",
        "s to 500 kB, bytes counted",
        "false timeouts, RTO 200 ms",
        "KB/s without loss",
        "KB/s at 0.5 %",
        "KB/s at 1 %",
        "KB/s at 3 %",
        "timeouts a repair",
    ]);
    for effects in effects {
        let mut row = vec![
            effects.policy.to_owned(),
            format!("{:.3}", effects.acks),
            effects.burst.0.to_string(),
            format!("{:.1}", effects.burst.1),
            format!("{:.2}", effects.early[0]),
            format!("{:.2}", effects.early[1]),
            effects.false_timeouts.to_string(),
        ];
        row.extend(effects.throughput.iter().map(|rate| format!("{rate:.1}")));
        row.push(format!("{:.3}", effects.timeouts));
        table.push(row);
    }
    table
}

fn chart(effects: &[Effects]) -> Chart {
    let curve = |effects: &Effects| {
        let points = LOSSES.iter().zip(&effects.throughput);
        let points = points.map(|(loss, rate)| Point::new(*loss, *rate)).collect();
        Series::new(effects.policy, Mark::LinePoints, points)
    };
    Chart {
        title: "Throughput under loss, by the policy of acknowledging".to_owned(),
        subtitle: "5 Mb/s, 20 ms of round trip, Reno with SACK, bytes counted".to_owned(),
        x: Axis::linear("packets lost at random (%)").from_zero(),
        y: Axis::linear("throughput (KB/s)").from_zero(),
        series: effects.iter().map(curve).collect(),
        rules: Vec::new(),
    }
}

/// Draws the start of the transfer, by what the window counts.
fn growth(effects: &[Effects]) -> Chart {
    let mut series = Vec::new();
    for (color, effects) in [&effects[STANDARD], &effects[STRETCHED]].into_iter().enumerate() {
        let marks = [("ACKs counted", Mark::Dashed), ("bytes counted", Mark::Line)];
        for ((counted, mark), values) in marks.into_iter().zip(&effects.growth) {
            let early = values.iter().take_while(|(at, _)| *at <= SHOWN);
            let points = early.map(|(at, place)| Point::new(*at, *place)).collect();
            let name = format!("{}, {counted}", effects.policy);
            series.push(Series::new(name, mark, points).with_color(color));
        }
    }
    Chart {
        title: "How the window grows, by the policy of acknowledging".to_owned(),
        subtitle: "5 Mb/s, 20 ms of round trip, Reno with SACK, no losses".to_owned(),
        x: Axis::linear("time (s)").from_zero(),
        y: Axis::linear("acknowledged (kB)").from_zero(),
        series,
        rules: Vec::new(),
    }
}
