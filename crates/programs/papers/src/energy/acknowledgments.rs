//! Sections 2, 4.1 and 4.5: timestamps and the timeout (S2.54), rare acknowledgments and collisions
//! (S2.55).

use windfall_report::{Axis, Chart, Mark, Series, Table, statistics};

use crate::energy::laptops::{self, Laptops, Measured, NORMAL, RECEIVER, SENDER, ratio};
use crate::experiment::{
    Band, Basis, Claim, Context, ExperimentError, ExperimentInput, Figure, Finding, Verdict,
    VerdictRecord,
};

pub(crate) const FIGURE: Figure = Figure {
    name: "S2.54",
    title: "Timestamps and the timeout, acknowledgments and collisions",
    basis: Basis::Simulated,
    record: VerdictRecord::with_seeds(Verdict::InPart, 10),
    mutation: Some("TCP stays as it was, whatever is set"),
    run,
};

/// The policies of acknowledging, from the most frequent to the rarest.
const POLICIES: [(&str, &str); 3] = [
    ("every segment", ", delayed-ack=off"),
    ("every second segment", ""),
    ("each 500 ms", ", delayed-ack=time:500ms"),
];
/// The settings of the timeout's runs: the window of section 4.2, and no least timeout that would
/// hide how the timeout varies.
const TIMED: &str = "sack, send-buffer=1MiB, receive-buffer=64KiB, initial-window=20, \
     initial-rto=3s, min-rto=1ms";
/// A link that varies: the signal fades twice a second.
const METRES: f64 = 60.0;
const FADING: &str = "fading = \"rayleigh 2\"";
/// A link that does not, and one that does.
const LINKS: [(&str, f64, &str); 2] =
    [("a foot apart", 0.33, ""), ("60 m apart, fading", METRES, FADING)];

/// The runs of each policy; and on each link, with timestamps and without.
struct Runs {
    policies: Vec<Vec<Measured>>,
    links: Vec<[Vec<Measured>; 2]>,
}

//= S2.55
/// Returns the repetitions of both stations for each megabyte that was delivered: a foot apart
/// nothing but collisions makes them.
fn collisions(run: &Measured) -> f64 {
    let [sender, receiver] = [SENDER, RECEIVER].map(|it| &run.ledgers[it]);
    let all = sender.packets.retransmissions + receiver.packets.retransmissions;
    all as f64 / (sender.delivered_bytes as f64 / 1e6)
}

//= S2.54
/// Returns the standard deviation of the sender's timeout over its mean.
fn swing(run: &Measured) -> f64 {
    let mean = statistics::mean(&run.timeouts).unwrap_or(f64::NAN);
    let squares: Vec<f64> = run.timeouts.iter().map(|it| (it - mean).powi(2)).collect();
    statistics::mean(&squares).map_or(f64::NAN, f64::sqrt) / mean
}

fn run(figure: &Figure, context: &Context<'_>) -> Result<Finding, ExperimentError> {
    let laptops = Laptops::new(figure.name, context);
    let with = |settings: String| {
        let settings = if context.is_mutated { NORMAL.to_owned() } else { settings };
        Laptops { tcp: settings, ..laptops.clone() }
    };
    let mut policies = Vec::new();
    for (name, settings) in POLICIES {
        (context.progress)(name);
        policies.push(with(format!("{NORMAL}{settings}")).replicate(context)?);
    }
    let mut links = Vec::new();
    for (name, metres, radio) in LINKS {
        (context.progress)(name);
        let one = |settings: &str| {
            let metres = Some(metres);
            let radio = radio.to_owned();
            Laptops { metres, radio, ..with(format!("{TIMED}{settings}")) }.replicate(context)
        };
        links.push([one("")?, one(", timestamps=off")?]);
    }
    let runs = Runs { policies, links };
    let method = format!(
        "The laptops of S2.fig5.1 with packets of 1500 bytes, {} for each of {} seeds. Collisions: \
         a foot apart, where a frame that is repeated has met another. The timeout: with a window \
         of 64 KiB and no least timeout, as it stands every 100 ms, a foot apart and {METRES} m \
         apart with a signal that fades (Rayleigh, 2 Hz), so that the link repeats frames now and \
         then.",
        laptops.duration,
        laptops::runs(context),
    );
    let mut inputs = laptops::inputs();
    inputs.push(ExperimentInput::given("the fading link", format!("{METRES} m, {FADING}"), "ours"));
    Ok(Finding {
        inputs,
        claims: vec![oscillation(&runs), contention(&runs)],
        charts: vec![("", chart(&runs))],
        tables: vec![("", policies_table(&runs)), ("timeout", timeouts_table(&runs))],
        ..figure.finding(context, method)
    })
}

