//! Beyond the paper: a drone's camera over 802.11g, near the end of its range.

mod air;
mod flight;
mod pilot;
mod results;
mod scheme;

use windfall_base::{Duration, Seed};
use windfall_video::{ClipQuality, EncodeConfig, VideoCodec, YuvPicture, decode};

use crate::video::runs::failed;
use flight::FORMAT;
use scheme::{SCHEMES, Scheme};

use crate::experiment::{
    Basis, Context, ExperimentError, ExperimentInput, Extent, Figure, Finding, Verdict,
    VerdictRecord,
};

pub(crate) const FIGURE: Figure = Figure {
    name: "S1.camera",
    title: "A drone's camera near the end of its range, by error control",
    basis: Basis::Simulated,
    record: VerdictRecord::with_seeds(Verdict::InPart, 40),
    mutation: Some("damaged frames are dropped"),
    run,
};

/// The distances in metres, and their names.
const PLACES: [(f64, &str); 2] = [(800.0, "800 m"), (1_100.0, "1100 m")];
/// Bits of the stream in a second.
const BIT_RATE: u32 = 4_000_000;

/// The stream by one scheme.
#[derive(Clone, Debug)]
struct Outcome {
    /// Quantiles of the delay in milliseconds: median, 0.95, 0.99.
    delays: [f64; 3],
    /// Times without a new picture in a minute, and the share of the time in them.
    freezes: f64,
    frozen: f64,
    /// The mean PSNR in dB, and the mean SSIM.
    psnr: f64,
    ssim: f64,
    /// Frames on the air for each packet, and the share of the time for which the drone sends.
    frames: f64,
    busy: f64,
    /// The share of packets that the receiver could use.
    used: f64,
    /// The picture in the middle, for the sheet.
    picture: Option<YuvPicture>,
}

/// The outcomes of a seed: of each place, all schemes.
type SeedRuns = Vec<Vec<Outcome>>;

/// The stream before it is sent.
struct Clip {
    original: Vec<YuvPicture>,
    coded: Vec<Vec<u8>>,
    /// The PSNR of the stream without losses.
    psnr: f64,
}

/// The number of runs, and the pictures of each.
const fn counts(extent: Extent) -> (usize, usize) {
    match extent {
        Extent::Quick => (3, 60),
        Extent::Paper => (40, 300),
        Extent::Full => (40, 300),
    }
}

fn run(figure: &Figure, context: &Context<'_>) -> Result<Finding, ExperimentError> {
    let (runs, pictures) = counts(context.extent);
    (context.progress)("flight and coding");
    let clip = clip(figure.name, pictures)?;
    (context.progress)("runs and decoding");
    let one = |seed: Seed| -> Result<SeedRuns, ExperimentError> {
        let place = |(metres, _): &(f64, &str)| {
            let schemes = SCHEMES.iter().map(|scheme| {
                let takes_damaged = scheme.takes_damaged && !context.is_mutated;
                let scheme = Scheme { takes_damaged, ..*scheme };
                send(figure.name, &scheme, *metres, &clip, seed)
            });
            schemes.collect::<Result<Vec<_>, _>>()
        };
        PLACES.iter().map(place).collect()
    };
    let all: Vec<SeedRuns> = context.replicate(runs, one).into_iter().collect::<Result<_, _>>()?;
    Ok(Finding {
        inputs: inputs(),
        claims: results::claims(&all),
        charts: vec![
            ("", results::quality(&all)),
            ("delay", results::delay(&all)),
            ("pictures", results::sheet(&all, &clip)),
        ],
        tables: vec![("", results::table(&all))],
        ..figure.finding(context, method(&clip, runs, pictures))
    })
}

/// Draws the flight and encodes it.
fn clip(figure: &'static str, pictures: usize) -> Result<Clip, ExperimentError> {
    let original = flight::pictures(pictures).map_err(|error| failed(figure, &error))?;
    let config = EncodeConfig {
        codec: VideoCodec::H264,
        format: FORMAT,
        bit_rate: BIT_RATE,
        slice: scheme::SLICE,
        key_interval: 30,
    };
    let coded = windfall_video::ffmpeg::encode(&config, &original);
    let coded = coded.map_err(|error| failed(figure, &error.into()))?;
    let clean = decode(VideoCodec::H264, FORMAT, &coded);
    let clean = clean.map_err(|error| failed(figure, &error.into()))?;
    let psnr = ClipQuality::of(&clean, &original).mean_psnr().unwrap_or(f64::NAN);
    Ok(Clip { original, coded, psnr })
}

