//! Section 6: whether to check or to overlook damage, on several channels.

use windfall_base::Seed;
use windfall_report::{Axis, Chart, Estimate, Mark, Point, Series, Table};
use windfall_scenario::GsmEnvironment;
use windfall_video::wsim::{CircuitService, WsimProtocol};
use windfall_video::{ClipQuality, VideoCodec, YuvPicture, decode};

use crate::experiment::{
    Band, Basis, Claim, Context, ExperimentError, ExperimentInput, Figure, Finding, Verdict,
    VerdictRecord,
};
use crate::video::clip::{self, FORMAT};
use crate::video::combination::Combination;
use crate::video::runs::{self, counts, mean};

pub(crate) const FIGURE: Figure = Figure {
    name: "S1.channels",
    title: "One clip over several channels, with and without the checksum",
    basis: Basis::Simulated,
    record: VerdictRecord::with_seeds(Verdict::NotReproduced, 40),
    mutation: Some("UDP in place of UDP-Lite"),
    run,
};

/// The channels: air and service, and their names.
const CHANNELS: [(GsmEnvironment, CircuitService, &str); 6] = [
    (GsmEnvironment::StationaryBad, CircuitService::Transparent, "bad, asynchronous"),
    (GsmEnvironment::Walking, CircuitService::Transparent, "walking, asynchronous"),
    (GsmEnvironment::Driving, CircuitService::Transparent, "driving, asynchronous"),
    (GsmEnvironment::StationaryBad, CircuitService::Synchronous, "bad, synchronous"),
    (GsmEnvironment::Walking, CircuitService::Synchronous, "walking, synchronous"),
    (GsmEnvironment::Driving, CircuitService::Synchronous, "driving, synchronous"),
];

/// A clip by one protocol: the share of packets that is lost, and the mean PSNR in dB.
#[derive(Clone, Copy, Debug)]
struct Sent {
    loss: f64,
    psnr: f64,
}

/// The outcome over each channel, with and without the checksum.
type SeedRuns = Vec<[Sent; 2]>;

fn run(figure: &Figure, context: &Context<'_>) -> Result<Finding, ExperimentError> {
    let seconds = counts(context.extent).1;
    // Ten runs tell a quarter of a decibel from nothing for two seeds of three.
    let count = runs::many(context.extent);
    (context.progress)("runs and decoding");
    let original = clip::original().map_err(|error| runs::failed(figure.name, &error))?;
    let pictures = (seconds as f64 * FORMAT.rate) as usize;
    let original: Vec<YuvPicture> = clip::repeated(&original, pictures).cloned().collect();
    let one = |seed: Seed| -> Result<SeedRuns, ExperimentError> {
        let each = CHANNELS.iter().map(|(air, service, _)| {
            let errors = runs::errors(figure.name, *air, seed)?;
            let send = |protocol| {
                let combination = Combination { protocol, service: *service };
                let run = runs::send(combination, seconds, &errors);
                let clip = decode(VideoCodec::H263Plus, FORMAT, &run.pictures)
                    .map_err(|error| runs::failed(figure.name, &error.into()))?;
                let psnr = ClipQuality::of(&clip, &original).mean_psnr();
                Ok(Sent { loss: run.loss(), psnr: psnr.unwrap_or(f64::NAN) })
            };
            let without =
                if context.is_mutated { WsimProtocol::Udp } else { WsimProtocol::UdpLite };
            Ok([send(WsimProtocol::Udp)?, send(without)?])
        });
        each.collect()
    };
    let runs: Vec<SeedRuns> =
        context.replicate(count, one).into_iter().collect::<Result<_, _>>()?;
    let method = format!(
        "{count} runs of {seconds} s over each channel, decoded by ffmpeg: UDP over PPP, and \
         UDP-Lite that covers up to the header of the picture over PPP Lite. The clip is the same \
         everywhere, and so is its coding."
    );
    Ok(Finding {
        inputs: vec![ExperimentInput::given("channels", "as named", "docs/explanation/gsm.md")],
        claims: claims(&runs),
        charts: vec![("", chart(&runs))],
        tables: vec![("", table(&runs))],
        ..figure.finding(context, method)
    })
}

