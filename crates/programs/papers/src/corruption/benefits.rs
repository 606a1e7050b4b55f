//! Section II-B: what the notification of corruption brings even where the congestion window
//! reacts as to a loss (S4.31).

use std::cell::RefCell;
use std::rc::Rc;

use windfall_base::{Duration, Probability, Seed, Stream};
use windfall_report::{Axis, Chart, Estimate, Mark, Point, Series, Table};
use windfall_wire_net::TcpFlags;

use crate::experiment::wire::{FAR, Impairment, Leaving, NEAR, Wire};
use crate::experiment::{
    Band, Basis, Claim, Context, ExperimentError, ExperimentInput, Extent, Figure, Finding,
    Verdict, VerdictRecord,
};

pub(crate) const FIGURE: Figure = Figure {
    name: "S4.31",
    title: "What the careful reaction to notified corruption keeps of its benefits",
    basis: Basis::Simulated,
    record: VerdictRecord::with_seeds(Verdict::Reproduced, 2_000),
    mutation: Some("notifications are ignored"),
    run,
};

/// Both ends' TCP; `notify` follows.
const SETTINGS: &str = "sack, ecn=on, corruption=draft-safe, reaction=as-loss, notify=";
/// The one-way delay of a packet.
const DELAY: Duration = Duration::from_millis(10);
/// Bytes of a full segment with timestamps and the detection option.
const SEGMENT: usize = 1440;

/// One benefit: what is measured of it, with and without notifications.
struct Benefit {
    name: &'static str,
    measure: &'static str,
    /// The paper, or this project.
    source: BenefitSource,
    /// One value for each trial.
    with: Vec<f64>,
    without: Vec<f64>,
}

/// One trial of a benefit on a connected wire; `None` if it did not end.
type Trial = fn(Wire, &mut Stream) -> Option<f64>;