/// Sends the stream and receives it.
fn send(
    figure: &'static str,
    scheme: &Scheme,
    metres: f64,
    clip: &Clip,
    seed: Seed,
) -> Result<Outcome, ExperimentError> {
    let packets = scheme.packets(&clip.coded);
    let carried = air::carry(figure, scheme, metres, &packets, seed)?;
    let count = clip.coded.len();
    let viewed = pilot::view(scheme, &carried.arrivals, count);
    let pictures = decode(VideoCodec::H264, FORMAT, &viewed.coded);
    let pictures = pictures.map_err(|error| failed(figure, &error.into()))?;
    let quality = ClipQuality::of(&pictures, &clip.original);
    let mut delays: Vec<f64> = viewed.delays.iter().map(|it| 1e3 * it.as_secs_f64()).collect();
    delays.sort_by(f64::total_cmp);
    let seconds = count as f64 / FORMAT.rate;
    Ok(Outcome {
        delays: [0.5, 0.95, 0.99].map(|share| quantile(&delays, share)),
        freezes: 60.0 * viewed.freezes.len() as f64 / seconds,
        frozen: viewed.freezes.iter().copied().map(Duration::as_secs_f64).sum::<f64>() / seconds,
        psnr: quality.mean_psnr().unwrap_or(f64::NAN),
        ssim: quality.mean_ssim().unwrap_or(f64::NAN),
        frames: carried.frames as f64 / packets.len() as f64,
        busy: carried.busy,
        used: viewed.packets as f64 / packets.len() as f64,
        picture: pictures.get(count / 2).cloned(),
    })
}

/// Returns the value below which a share of the sorted ones lies.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(place.max(1) - 1).copied().unwrap_or(f64::INFINITY)
}

fn inputs() -> Vec<ExperimentInput> {
    let inputs = [
        ("link", "802.11g at 24 Mb/s, 15 dBm, seven attempts", "docs/explanation/wifi.md"),
        ("path loss", "free space, Rician fading with K = 6 and 20 Hz", "a drone in sight"),
        ("distances", "800 and 1100 m", "about a sixth and half of the frames fail"),
        ("stream", "H.264 of x264, 640 × 360, 30 pictures a second, 4 Mb/s", "2 to 6 Mb/s"),
        ("lifetime", "100 ms for each packet", "an older picture is of no use to a pilot"),
        ("block code", "8 of 12 packets, no attempt but the first", "the default of wfb-ng"),
    ];
    inputs.map(|(name, value, source)| ExperimentInput::given(name, value, source)).into()
}

/// Describes the method, for the page.
fn method(clip: &Clip, runs: usize, pictures: usize) -> String {
    let bytes: usize = clip.coded.iter().map(Vec::len).sum();
    let seconds = pictures as f64 / FORMAT.rate;
    let rate = 8e-6 * bytes as f64 / seconds;
    format!(
        "{runs} runs of {seconds} s at each distance, all schemes over the same air. A flight over \
         fields, drawn by the program, is coded by x264 for low delay ({rate:.1} Mb/s, slices of \
         {} bytes, a picture that needs no other each second; {:.1} dB without losses), and enters \
         the device of the link as IP packets, each picture at its instant. A picture is shown \
         when its last packet has come or a packet of a later one; ffmpeg decodes and conceals. \
         The delay is that from the instant of a picture to the one at which it is shown: camera, \
         encoder, decoder and display, the same for all, are left out. The view is frozen while \
         for more than {} ms no new picture is shown. The bare stream covers the header of RTP \
         alone; protected parts cover headers of slices, and what must be exact as a whole is \
         retransmitted. With ARQ a damaged part is passed up at once, and the whole one when it \
         comes.",
        scheme::SLICE,
        clip.psnr,
        pilot::FREEZE.as_nanos() / 1_000_000,
    )
}