//= S2.54
fn oscillation(runs: &Runs) -> Claim {
    let [with, without] = &runs.links[1];
    Claim::paper(
        "S2.54",
        "section 4.1: “Getting more samples of the timestamp can in fact cause much more \
         oscillations in the estimated value of the RTO”",
        "with timestamps the timeout swings more on a link that varies",
    )
    .compare(
        "deviation of the timeout over its mean, with timestamps by without",
        ratio(with, without, &swing),
        Band::above(1.0, "an ordering: more"),
    )
    .recorded(Verdict::NotReproduced)
    .because(
        "with a sample for each acknowledgment the estimator gives each as much less weight as \
         there are more of them in a round trip (RFC 7323, appendix G), so that it remembers as \
         long and knows more; one that gives every sample an eighth, as those of the paper's time, \
         is not measured",
    )
}

//= S2.55
fn contention(runs: &Runs) -> Claim {
    let [each, second, rare] = [0, 1, 2].map(|place| &runs.policies[place]);
    let fewer = || Band::below(1.0, "an ordering: fewer");
    Claim::paper(
        "S2.55",
        "section 4.5: “The contention and collisions at the MAC layer would be less”",
        "the rarer the acknowledgments, the fewer collisions for a megabyte",
    )
    .compare("every second segment by every one", ratio(second, each, &collisions), fewer())
    .compare("each 500 ms by every second segment", ratio(rare, second, &collisions), fewer())
}

fn policies_table(runs: &Runs) -> Table {
    let columns = ["acknowledgments", "Mb/s", "collisions for a MB", "frames repeated, sender (%)"];
    let mut table = Table::new(columns);
    for ((name, _), of) in POLICIES.iter().zip(&runs.policies) {
        table.push([
            (*name).to_owned(),
            format!("{:.3}", laptops::mean(of, &|run| run.rate() / 1e6)),
            format!("{:.2}", laptops::mean(of, &collisions)),
            format!("{:.2}", 100.0 * laptops::mean(of, &|run| run.repeated_frames(SENDER))),
        ]);
    }
    table
}

fn timeouts_table(runs: &Runs) -> Table {
    let mut table = Table::new([
        "link",
        "timestamps",
        "mean timeout (ms)",
        "its deviation over it",
        "timeouts fired",
        "frames repeated (%)",
        "Mb/s",
    ]);
    let mean_of = |run: &Measured| statistics::mean(&run.timeouts).unwrap_or(f64::NAN);
    for ((name, ..), of) in LINKS.iter().zip(&runs.links) {
        for (timestamps, of) in ["on", "off"].into_iter().zip(of) {
            let fired = |run: &Measured| run.usage[SENDER].operations.timeouts as f64;
            table.push([
                (*name).to_owned(),
                timestamps.to_owned(),
                format!("{:.1}", 1e3 * laptops::mean(of, &mean_of)),
                format!("{:.3}", laptops::mean(of, &swing)),
                format!("{:.1}", laptops::mean(of, &fired)),
                format!("{:.2}", 100.0 * laptops::mean(of, &|run| run.repeated_frames(SENDER))),
                format!("{:.3}", laptops::mean(of, &|run| run.rate() / 1e6)),
            ]);
        }
    }
    table
}

fn chart(runs: &Runs) -> Chart {
    let points = runs.policies.iter().enumerate();
    let points = points.filter_map(|(x, of)| laptops::point(x as f64, of, &collisions));
    Chart {
        title: "Collisions for each megabyte, by the policy of acknowledging".to_owned(),
        subtitle: "802.11b at 11 Mb/s, a foot apart, packets of 1500 bytes".to_owned(),
        x: Axis::names("", POLICIES.iter().map(|(name, _)| (*name).to_owned()).collect()),
        y: Axis::linear("collisions for a MB").from_zero(),
        series: vec![Series::new("both stations", Mark::Points, points.collect())],
        rules: Vec::new(),
    }
}
