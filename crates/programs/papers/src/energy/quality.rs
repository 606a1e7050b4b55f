//! Section 4.6: the packet size that takes least energy, by the quality of the channel (S2.53), how
//! often a window loses several packets there (S2.52), and what makes TCP repeat (S2.56).

use windfall_energy::EnergyModel;
use windfall_report::{Axis, Chart, Estimate, Mark, Series, Table};
use windfall_tcp::Operations;

use crate::energy::laptops::{self, Laptops, Measured, SENDER, SIZES};
use crate::experiment::{
    Band, Basis, Claim, Context, ExperimentError, Figure, Finding, Verdict, VerdictRecord,
};

pub(crate) const FIGURE: Figure = Figure {
    name: "S2.53",
    title: "Joules for a byte by packet size and quality of the channel",
    basis: Basis::Simulated,
    record: VerdictRecord::with_seeds(Verdict::InPart, 10),
    mutation: Some("packets of every size are of 500 bytes"),
    run,
};

/// The distances, in metres. Frames begin to fail at 140 m.
const METRES: [f64; 8] = [10.0, 140.0, 150.0, 152.0, 154.0, 156.0, 158.0, 160.0];
/// The places of distances: a clean channel, one where the first bits break, one where a medium
/// size is best, and the worst.
const CLEAN: usize = 0;
const FAIR: usize = 1;
const MIDDLE: usize = 5;
const WORST: usize = 7;
/// The distances at which the link gives up some packets of 1500 bytes, and TCP makes progress.
const LOSSY: core::ops::RangeInclusive<usize> = 3..=5;
/// The places of sizes.
const SMALLEST: usize = 0;
const SMALL: usize = 1;
const ETHERNET: usize = 2;
const LARGEST: usize = 3;
/// Bytes of 802.11 and of its check beside those of a packet.
const FRAMING: f64 = 36.0;
/// The window of section 4.2, in bytes.
const WINDOW: f64 = 65_536.0;

/// The runs by distance and packet size.
struct Runs {
    model: EnergyModel,
    runs: Vec<Vec<Vec<Measured>>>,
}

impl Runs {
    fn joules(&self) -> impl Fn(&Measured) -> f64 {
        laptops::joules(&self.model, SENDER)
    }

    /// Estimates the joules for a byte with one size by those with another, at a distance.
    fn by(&self, metres: usize, size: usize, other: usize) -> Estimate {
        laptops::ratio(&self.runs[metres][size], &self.runs[metres][other], &self.joules())
    }

    fn mean(&self, metres: usize, size: usize, of: &dyn Fn(&Measured) -> f64) -> f64 {
        laptops::mean(&self.runs[metres][size], of)
    }
}

/// Returns the share of frames with data that were repetitions.
fn repeated(run: &Measured) -> f64 {
    run.repeated_frames(SENDER)
}

/// Returns the bit error rate that would fail as many frames of a size if errors were independent.
fn bit_errors(run: &Measured, size: u16) -> f64 {
    -(1.0 - repeated(run)).ln() / (8.0 * (f64::from(size) + FRAMING))
}

/// Returns the share of packets that the link gave up.
fn given_up(run: &Measured) -> f64 {
    let ledger = &run.ledgers[SENDER];
    ledger.drops.total() as f64 / ledger.entered.max(1) as f64
}

//= S2.52
/// Returns the probability that a window of 64 KiB loses two packets or more, which are lost
/// independently of each other: nothing fades, and each frame has an error pattern of its own.
fn several_lost(run: &Measured, size: u16) -> f64 {
    let lost = given_up(run);
    let packets = WINDOW / f64::from(size);
    let none = (1.0 - lost).powf(packets);
    1.0 - none - packets * lost * (1.0 - lost).powf(packets - 1.0)
}

fn run(figure: &Figure, context: &Context<'_>) -> Result<Finding, ExperimentError> {
    let laptops = Laptops::new(figure.name, context);
    let at = |metres: f64| {
        let with = |size: u16| {
            (context.progress)(&format!("{metres} m, packets of {size} bytes"));
            let mtu = if context.is_mutated { SIZES[0] } else { size };
            Laptops { mtu, metres: Some(metres), ..laptops.clone() }.replicate(context)
        };
        SIZES.into_iter().map(with).collect::<Result<Vec<_>, _>>()
    };
    let runs = METRES.into_iter().map(at).collect::<Result<_, _>>()?;
    let runs = Runs { model: laptops::model(figure.name)?, runs };
    let method = format!(
        "The laptops of S2.fig5.1 at {} distances up to {} m, with normal TCP and packets of each \
         size, {} for each of {} seeds. The radio of 802.11b decides which bits break; the bit \
         error rate of a distance is the one that would fail as many frames if errors were \
         independent, and is the same for all sizes within a fifth from 150 m on (nearer, \
         acknowledgments that collide make up most of it). The link tries a packet seven times.",
        METRES.len(),
        METRES[WORST],
        laptops.duration,
        laptops::runs(context),
    );
    Ok(Finding {
        inputs: laptops::inputs(),
        claims: claims(&runs),
        charts: vec![("", chart(&runs)), ("losses", losses_chart(&runs))],
        tables: vec![("", table(&runs))],
        ..figure.finding(context, method)
    })
}