/// The origin of a benefit.
#[derive(Clone, Copy, Debug)]
enum BenefitSource {
    /// The paper names it, in these words.
    Paper(&'static str),
    /// The paper names something near it: its words, and what they say that is not measured.
    Ours(&'static str, &'static str, fn(Claim) -> Claim),
}

/// The four, in the order of the paper: name, what is measured, its origin, one trial of it. Less
/// is better.
const BENEFITS: [(&str, &str, BenefitSource, Trial); 4] = [
    (
        "earlier retransmission",
        "time until a message of 10 segments is complete, ms",
        BenefitSource::Paper(
            "section II-B: “several benefits remain, e.g., earlier retransmission”",
        ),
        retransmission,
    ),
    (
        "an acknowledgment that damaged data carry is kept",
        "time until the peer's message is acknowledged, ms",
        BenefitSource::Ours(
            "section II-B: “retained control information for connection setup or teardown”",
            "the control information of connection setup and teardown is kept",
            |claim| {
                claim.not_comparable(
                    "nothing: SYN and FIN carry no detection option",
                    "section III adds the option to neither SYN nor FIN nor bare ACK segments, so \
                     that a damaged one is dropped in the paper's stack too",
                )
            },
        ),
        control,
    ),
    (
        "correct retransmission timeout",
        "distance of the timeout from that without damage, after the path has grown, ms",
        BenefitSource::Paper("section II-B: “correctly updated RTO”"),
        timeout,
    ),
    (
        "marks on damaged packets are echoed",
        "marks on damaged packets that are not echoed, %",
        BenefitSource::Ours(
            "section II-B: “possibility to react to congestion earlier when congestion is \
             explicitly indicated via the \"ECN-Echo\" flag”",
            "a mark on a damaged packet is reacted to",
            |claim| {
                claim.by_construction(
                    "a packet that is dropped cannot be echoed, and its retransmission is unmarked",
                )
            },
        ),
        mark,
    ),
];

//= S4.5
//= S4.31
fn run(figure: &Figure, context: &Context<'_>) -> Result<Finding, ExperimentError> {
    let trials = match context.extent {
        Extent::Quick => 200,
        Extent::Paper => 2_000,
        Extent::Full => 20_000,
    };
    let mut benefits = Vec::new();
    for (name, measure, source, trial) in BENEFITS {
        (context.progress)(name);
        let all =
            |notify: &str| measure_all(figure.name, notify, name, trial, context.seed, trials);
        let on = if context.is_mutated { "off" } else { "on" };
        let with = all(on)?;
        let without = all("off")?;
        benefits.push(Benefit { name, measure, source, with, without });
    }
    let method = format!(
        "Two of Windfall's TCPs in simulated time, {} ms apart, with SACK, timestamps and \
         the corruption options in the draft-safe mode; the congestion window reacts to a \
         notification as to a loss. {trials} trials of each, with and without notifications, \
         from the same seeds. Earlier retransmission: one data segment in ten is damaged. \
         Control information: both ends send, and one in three of the segments that carry the \
         acknowledgment is damaged. Timeout: the path grows from 20 to 160 ms, and half of \
         the segments are damaged. Marks: one segment of a message is marked and damaged.",
        DELAY.as_nanos() / 1_000_000
    );
    Ok(Finding {
        inputs: inputs(),
        claims: benefits.iter().flat_map(claims).collect(),
        charts: benefits.first().map(|benefit| ("", chart(benefit))).into_iter().collect(),
        tables: vec![("", table(&benefits))],
        ..figure.finding(context, method)
    })
}

/// All trials of a benefit.
fn measure_all(
    figure: &'static str,
    notify: &str,
    name: &str,
    trial: Trial,
    seed: Seed,
    trials: u64,
) -> Result<Vec<f64>, ExperimentError> {
    let settings = format!("{SETTINGS}{notify}");
    let draws = Stream::new(seed, name);
    let seeds = Stream::new(seed, "wire");
    let one = |number: u64| {
        let seed = Seed(seeds.at(number).bits());
        let wire = Wire::connected(figure, &settings, DELAY, seed)?;
        let message = format!("{name}: trial {number} did not end");
        trial(wire, &mut draws.at(number)).ok_or(ExperimentError::Scenario { figure, message })
    };
    (0..trials).map(one).collect()
}

/// Data segments of the near end, damaged with this probability.
fn damaging(stream: &mut Stream, probability: f64) -> Box<dyn FnMut(&Leaving) -> Impairment> {
    let mut own = stream.at(1);
    let probability = Probability::new(probability).unwrap_or_default();
    Box::new(move |leaving| {
        let data = leaving.from == NEAR && leaving.len > 0;
        Impairment { damaged: data && own.chance(probability), marked: false }
    })
}

fn milliseconds(span: Duration) -> f64 {
    span.as_secs_f64() * 1e3
}

/// A message of ten segments, each damaged with one chance in ten.
fn retransmission(mut wire: Wire, stream: &mut Stream) -> Option<f64> {
    wire.fate = damaging(stream, 0.1);
    let began = wire.now;
    wire.send(NEAR, 10 * SEGMENT);
    let done = |wire: &Wire| wire.arrived(FAR) == 10 * SEGMENT;
    let ended = wire.run_until(Duration::from_secs(60), done);
    ended.then(|| milliseconds(wire.now.saturating_since(began)))
}

/// The far end's message is acknowledged by data of the near end that may be damaged.
fn control(mut wire: Wire, stream: &mut Stream) -> Option<f64> {
    wire.fate = damaging(stream, 1.0 / 3.0);
    let began = wire.now;
    wire.send(FAR, SEGMENT);
    wire.run_for(Duration::from_millis(12));
    wire.send(NEAR, SEGMENT);
    let acknowledged =
        |wire: &Wire| wire.connection(FAR).is_some_and(|far| far.unacknowledged() == 0);
    let ended = wire.run_until(Duration::from_secs(60), acknowledged);
    ended.then(|| milliseconds(wire.now.saturating_since(began)))
}

/// The path grows while half of the segments are damaged; ten messages measure it.
fn timeout(wire: Wire, stream: &mut Stream) -> Option<f64> {
    let settings = format!("{SETTINGS}on");
    let clean = Wire::connected(FIGURE.name, &settings, DELAY, Seed(0)).ok()?;
    let due = timeout_after_growth(clean, 0.0, stream)?;
    let found = timeout_after_growth(wire, 0.5, stream)?;
    Some((milliseconds(found) - milliseconds(due)).abs())
}

/// Returns the timeout after the path has grown, with this share of data segments damaged.
fn timeout_after_growth(mut wire: Wire, damaged: f64, stream: &mut Stream) -> Option<Duration> {
    for _ in 0..10 {
        wire.send(NEAR, SEGMENT);
        wire.run_for(Duration::from_millis(100));
    }
    wire.delay = DELAY * 8;
    wire.fate = damaging(stream, damaged);
    for _ in 0..10 {
        wire.send(NEAR, SEGMENT);
        wire.run_for(Duration::from_millis(200));
    }
    Some(wire.connection(NEAR)?.retransmission_timeout())
}

/// One segment of a message of five is marked and damaged: is the mark echoed?
fn mark(mut wire: Wire, stream: &mut Stream) -> Option<f64> {
    let chosen = stream.below(5);
    let mut sent = 0;
    let echoed = Rc::new(RefCell::new(false));
    let seen = Rc::clone(&echoed);
    wire.fate = Box::new(move |leaving| {
        *seen.borrow_mut() |= leaving.from == FAR && leaving.flags.has(TcpFlags::ECE);
        let data = leaving.from == NEAR && leaving.len > 0;
        sent += u64::from(data);
        let hit = data && sent == chosen + 1;
        Impairment { damaged: hit, marked: hit }
    });
    wire.send(NEAR, 5 * SEGMENT);
    let done = |wire: &Wire| wire.arrived(FAR) == 5 * SEGMENT;
    let ended = wire.run_until(Duration::from_secs(60), done);
    wire.run_for(Duration::from_millis(100));
    let was_echoed = *echoed.borrow();
    ended.then_some(if was_echoed { 0.0 } else { 100.0 })
}

fn mean(values: &[f64]) -> f64 {
    windfall_report::statistics::mean(values).unwrap_or(f64::NAN)
}

/// The conditions, of which the paper names none: they decide how great a benefit is, not whether
/// there is one.
fn inputs() -> Vec<ExperimentInput> {
    let ours = "our choice: the paper has no number";
    vec![
        ExperimentInput::given("delay of the path", "10 ms each way", ours),
        ExperimentInput::given("damaged segments", "one in ten, three, two and one", ours),
        ExperimentInput::given("growth of the path", "20 to 160 ms", ours),
        ExperimentInput::given(
            "place of the damage",
            "the last bit of a packet",
            "our choice, so that every damaged segment can be used; Table II has 13 such packets \
             for 10 000 lost ones",
        ),
    ]
}

fn claims(benefit: &Benefit) -> Vec<Claim> {
    let Benefit { name, measure, source, with, without } = benefit;
    // Both had the same seeds.
    let saved: Vec<f64> = without.iter().zip(with).map(|(without, with)| without - with).collect();
    let statement = format!("{name}, even where the window reacts to corruption as to congestion");
    let compared = |claim: Claim| {
        claim.compare(
            format!("{measure}: saved by notifications"),
            Estimate::mean(&saved),
            Band::above(0.0, "an ordering: something is saved"),
        )
    };
    match source {
        BenefitSource::Paper(quote) => vec![compared(Claim::paper("S4.31", quote, statement))],
        BenefitSource::Ours(quote, of_paper, judge) => vec![
            judge(Claim::paper("S4.31", quote, *of_paper)),
            compared(Claim::ours("S4.31", statement)),
        ],
    }
}

fn table(benefits: &[Benefit]) -> Table {
    let mut table = Table::new([
        "benefit",
        "measure",
        "with, mean",
        "with, 95 %",
        "without, mean",
        "without, 95 %",
        "ratio of means",
    ]);
    for Benefit { name, measure, with, without, .. } in benefits {
        let values = [mean(with), quantile(with), mean(without), quantile(without)];
        let ratio = values[0] / values[2];
        let values = values.into_iter().map(|value| format!("{value:.2}"));
        let names = [name, measure].map(|text| (*text).to_owned());
        table.push(names.into_iter().chain(values).chain([format!("{ratio:.3}")]));
    }
    table
}

/// Returns the value that 95 % of the values do not exceed.
fn quantile(values: &[f64]) -> f64 {
    let sorted = sorted(values);
    sorted.get(sorted.len() * 95 / 100).copied().unwrap_or(f64::NAN)
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// Draws the share of the trials that were over, over time.
fn chart(benefit: &Benefit) -> Chart {
    let curve = |name: &str, values: &[f64]| {
        let sorted = sorted(values);
        let all = values.len() as f64;
        let points = sorted.iter().enumerate();
        let points = points.map(|(i, value)| Point::new(*value, 100.0 * (i + 1) as f64 / all));
        Series::new(name, Mark::Line, points.collect())
    };
    Chart {
        title: "A message of ten segments, one in ten damaged".to_owned(),
        subtitle: "the congestion window reacts to a notification as to a loss".to_owned(),
        x: Axis::log("time until it is complete (ms)"),
        y: Axis::linear("messages complete (%)").from_zero(),
        series: vec![
            curve("with notifications", &benefit.with),
            curve("without", &benefit.without),
        ],
        rules: Vec::new(),
    }
}

#[cfg(test)]
mod tests;
