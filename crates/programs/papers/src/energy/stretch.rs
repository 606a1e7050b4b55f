//! Sections 2 and 4.5: what rare acknowledgments do to the sender (S2.11).

use windfall_base::Seed;
use windfall_report::{Axis, Chart, Estimate, Mark, Point, Series, Table, statistics};

use crate::experiment::simulated::{Transfer, Transferred};
use crate::experiment::{
    Band, Basis, Claim, Context, ExperimentError, Extent, Figure, Finding, Verdict, VerdictRecord,
};

pub(crate) const FIGURE: Figure = Figure {
    name: "S2.11",
    title: "What acknowledging rarely does to the sender",
    basis: Basis::Simulated,
    record: VerdictRecord::with_seeds(Verdict::InPart, 20),
    mutation: Some("rare acknowledgments are sent for every second segment"),
    run,
};

const SCENARIO: &str =
    include_str!("../../../../../scenarios/paper-002/stretched-acknowledgments.toml");
/// [`SCENARIO`] with a loss of 3 % on the path of the acknowledgments.
const LOSING_ACKS: &str = concat!(
    include_str!("../../../../../scenarios/paper-002/stretched-acknowledgments.toml"),
    "[link.downlink]\nloss = 0.03\n"
);
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

/// Kilobytes acknowledged over time without losses, with ACKs and with bytes counted.
type Growth = [Vec<(f64, f64)>; 2];

/// The effects of one policy, one value for each run.
struct Effects {
    policy: &'static str,
    runs: Vec<Run>,
    /// That of the first run.
    growth: Growth,
}

/// The effects of one policy with one seed.
struct Run {
    /// Acknowledgments for a data segment.
    acks: f64,
    /// Segments that leave at one moment: the most, and the mean over segments.
    burst: (usize, f64),
    /// Seconds until [`EARLY`] is acknowledged, with acknowledgments and with bytes counted.
    early: [f64; 2],
    /// Timeouts without a loss, with the hasty timer.
    false_timeouts: u64,
    /// KB/s at each of [`LOSSES`].
    throughput: Vec<f64>,
    /// Timeouts where one of a hundred data segments is lost.
    timeouts_at_one: u64,
    /// Timeouts where three of a hundred are lost, data and acknowledgments alike.
    timeouts: u64,
}

impl Effects {
    /// Returns a value of each run.
    fn each(&self, of: impl Fn(&Run) -> f64) -> Vec<f64> {
        self.runs.iter().map(of).collect()
    }

    /// Returns the mean of a value over the runs.
    fn mean(&self, of: impl Fn(&Run) -> f64) -> f64 {
        statistics::mean(&self.each(of)).unwrap_or(f64::NAN)
    }
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
        let policy = if context.is_mutated { &POLICIES[STANDARD] } else { policy };
        effects.push(measure(figure.name, context, policy, runs)?);
    }
    let method = format!(
        "Transfers of 2 MB by Windfall's TCP (Reno's law, SACK, a window of 64 KiB) in \
         simulated time over 5 Mb/s and 20 ms of round trip; the receiver acknowledges as \
         said, and at once what is out of order; {runs} transfers a point. A burst is what leaves \
         the host at one moment. The growth of the window is seen in the time until {EARLY} kB are \
         acknowledged, with a step for each acknowledgment or for bytes (RFC 3465). A window that \
         is used up waits for the timed acknowledgment, which bounds what time-based policies \
         achieve: 64 KiB in 500 ms are 131 KB/s, and the window has to grow there first."
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
    of(figure, tcp, loss, seed).run()
}

/// A transfer of which `loss` per cent of the data segments are lost.
fn of(figure: &'static str, tcp: &'static str, loss: f64, seed: Seed) -> Transfer {
    let uplink = if loss > 0.0 { format!("loss = {}", loss / 100.0) } else { String::new() };
    Transfer { figure, scenario: SCENARIO, uplink, tcp, bytes: BYTES, seed }
}