fn claims(runs: &Runs) -> Vec<Claim> {
    let mut claims = sizes(runs).to_vec();
    claims.extend(retransmissions(runs));
    claims.push(windows(runs));
    claims.extend(causes(runs));
    claims
}

//= S2.53
fn sizes(runs: &Runs) -> [Claim; 3] {
    let less = || Band::below(1.0, "an ordering: fewer joules");
    let clean = [CLEAN, FAIR].into_iter().fold(
        Claim::paper(
            "S2.53",
            "section 4.6: “for large file transmissions using longer segment size reduces the \
             power consumed for the transmission”",
            "on a good channel the largest packets take the fewest joules for a byte",
        ),
        |claim, metres| {
            let label = format!("2296 bytes by 1500, {} m", METRES[metres]);
            claim.compare(label, runs.by(metres, LARGEST, ETHERNET), less())
        },
    );
    let limited = Claim::paper(
        "S2.53",
        "section 4.6: retransmissions “limit the maximum size of the MTU accordingly so as to have \
         good power efficiency”",
        "on a bad channel neither the largest packets nor the smallest take the fewest joules",
    )
    .compare(
        format!("1000 bytes by 2296, {} m", METRES[MIDDLE]),
        runs.by(MIDDLE, SMALL, LARGEST),
        less(),
    )
    .compare(
        format!("1000 bytes by 500, {} m", METRES[MIDDLE]),
        runs.by(MIDDLE, SMALL, SMALLEST),
        less(),
    );
    let moves = Claim::ours("S2.53", "the worse the channel, the smaller the best packets")
        .compare(
            format!("1500 bytes by 1000, {} m", METRES[CLEAN]),
            runs.by(CLEAN, ETHERNET, SMALL),
            less(),
        )
        .compare(
            format!("1000 bytes by 1500, {} m", METRES[MIDDLE]),
            runs.by(MIDDLE, SMALL, ETHERNET),
            less(),
        )
        .compare(
            format!("500 bytes by 1000, {} m", METRES[WORST]),
            runs.by(WORST, SMALLEST, SMALL),
            less(),
        );
    [clean, limited, moves]
}

//= S2.53
fn retransmissions(runs: &Runs) -> [Claim; 2] {
    let more = || Band::above(1.0, "an ordering: more");
    let lossy = LOSSY.fold(
        Claim::paper(
            "S2.53",
            "section 4.6: “the number of retransmissions increases, since the probability of a \
             single segment being in error now increases”",
            "the larger the packets, the more frames are repeated",
        ),
        |claim, metres| {
            let [large, small] = [LARGEST, SMALLEST].map(|size| &runs.runs[metres][size]);
            let label = format!("share repeated, 2296 bytes by 500, {} m", METRES[metres]);
            claim.compare(label, laptops::ratio(large, small, &repeated), more())
        },
    );
    let same = Claim::paper(
        "S2.53",
        "section 4.6: “The protocol processing required at the nodes for a single segment is the \
         same no matter what the segment size”",
        "a segment takes as many steps of TCP, whatever its size",
    )
    .by_construction("the costs of steps are inputs; those for bytes grow with the size");
    [lossy, same]
}

//= S2.52
fn windows(runs: &Runs) -> Claim {
    let several = |size: usize| {
        laptops::estimate(&runs.runs[MIDDLE][size], &|run| several_lost(run, SIZES[size]))
    };
    let fewer = several(SMALL).low;
    Claim::paper(
        "S2.52",
        "section 5.2: “As the MSS increases […] a single window size consists of less number of \
         packets and hence the probability of having multiple packets lost in a single window \
         decreases”",
        "windows of 64 KiB lose several packets less often with larger ones",
    )
    .compare(
        format!("share of windows with 2296 bytes, {} m", METRES[MIDDLE]),
        several(LARGEST),
        Band::to(fewer, "less than the share with packets of 1000 bytes"),
    )
    .recorded(Verdict::NotReproduced)
    .because(
        "a window has fewer of the larger packets, but where bit errors lose them, each is lost so \
         much more often that several are: the link gives a packet up when seven frames fail in a \
         row. The paper's argument holds where a packet is lost as often whatever its size, as by \
         a full queue",
    )
}

/// Returns the share of the repetitions of TCP of each seed, over the lossy distances, that `of`
/// counts.
fn share(runs: &Runs, of: fn(&Operations) -> u64) -> Estimate {
    let seeds = runs.runs[MIDDLE][ETHERNET].len();
    let total = |seed: usize, of: fn(&Operations) -> u64| -> u64 {
        LOSSY.map(|metres| of(&runs.runs[metres][ETHERNET][seed].usage[SENDER].operations)).sum()
    };
    let share = |seed| total(seed, of) as f64 / total(seed, |it| it.retransmissions).max(1) as f64;
    Estimate::mean(&(0..seeds).map(share).collect::<Vec<_>>())
}

