//! Section 5.1: bytes and lifetime by packet size, and what TCP repeats (S2.fig5.1).

use windfall_energy::EnergyModel;
use windfall_report::{Axis, Chart, Estimate, Mark, Point, Series, Table};

use crate::energy::laptops::{self, Laptops, Measured, RECEIVER, SENDER, SIZES};
use crate::experiment::{
    Band, Basis, Claim, Context, ExperimentError, Figure, Finding, Verdict, VerdictRecord,
};

pub(crate) const FIGURE: Figure = Figure {
    name: "S2.fig5.1",
    title: "Bytes and lifetime of a battery, by packet size",
    basis: Basis::Simulated,
    record: VerdictRecord::with_seeds(Verdict::InPart, 10),
    mutation: Some("packets of every size are of 500 bytes"),
    run,
};

/// The place of 1500 bytes among the sizes.
const NORMAL: usize = 2;

/// The runs with each packet size, in the order of [`SIZES`].
struct BySize {
    model: EnergyModel,
    runs: Vec<Vec<Measured>>,
}

impl BySize {
    fn mean(&self, size: usize, of: &dyn Fn(&Measured) -> f64) -> f64 {
        laptops::mean(&self.runs[size], of)
    }

    /// Estimates a value with one size by that with the size before; both had the same seeds.
    fn step(&self, size: usize, of: &dyn Fn(&Measured) -> f64) -> Estimate {
        laptops::ratio(&self.runs[size], &self.runs[size - 1], of)
    }

    fn bytes(&self) -> impl Fn(&Measured) -> f64 {
        laptops::bytes(&self.model, SENDER)
    }

    fn minutes(&self, station: usize) -> impl Fn(&Measured) -> f64 {
        laptops::minutes(&self.model, station)
    }

    /// Returns the segments that TCP repeats while the sender's battery lasts.
    fn retransmissions(&self) -> impl Fn(&Measured) -> f64 {
        |run| {
            let usage = &run.usage[SENDER];
            let minutes = usage.span.as_secs_f64() / 60.0;
            let repeated = usage.operations.retransmissions as f64;
            repeated / minutes * run.minutes(&self.model, SENDER)
        }
    }
}

fn run(figure: &Figure, context: &Context<'_>) -> Result<Finding, ExperimentError> {
    let laptops = Laptops::new(figure.name, context);
    let runs = SIZES.map(|size| {
        (context.progress)(&format!("packets of {size} bytes"));
        let mtu = if context.is_mutated { SIZES[0] } else { size };
        Laptops { mtu, ..laptops.clone() }.replicate(context)
    });
    let runs = runs.into_iter().collect::<Result<_, _>>()?;
    let sizes = BySize { model: laptops::model(figure.name)?, runs };
    let method = format!(
        "One laptop sends to the other over 802.11b at 11 Mb/s in simulated time, {} for each \
         of {} seeds; its battery lasts at the mean power of the run, by the model laptop-2000 \
         (S2.25), and the bytes are those that arrive until then. The paper calls the sizes MSS; \
         2296 bytes are the longest packet of its driver, so that they are packet sizes (S2.49), \
         and its bars have no numbers: what it says is the order.",
        laptops.duration,
        laptops::runs(context),
    );
    Ok(Finding {
        inputs: laptops::inputs(),
        claims: claims(&sizes),
        charts: vec![("", bytes_chart(&sizes)), ("lifetime", lifetime_chart(&sizes))],
        tables: vec![("", table(&sizes))],
        ..figure.finding(context, method)
    })
}

/// Adds the comparison of each size with the one before.
fn steps(claim: Claim, sizes: &BySize, of: &dyn Fn(&Measured) -> f64, band: &Band) -> Claim {
    (1..SIZES.len()).fold(claim, |claim, size| {
        let label = format!("{} bytes by {}", SIZES[size], SIZES[size - 1]);
        claim.compare(label, sizes.step(size, of), band.clone())
    })
}