fn measure(
    figure: &'static str,
    context: &Context<'_>,
    policy: &Policy,
    runs: usize,
) -> Result<Effects, ExperimentError> {
    let all = context.replicate(runs, |seed| measure_once(figure, policy, seed));
    let (runs, mut growth): (Vec<_>, Vec<_>) =
        all.into_iter().collect::<Result<Vec<_>, _>>()?.into_iter().unzip();
    Ok(Effects { policy: policy.name, runs, growth: growth.swap_remove(0) })
}

/// Returns the effects of a policy with one seed, and how its window grows.
fn measure_once(
    figure: &'static str,
    policy: &Policy,
    seed: Seed,
) -> Result<(Run, Growth), ExperimentError> {
    let [counting_acks, counting_bytes, hasty] = policy.settings;
    let slow = transfer(figure, counting_acks, 0.0, seed)?;
    let clean = transfer(figure, counting_bytes, 0.0, seed)?;
    let at = |loss| Ok(transfer(figure, counting_bytes, loss, seed)?.throughput());
    let throughput = LOSSES.into_iter().map(at).collect::<Result<_, ExperimentError>>()?;
    let both = Transfer { scenario: LOSING_ACKS, ..of(figure, counting_bytes, 3.0, seed) };
    let data = clean.sequence.sent.len().max(1) as f64;
    let run = Run {
        acks: clean.sequence.acknowledged.len() as f64 / data,
        burst: bursts(&clean.sequence.sent),
        early: [&slow, &clean].map(|done| reached(done, EARLY)),
        false_timeouts: transfer(figure, hasty, 0.0, seed)?.operations.timeouts,
        throughput,
        timeouts_at_one: transfer(figure, counting_bytes, LOSSES[ONE], seed)?.operations.timeouts,
        timeouts: both.run()?.operations.timeouts,
    };
    Ok((run, [slow, clean].map(|done| done.sequence.acknowledged)))
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
    growth_claims(effects)
        .into_iter()
        .chain(loss_claims(effects))
        .chain(rate_claims(effects))
        .collect()
}

/// Estimates a value with the rarest acknowledgments by that with every second segment.
fn ratio(effects: &[Effects], of: fn(&Run) -> f64) -> Estimate {
    // Both had the same seeds.
    let pairs = effects[STRETCHED].runs.iter().zip(&effects[STANDARD].runs);
    Estimate::geometric_mean(&pairs.map(|(rare, often)| of(rare) / of(often)).collect::<Vec<_>>())
}

/// Estimates how much greater a value is with the rarest acknowledgments.
fn difference(effects: &[Effects], of: fn(&Run) -> f64) -> Estimate {
    let pairs = effects[STRETCHED].runs.iter().zip(&effects[STANDARD].runs);
    Estimate::mean(&pairs.map(|(rare, often)| of(rare) - of(often)).collect::<Vec<_>>())
}

fn more() -> Band {
    Band::above(1.0, "an ordering: more than with every second segment")
}

/// Judges bursts and the growth of the window.
fn growth_claims(effects: &[Effects]) -> Vec<Claim> {
    let ratio = |of| ratio(effects, of);
    vec![
        Claim::paper("S2.11", "section 2: “the sender becomes burstier”", "a burstier sender")
            .compare(
                "largest burst, by that of every second segment",
                ratio(|it| it.burst.0 as f64),
                more(),
            )
            .compare("mean burst", ratio(|it| it.burst.1), more()),
        Claim::paper(
            "S2.11",
            "section 2: “there is a slowdown in the window growth”",
            "the window grows more slowly where acknowledgments are counted",
        )
        .compare(format!("time until {EARLY} kB"), ratio(|it| it.early[0]), more()),
        Claim::paper(
            "S2.11",
            "section 6: “can be dependent on the bytes acknowledged”",
            "counting bytes makes up for a part of it",
        )
        .compare(
            "time with bytes counted by that with acknowledgments counted",
            Estimate::geometric_mean(&effects[STRETCHED].each(|it| it.early[1] / it.early[0])),
            Band::below(1.0, "an ordering: less than with acknowledgments counted"),
        ),
    ]
}

