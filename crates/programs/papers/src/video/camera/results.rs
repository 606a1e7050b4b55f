//! Claims, charts and the table.

use windfall_report::{Axis, Chart, Estimate, Mark, Point, Series, Table};
use windfall_video::YuvPicture;

use super::scheme::{ARQ, BARE, BLOCKS, PARTS, PARTS_ARQ, SCHEMES};
use super::{Clip, Outcome, PLACES, SeedRuns};
use crate::experiment::{Band, Claim, Verdict};
use crate::video::runs::mean;

/// The further one of the places.
const EDGE: usize = 1;
/// Quality of the pictures in the sheet, as JPEG.
const JPEG: u8 = 50;

/// The mean difference of two schemes at a place.
fn difference(
    all: &[SeedRuns],
    place: usize,
    [one, other]: [usize; 2],
    of: fn(&Outcome) -> f64,
) -> Estimate {
    let each = all.iter().map(|run| of(&run[place][one]) - of(&run[place][other]));
    Estimate::mean(&each.collect::<Vec<_>>())
}

/// Compares two schemes at both places.
fn both(
    claim: Claim,
    all: &[SeedRuns],
    (pair, unit): ([usize; 2], &str),
    of: fn(&Outcome) -> f64,
    band: &Band,
) -> Claim {
    PLACES.iter().enumerate().fold(claim, |claim, (place, (_, name))| {
        let [one, other] = pair.map(|scheme| SCHEMES[scheme].name);
        let label = format!("{name}, {one} less {other}, {unit}");
        claim.compare(label, difference(all, place, pair, of), band.clone())
    })
}

//= S1.55
pub(super) fn claims(all: &[SeedRuns]) -> Vec<Claim> {
    let more = Band::above(0.0, "an ordering");
    let less = Band::below(0.0, "an ordering");
    let psnr: fn(&Outcome) -> f64 = |it| it.psnr;
    let late: fn(&Outcome) -> f64 = |it| it.delays[1];
    let ours = |statement: &str| Claim::ours("S1.55", statement);
    let best = ours("retransmission has the best pictures");
    let best = both(best, all, ([ARQ, BLOCKS], "dB"), psnr, &more);
    let best = both(best, all, ([ARQ, PARTS], "dB"), psnr, &more);
    let edge = |claim: Claim, pair: [usize; 2]| {
        let [one, other] = pair.map(|scheme| SCHEMES[scheme].name);
        let label = format!("{}, {one} less {other}, dB", PLACES[EDGE].1);
        claim.compare(label, difference(all, EDGE, pair, psnr), more.clone())
    };
    let parts = ours("further out the stream has better pictures in protected parts than bare");
    let parts = edge(parts, [PARTS, BARE]);
    let blocks = ours("further out damaged slices, sent once, do better than a code of 8/12");
    let blocks = edge(blocks, [PARTS, BLOCKS]);
    let delay = ours("sent once, pictures come sooner than with retransmission, and freeze less");
    let delay = both(delay, all, ([PARTS, ARQ], "ms at 95 %"), late, &less).compare(
        format!("{}, share of the time frozen", PLACES[EDGE].1),
        difference(all, EDGE, [PARTS, ARQ], |it| it.frozen),
        less.clone(),
    );
    let copies = ours("damaged copies before the whole ones make retransmission better");
    let copies = both(copies, all, ([PARTS_ARQ, ARQ], "dB"), psnr, &more);
    let copies = copies.recorded(Verdict::NotReproduced).because(
        "in a frame that fails most of a slice is damaged, and ffmpeg conceals a missing slice \
         about as well as it decodes such a one",
    );
    vec![best, parts, blocks, delay, copies]
}