//= S2.56
fn causes(runs: &Runs) -> [Claim; 2] {
    let most = || Band::from(0.5, "the reason that is given first: most of them");
    [
        Claim::paper(
            "S2.56",
            "section 5.10: “the competing and redundant retransmissions by the TCP Layer since \
             duplicate ACKs are not suppressed by the MAC layer”",
            "what TCP repeats has mostly arrived already",
        )
        .compare(
            "share of TCP's repetitions that the receiver reports as received twice",
            share(runs, |it| it.duplicates_reported),
            most(),
        )
        .recorded(Verdict::NotReproduced)
        .because(
            "802.11 keeps the order while it repeats a frame, so that nothing overtakes and no \
             duplicate acknowledgment comes before the link has given a packet up: what TCP \
             repeats then is lost",
        ),
        Claim::paper(
            "S2.56",
            "section 5.10: “the number of retransmissions is generally high because of the timer \
             interactions between the TCP and the MAC layers”",
            "what TCP repeats is mostly due to its timer",
        )
        .compare(
            "timeouts for each segment that TCP repeats",
            share(runs, |it| it.timeouts),
            most(),
        )
        .recorded(Verdict::NotReproduced)
        .because(
            "seven attempts at a frame take tens of milliseconds, the timeout is of a second and \
             more: the two do not meet",
        ),
    ]
}

fn table(runs: &Runs) -> Table {
    let mut table = Table::new([
        "distance (m)",
        "packet (bytes)",
        "Mb/s",
        "sender (µJ/byte)",
        "by packets of 2296",
        "frames repeated (%)",
        "as bit errors of",
        "packets given up (%)",
        "windows with several (%)",
        "segments repeated (%)",
        "fast retransmits",
        "timeouts",
        "of them spurious",
        "received twice",
    ]);
    for (place, metres) in METRES.iter().enumerate() {
        for (size, bytes) in SIZES.iter().enumerate() {
            let of = |value: &dyn Fn(&Measured) -> f64| runs.mean(place, size, value);
            let step = |count: fn(&Operations) -> u64| {
                of(&|run| count(&run.usage[SENDER].operations) as f64)
            };
            let again = 100.0 * step(|it| it.retransmissions) / step(|it| it.data_sent);
            table.push([
                format!("{metres}"),
                bytes.to_string(),
                format!("{:.3}", of(&|run| run.rate() / 1e6)),
                format!("{:.2}", 1e6 * of(&runs.joules())),
                format!("{:.3}", runs.by(place, size, LARGEST).value),
                format!("{:.2}", 100.0 * of(&repeated)),
                format!("{:.1e}", of(&|run| bit_errors(run, *bytes))),
                format!("{:.3}", 100.0 * of(&given_up)),
                format!("{:.3}", 100.0 * of(&|run| several_lost(run, *bytes))),
                format!("{again:.3}"),
                format!("{:.1}", step(|it| it.fast_retransmits)),
                format!("{:.1}", step(|it| it.timeouts)),
                format!("{:.1}", step(|it| it.spurious_timeouts)),
                format!("{:.1}", step(|it| it.duplicates_reported)),
            ]);
        }
    }
    table
}

/// Draws a value over the packet size, a series for each distance.
fn by_size(runs: &Runs, of: impl Fn(&Measured, u16) -> f64) -> Vec<Series> {
    let series = METRES.iter().enumerate().map(|(place, metres)| {
        let rate = runs.mean(place, ETHERNET, &|run| bit_errors(run, SIZES[ETHERNET]));
        let points = SIZES.iter().enumerate().filter_map(|(size, bytes)| {
            let own = &runs.runs[place][size];
            laptops::point(f64::from(*bytes), own, &|run| of(run, *bytes))
        });
        let name = format!("{metres} m, bit errors as of {rate:.0e}");
        Series::new(name, Mark::LinePoints, points.collect())
    });
    series.collect()
}

fn chart(runs: &Runs) -> Chart {
    let joules = runs.joules();
    Chart {
        title: "Joules for a byte, by packet size and quality of the channel".to_owned(),
        subtitle: "802.11b at 11 Mb/s, normal TCP, the sender".to_owned(),
        x: Axis::linear("packet size (bytes)").from_zero(),
        y: Axis::log("energy (µJ/byte)"),
        series: by_size(runs, |run, _| 1e6 * joules(run)),
        rules: Vec::new(),
    }
}

fn losses_chart(runs: &Runs) -> Chart {
    Chart {
        title: "Windows of 64 KiB that lose two packets or more".to_owned(),
        subtitle: "802.11b at 11 Mb/s, after seven attempts of the link".to_owned(),
        x: Axis::linear("packet size (bytes)").from_zero(),
        y: Axis::linear("share of windows (%)").from_zero(),
        series: by_size(runs, |run, bytes| 100.0 * several_lost(run, bytes)),
        rules: Vec::new(),
    }
}
