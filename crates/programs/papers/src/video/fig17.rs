//! Figure 17: pictures as they arrived, and their quality.

use windfall_base::Seed;
use windfall_report::{Axis, Chart, Estimate, Series, Table};
use windfall_video::{ClipQuality, VideoCodec, YuvPicture, decode};

use crate::experiment::{
    Band, Basis, Claim, Context, ExperimentError, Figure, Finding, Verdict, VerdictRecord,
};
use crate::video::clip::{self, FORMAT};
use crate::video::combination::{BAD, CHANNELS, COMBINATIONS, LITE, LITE_RLP, NAMES, UDP};
use crate::video::runs::{self, MUTATION, counts, mean};

pub(crate) const FIGURE: Figure = Figure {
    name: "S1.fig17",
    title: "Pictures and their quality, by transport and link",
    basis: Basis::Simulated,
    record: VerdictRecord::with_seeds(Verdict::InPart, 10),
    mutation: Some(MUTATION),
    run,
};

/// Quality of the pictures in the sheet, as JPEG.
const JPEG: u8 = 80;

/// The clips of one seed as they arrived, in the order of the combinations.
struct Clips {
    quality: Vec<ClipQuality>,
    /// The instant at which UDP without RLP is worst.
    instant: usize,
    /// The picture of each clip at that instant.
    pictures: Vec<YuvPicture>,
}

fn run(figure: &Figure, context: &Context<'_>) -> Result<Finding, ExperimentError> {
    let (runs, seconds) = counts(context.extent);
    (context.progress)("runs and decoding");
    let original = clip::original().map_err(|error| runs::failed(figure.name, &error))?;
    let count = (seconds as f64 * FORMAT.rate) as usize;
    let original: Vec<YuvPicture> = clip::repeated(&original, count).cloned().collect();
    let one = |seed| clips(figure.name, context, seconds, &original, seed);
    let all = context.replicate(runs, one);
    let all: Vec<Clips> = all.into_iter().collect::<Result<_, _>>()?;
    let method = format!(
        "{runs} runs of {seconds} s on the bad channel, as for S1.fig13, decoded by ffmpeg. PSNR \
         is that over all planes against the pictures before coding, its mean over all instants of \
         a run; a picture that does not arrive is the one before. Drawn is the instant of the \
         first run at which UDP without RLP is worst.",
    );
    Ok(Finding {
        inputs: runs::inputs(),
        claims: claims(&all),
        charts: all.first().map(|clips| ("", sheet(clips, &original))).into_iter().collect(),
        tables: vec![("", table(&all))],
        ..figure.finding(context, method)
    })
}

//= S1.35
/// Sends the clip by all combinations over the bad channel of one seed, and decodes it.
fn clips(
    figure: &'static str,
    context: &Context<'_>,
    seconds: usize,
    original: &[YuvPicture],
    seed: Seed,
) -> Result<Clips, ExperimentError> {
    let errors = runs::errors(figure, CHANNELS[BAD].0, seed)?;
    let mut clips = Vec::new();
    for combination in COMBINATIONS {
        let run = runs::send(runs::mutated(combination, context), seconds, &errors);
        let pictures = decode(VideoCodec::H263Plus, FORMAT, &run.pictures);
        clips.push(pictures.map_err(|error| runs::failed(figure, &error.into()))?);
    }
    let quality: Vec<_> = clips.iter().map(|clip| ClipQuality::of(clip, original)).collect();
    let of_udp = quality[UDP].pictures.iter().enumerate();
    let instant = of_udp.min_by(|a, b| a.1.psnr.total_cmp(&b.1.psnr)).map_or(0, |it| it.0);
    let pictures = clips.iter().filter_map(|clip| clip.get(instant).cloned()).collect();
    Ok(Clips { quality, instant, pictures })
}

impl Clips {
    /// The mean PSNR of the clip of a combination in dB.
    fn psnr(&self, at: usize) -> f64 {
        self.quality.get(at).and_then(ClipQuality::mean_psnr).unwrap_or(f64::NAN)
    }
}

//= S1.51
fn claims(all: &[Clips]) -> Vec<Claim> {
    let difference = |[one, other]: [usize; 2]| {
        let of = |clips: &Clips| clips.psnr(one) - clips.psnr(other);
        Estimate::mean(&all.iter().map(of).collect::<Vec<_>>())
    };
    let more = || Band::above(0.0, "an ordering");
    vec![
        Claim::paper(
            "S1.51",
            "section 5.2.5: “RLP … causes excellent video quality … non-RLP … causes slightly \
             worse video quality”",
            "RLP has the better pictures",
        )
        .compare("RLP over UDP without RLP, dB", difference([LITE_RLP, UDP]), more())
        .compare("RLP over UDP-Lite without RLP, dB", difference([LITE_RLP, LITE]), more()),
        Claim::paper(
            "S1.51",
            "section 5.2.5: “it is preferable to use UDP Lite over UDP: … a large amount of \
             distortion near the girl's ear (due to packet losses)”",
            "without RLP UDP-Lite has better pictures than UDP",
        )
        .compare("UDP-Lite over UDP, dB", difference([LITE, UDP]), more())
        .recorded(Verdict::NotReproduced)
        .because(
            "UDP-Lite passes up hardly more packets, and a damaged one corrupts what the decoder \
             takes from it until the next picture that needs no other; a lost picture of a head \
             that hardly moves is the one before",
        ),
    ]
}

/// Draws the pictures of the instant at which UDP without RLP is worst in the first run.
fn sheet(clips: &Clips, original: &[YuvPicture]) -> Chart {
    let instant = clips.instant;
    let draw = |column: usize, caption: String, picture: Option<&YuvPicture>| {
        let jpeg = picture.and_then(|it| it.to_picture().to_jpeg(JPEG).ok());
        Series::picture(caption, (column as f64, 0.0), (0.47, 0.4), jpeg.unwrap_or_default())
    };
    let mut series = vec![draw(0, "sent".to_owned(), original.get(instant))];
    for (at, (quality, picture)) in clips.quality.iter().zip(&clips.pictures).enumerate() {
        let psnr = quality.pictures.get(instant).map_or(0.0, |it| it.psnr);
        let caption = format!("{psnr:.1} dB; clip {:.1} dB", clips.psnr(at));
        series.push(draw(at + 1, caption, Some(picture)));
    }
    let names = ["before coding"].into_iter().chain(NAMES).map(str::to_owned).collect();
    let seconds = instant as f64 / FORMAT.rate;
    Chart {
        title: format!("Pictures that arrived, {seconds:.1} s into the clip"),
        subtitle: "bad channel; PSNR of the picture and of the whole clip".to_owned(),
        x: Axis::names("", names),
        y: Axis::names("", vec![String::new()]),
        series,
        rules: Vec::new(),
    }
}

fn table(all: &[Clips]) -> Table {
    let columns = ["combination", "PSNR, mean (dB)", "SSIM, mean", "PSNR of each run (dB)"];
    let mut table = Table::new(columns);
    for (at, name) in NAMES.iter().enumerate() {
        let each: Vec<f64> = all.iter().map(|clips| clips.psnr(at)).collect();
        let ssim: Vec<f64> = all.iter().filter_map(|it| it.quality[at].mean_ssim()).collect();
        let list: Vec<String> = each.iter().map(|value| format!("{value:.2}")).collect();
        let psnr = format!("{:.2}", mean(&each));
        let ssim = format!("{:.4}", mean(&ssim));
        table.push([(*name).to_owned(), psnr, ssim, list.join(" ")]);
    }
    table
}