fn chart(all: &[SeedRuns], title: &str, y: Axis, of: fn(&Outcome) -> f64) -> Chart {
    let series = PLACES.iter().enumerate().map(|(place, (_, name))| {
        let point = |scheme: usize| {
            let each: Vec<f64> = all.iter().map(|run| of(&run[place][scheme])).collect();
            let Estimate { value, low, high, .. } = Estimate::mean(&each);
            let spread = (low.is_finite() && high.is_finite()).then_some((low, high));
            Point { x: scheme as f64 + 0.1 * (2.0 * place as f64 - 1.0), y: value, spread }
        };
        Series::new(*name, Mark::Points, (0..SCHEMES.len()).map(point).collect())
    });
    Chart {
        title: title.to_owned(),
        subtitle: "mean and 95 % interval".to_owned(),
        x: Axis::names("", SCHEMES.iter().map(|scheme| scheme.name.to_owned()).collect()),
        y,
        series: series.collect(),
        rules: Vec::new(),
    }
}

pub(super) fn quality(all: &[SeedRuns]) -> Chart {
    chart(all, "Picture quality by error control", Axis::linear("PSNR (dB)"), |it| it.psnr)
}

pub(super) fn delay(all: &[SeedRuns]) -> Chart {
    let axis = Axis::linear("delay, 95 % (ms)");
    chart(all, "Delay of pictures by error control", axis, |it| it.delays[1])
}

/// Draws the picture in the middle of the first run, further out.
pub(super) fn sheet(all: &[SeedRuns], clip: &Clip) -> Chart {
    let draw = |column: usize, caption: String, picture: Option<&YuvPicture>| {
        let jpeg = picture.and_then(|it| it.to_picture().to_jpeg(JPEG).ok());
        let sides = (0.47, 0.4);
        Series::picture(caption, (column as f64, 0.0), sides, jpeg.unwrap_or_default())
    };
    let original = clip.original.get(clip.original.len() / 2);
    let mut series = vec![draw(0, format!("clip {:.1} dB", clip.psnr), original)];
    for (at, outcome) in all.iter().take(1).flat_map(|run| &run[EDGE]).enumerate() {
        let caption = format!("clip {:.1} dB", outcome.psnr);
        series.push(draw(at + 1, caption, outcome.picture.as_ref()));
    }
    let names = ["before coding"].into_iter().chain(SCHEMES.iter().map(|scheme| scheme.name));
    Chart {
        title: format!("Pictures that arrived over {}", PLACES[EDGE].1),
        subtitle: "the middle of the first run; PSNR of the whole clip".to_owned(),
        x: Axis::names("", names.map(str::to_owned).collect()),
        y: Axis::names("", vec![String::new()]),
        series,
        rules: Vec::new(),
    }
}

pub(super) fn table(all: &[SeedRuns]) -> Table {
    type Measure = (&'static str, fn(&Outcome) -> f64, usize);
    const MEASURES: [Measure; 10] = [
        ("packets, copies too (%)", |it| 100.0 * it.used, 1),
        ("delay, median (ms)", |it| it.delays[0], 1),
        ("delay, 95 % (ms)", |it| it.delays[1], 1),
        ("delay, 99 % (ms)", |it| it.delays[2], 1),
        ("freezes in a minute", |it| it.freezes, 1),
        ("frozen (%)", |it| 100.0 * it.frozen, 2),
        ("PSNR (dB)", |it| it.psnr, 2),
        ("SSIM", |it| it.ssim, 4),
        ("frames for each packet", |it| it.frames, 2),
        ("time on the air (%)", |it| 100.0 * it.busy, 1),
    ];
    let columns = ["distance", "scheme"].into_iter().chain(MEASURES.map(|(name, ..)| name));
    let mut table = Table::new(columns.map(str::to_owned));
    for (place, (_, name)) in PLACES.iter().enumerate() {
        for (at, scheme) in SCHEMES.iter().enumerate() {
            let cell = |(_, of, digits): &Measure| {
                let each: Vec<f64> = all.iter().map(|run| of(&run[place][at])).collect();
                format!("{:.*}", *digits, mean(&each))
            };
            let row = [(*name).to_owned(), scheme.name.to_owned()].into_iter();
            table.push(row.chain(MEASURES.iter().map(cell)));
        }
    }
    table
}