/// The gain of leaving the checksum off in dB, of each seed.
fn gains(runs: &[SeedRuns], channel: usize) -> Vec<f64> {
    runs.iter().map(|run| run[channel][1].psnr - run[channel][0].psnr).collect()
}

/// The places of the channels with start and stop bits, and without.
const LINES: [(core::ops::Range<usize>, &str); 2] = [(0..3, "asynchronous"), (3..6, "synchronous")];

/// The mean gain over the channels of a kind of line.
fn gain(runs: &[SeedRuns], line: usize) -> Estimate {
    let channels = LINES[line].0.clone();
    let of = |run: &SeedRuns| {
        mean(&channels.clone().map(|at| run[at][1].psnr - run[at][0].psnr).collect::<Vec<_>>())
    };
    Estimate::mean(&runs.iter().map(of).collect::<Vec<_>>())
}

//= S1.68
fn claims(runs: &[SeedRuns]) -> Vec<Claim> {
    let depends = Claim::paper(
        "S1.68",
        "section 6: “the decision to turn checksumming on or off must be a function of the \
         metadata network environment rather than a function of the metadata multimedia \
         stream”",
        "on some channels the stream is better without the checksum",
    );
    let depends = LINES.iter().enumerate().fold(depends, |claim, (line, (_, name))| {
        let label = format!("{name}, mean gain of three channels, dB");
        claim.compare(label, gain(runs, line), Band::above(0.0, "an ordering"))
    });
    vec![
        depends.recorded(Verdict::NotReproduced).because(
            "on none of these: a head that hardly moves loses little by a lost picture, and more \
             by a damaged one; other streams may gain",
        ),
        Claim::ours("S1.68", "what UDP-Lite saves on a synchronous line costs quality").compare(
            "synchronous, mean gain of three channels, dB",
            gain(runs, 1),
            Band::below(0.0, "an ordering"),
        ),
    ]
}

fn chart(runs: &[SeedRuns]) -> Chart {
    let point = |channel: usize| {
        let Estimate { value, low, high, .. } = Estimate::mean(&gains(runs, channel));
        let spread = (low.is_finite() && high.is_finite()).then_some((low, high));
        Point { x: channel as f64, y: value, spread }
    };
    let points = (0..CHANNELS.len()).map(point).collect();
    let names = CHANNELS.map(|(.., name)| name.to_owned()).to_vec();
    Chart {
        title: "Gain of leaving the checksum off".to_owned(),
        subtitle: "PSNR over UDP-Lite less that over UDP; mean and 95 % interval".to_owned(),
        x: Axis::names("", names),
        y: Axis::linear("gain (dB)"),
        series: vec![Series::new("", Mark::Points, points)],
        rules: vec![(0.0, String::new())],
    }
}

fn table(runs: &[SeedRuns]) -> Table {
    let mut table = Table::new([
        "channel",
        "UDP, loss (%)",
        "UDP-Lite, loss (%)",
        "UDP, PSNR (dB)",
        "UDP-Lite, PSNR (dB)",
        "gain (dB)",
        "low",
        "high",
    ]);
    for (channel, (.., name)) in CHANNELS.iter().enumerate() {
        let of = |which: usize, of: fn(&Sent) -> f64| {
            mean(&runs.iter().map(|run| of(&run[channel][which])).collect::<Vec<_>>())
        };
        let losses = [0, 1].map(|which| 100.0 * of(which, |it| it.loss));
        let psnr = [0, 1].map(|which| of(which, |it| it.psnr));
        let gain = Estimate::mean(&gains(runs, channel));
        let values = losses.into_iter().chain(psnr).chain([gain.value, gain.low, gain.high]);
        let values = values.map(|value| format!("{value:.2}"));
        table.push([(*name).to_owned()].into_iter().chain(values));
    }
    table
}