//= S2.20
//= S2.29
//= S2.40
fn claims(sizes: &BySize) -> Vec<Claim> {
    let more = Band::above(1.0, "an ordering: more with each larger size");
    let less = Band::below(1.0, "an ordering: less with each larger size");
    let bytes = Claim::paper(
        "S2.29",
        "section 5.1: “the number of bytes transported increases as the MSS size increases”",
        "larger packets carry more bytes on one battery",
    );
    let lifetime = Claim::paper(
        "S2.29",
        "section 5.1: “the lifetime of the sender decreases as the MSS increases”",
        "with larger packets the sender's battery lasts less long",
    );
    let receiver = Claim::paper(
        "S2.29",
        "section 5.1: “We get power savings at both the receiver and sender by increasing the MSS”",
        "a byte costs the receiver less energy, too, with larger packets",
    );
    let each = |run: &Measured| run.joules_per_byte(&sizes.model, RECEIVER);
    let normal = &sizes.runs[NORMAL];
    vec![
        steps(bytes, sizes, &sizes.bytes(), &more),
        steps(lifetime, sizes, &sizes.minutes(SENDER), &less),
        steps(receiver, sizes, &each, &less),
        Claim::paper(
            "S2.40",
            "section 5.10: “The number of retransmissions for an MTU of 1500 was found to be \
             about 50”",
            "TCP repeats about 50 segments while the battery lasts",
        )
        .compare(
            "segments repeated with packets of 1500 bytes",
            laptops::estimate(normal, &sizes.retransmissions()),
            Band::between(10.0, 100.0, "tens, not thousands"),
        )
        .recorded(Verdict::NotReproduced)
        .because(
            "a foot apart no frame fails seven times in a row, and the sender's queue holds its \
             window: nothing is lost; what the paper blames, timers of two layers against each \
             other, needs a link that holds a segment for longer than TCP's timeout",
        ),
        Claim::ours("S2.20", "the link's retransmission hides nearly every error from TCP")
            .compare(
                "segments repeated of a million sent, with packets of 1500 bytes",
                laptops::estimate(normal, &|run| {
                    let steps = &run.usage[SENDER].operations;
                    1e6 * steps.retransmissions as f64 / steps.data_sent.max(1) as f64
                }),
                Band::to(100.0, "the paper's 50 of some three million are 17"),
            ),
    ]
}

fn table(sizes: &BySize) -> Table {
    let mut table = Table::new([
        "packet (bytes)",
        "Mb/s",
        "sender's power (W)",
        "lifetime (min)",
        "GB of a battery",
        "sender (µJ/byte)",
        "receiver (µJ/byte)",
        "segments repeated",
        "frames repeated (%)",
    ]);
    for (size, bytes) in SIZES.iter().enumerate() {
        let model = &sizes.model;
        let watts = |run: &Measured| {
            let usage = &run.usage[SENDER];
            model.energy(usage).total() / usage.span.as_secs_f64()
        };
        let frames = |run: &Measured| {
            let ledger = &run.ledgers[SENDER];
            100.0 * ledger.packets.retransmissions as f64 / ledger.packets.frames.max(1) as f64
        };
        let micro = |station| move |run: &Measured| 1e6 * run.joules_per_byte(model, station);
        table.push([
            bytes.to_string(),
            format!("{:.3}", sizes.mean(size, &|run| run.rate() / 1e6)),
            format!("{:.2}", sizes.mean(size, &watts)),
            format!("{:.1}", sizes.mean(size, &sizes.minutes(SENDER))),
            format!("{:.3}", sizes.mean(size, &sizes.bytes()) / 1e9),
            format!("{:.2}", sizes.mean(size, &micro(SENDER))),
            format!("{:.2}", sizes.mean(size, &micro(RECEIVER))),
            format!("{:.1}", sizes.mean(size, &sizes.retransmissions())),
            format!("{:.2}", sizes.mean(size, &frames)),
        ]);
    }
    table
}

/// Returns the points of a value by packet size.
fn points(sizes: &BySize, of: &dyn Fn(&Measured) -> f64) -> Vec<Point> {
    let each = SIZES.iter().enumerate();
    each.filter_map(|(size, bytes)| laptops::point(f64::from(*bytes), &sizes.runs[size], of))
        .collect()
}

//= S2.51
fn bytes_chart(sizes: &BySize) -> Chart {
    let bytes = sizes.bytes();
    let series = points(sizes, &|run| bytes(run) / 1e9);
    Chart {
        title: "Bytes that a battery sends, by packet size".to_owned(),
        subtitle: "802.11b at 11 Mb/s, a foot apart, normal TCP (Figure 5.1a)".to_owned(),
        x: Axis::linear("packet size (bytes)").from_zero(),
        y: Axis::linear("bytes (GB)").from_zero(),
        series: vec![Series::new("normal", Mark::LinePoints, series)],
        rules: Vec::new(),
    }
}

fn lifetime_chart(sizes: &BySize) -> Chart {
    let series = [("sender", SENDER), ("receiver, if it had the battery", RECEIVER)];
    let series = series.map(|(name, station)| {
        Series::new(name, Mark::LinePoints, points(sizes, &sizes.minutes(station)))
    });
    Chart {
        title: "Lifetime of the battery, by packet size".to_owned(),
        subtitle: "802.11b at 11 Mb/s, a foot apart, normal TCP (Figure 5.1b)".to_owned(),
        x: Axis::linear("packet size (bytes)").from_zero(),
        y: Axis::linear("lifetime (min)").from_zero(),
        series: series.into(),
        rules: Vec::new(),
    }
}