/// Judges what losses cost.
fn loss_claims(effects: &[Effects]) -> Vec<Claim> {
    let ratio = |of| ratio(effects, of);
    let difference = |of| difference(effects, of);
    vec![
        Claim::paper(
            "S2.11",
            "section 2: “a decrease in the effectiveness of the fast retransmit algorithm”",
            "more losses are repaired by timeouts",
        )
        .compare(
            "timeouts in a transfer that loses 1 %, more than with every second segment",
            difference(|it| it.timeouts_at_one as f64),
            Band::above(0.0, "an ordering: more of them"),
        )
        .recorded(Verdict::NotReproduced)
        .because(
            "a receiver acknowledges at once what is out of order, however rarely it does \
             otherwise (RFC 5681, section 4.2)",
        ),
        Claim::ours("S2.11", "losses cost a larger share of the throughput").compare(
            "share left at 1 % of loss, by that with every second segment",
            ratio(|it| it.throughput[ONE] / it.throughput[NONE]),
            Band::below(1.0, "an ordering: less is left"),
        ),
        Claim::paper(
            "S2.11",
            "section 2: “it may cause needless retransmission timeouts in lossy environments”",
            "more timeouts where packets are lost",
        )
        .compare(
            "timeouts in a transfer that loses 3 % both ways, more than with every second segment",
            difference(|it| it.timeouts as f64),
            Band::above(0.0, "an ordering: more of them"),
        ),
        Claim::ours("S2.11", "a hasty timer fires without any loss").compare(
            "timeouts with a least timeout of 200 ms, more than with every second segment",
            difference(|it| it.false_timeouts as f64),
            Band::from(1.0, "at least one in each transfer"),
        ),
    ]
}

/// Judges what the paper concludes: that it costs nothing, and gains bytes.
fn rate_claims(effects: &[Effects]) -> [Claim; 2] {
    let measured = |claim: Claim, band: Band| {
        let of = "throughput without loss, by that with every second segment";
        claim
            .compare(of, ratio(effects, |it| it.throughput[NONE]), band)
            .recorded(Verdict::NotReproduced)
            .because(
                "a window that is used up waits for the next acknowledgment: 64 KiB in 500 ms are \
                 131 KB/s, a fifth of this link; section 5 does not say how its sender did without",
            )
    };
    let slow = Claim::paper(
        "S2.11",
        "section 2: “A slow down in the window growth is not a problem for slow wireless links”",
        "over 5 Mb/s it costs hardly any throughput",
    );
    let efficient = Claim::paper(
        "S2.11",
        "section 5, Figure 5.6: “The lifetime of the sender in both the cases was 106 minutes. \
         This tells us that the efficiency increases when we reduce the frequency of ACKs”",
        "with an acknowledgment every 500 ms more bytes are sent in the same time",
    );
    [measured(slow, Band::from(0.9, "not a problem: a tenth at most")), measured(efficient, more())]
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
        "timeouts at 3 % both ways",
    ]);
    for effects in effects {
        let mut row = vec![
            effects.policy.to_owned(),
            format!("{:.3}", effects.mean(|it| it.acks)),
            format!("{:.0}", effects.mean(|it| it.burst.0 as f64)),
            format!("{:.1}", effects.mean(|it| it.burst.1)),
            format!("{:.2}", effects.mean(|it| it.early[0])),
            format!("{:.2}", effects.mean(|it| it.early[1])),
            format!("{:.1}", effects.mean(|it| it.false_timeouts as f64)),
        ];
        let places = 0..LOSSES.len();
        row.extend(places.map(|at| format!("{:.1}", effects.mean(|it| it.throughput[at]))));
        row.push(format!("{:.2}", effects.mean(|it| it.timeouts as f64)));
        table.push(row);
    }
    table
}

fn chart(effects: &[Effects]) -> Chart {
    let curve = |effects: &Effects| {
        let point =
            |(at, loss): (usize, &f64)| Point::of(*loss, &effects.each(|run| run.throughput[at]));
        let points = LOSSES.iter().enumerate().filter_map(point).collect();
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
