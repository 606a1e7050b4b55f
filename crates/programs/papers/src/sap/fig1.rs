//! Figure 1: a picture, sent precisely and approximately.

use windfall_base::{Class, Duration, Probability, Rate, Seed};
use windfall_channel::{AirConfig, Line, MediumConfig, Model, PathConfig, PipeMediumConfig};
use windfall_media::{Arrived, Jpeg, Picture, landscape};
use windfall_network::{EndConfig, LinkConfig, NetworkConfig, StationConfig};
use windfall_report::{Axis, Chart, Estimate, Series, Table, statistics};
use windfall_stack::InterfaceConfig;
use windfall_stack::Rule;

use super::ends::{Pair, ProtocolUnderTest, Records};
use super::office::{self, Office};
use crate::experiment::{
    Band, Basis, Claim, Context, ExperimentError, Extent, Figure, Finding, Verdict, VerdictRecord,
};

pub(crate) const FIGURE: Figure = Figure {
    name: "S0.fig1",
    title: "A picture sent precisely and approximately, by bit error rate",
    basis: Basis::Simulated,
    record: VerdictRecord::with_seeds(Verdict::NotReproduced, 20),
    mutation: Some("damaged frames are dropped"),
    run,
};

/// The way of the datagrams.
#[derive(Clone, Copy, Debug)]
enum Path {
    /// A link of 10 Mb/s whose bits are inverted independently, at this rate.
    BitErrors(f64),
    /// 802.11g in the office at 54 Mb/s, at this distance in metres.
    Office(f64),
}

/// The paths with their names.
const PATHS: [(Path, &str); 4] = [
    (Path::BitErrors(1e-5), "1e-5"),
    (Path::BitErrors(1e-4), "1e-4"),
    (Path::BitErrors(1e-3), "1e-3"),
    (Path::Office(12.2), "office"),
];
/// The indices of the path that the paper's picture is compared with, and of the office.
const MIDDLE: usize = 1;
const OFFICE: usize = 3;
/// The data length of a datagram, and of a part of the exact data, in bytes.
const SIZES: (usize, usize) = (512, 100);
const QUALITY: u8 = 85;
/// The interval between two datagrams.
const INTERVAL: Duration = Duration::from_millis(1);
/// The time limit for exact data.
const PATIENCE: Duration = Duration::from_secs(60);
/// The similarity below which a picture cannot be recognised: PSNR in dB, and SSIM.
const RECOGNISED: (f64, f64) = (18.0, 0.5);

/// The mode of transmission of the picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// All of the file is exact.
    Precise,
    /// The header and the positions of the segments are exact, the rest is approximate.
    HeadExact,
    /// All of the file is approximate.
    AllApproximate,
    /// As `HeadExact`, over a link that discards damaged frames.
    Discarding,
}

const WAYS: [(Way, &str); 4] = [
    (Way::Precise, "precise"),
    (Way::HeadExact, "head exact"),
    (Way::AllApproximate, "all approximate"),
    (Way::Discarding, "damaged discarded"),
];

/// The received data of one picture.
struct Sent {
    /// The decoded picture, unless decoding failed.
    picture: Option<Picture>,
    psnr: f64,
    ssim: f64,
    /// The fraction of the scan's datagrams that arrived.
    arrived: f64,
}

/// All pictures of one mode over one path.
struct Cell {
    way: usize,
    path: usize,
    sent: Vec<Sent>,
}

impl Cell {
    fn mean(&self, of: impl Fn(&Sent) -> f64) -> f64 {
        let values: Vec<f64> = self.sent.iter().map(of).collect();
        statistics::mean(&values).unwrap_or(0.0)
    }

    fn unreadable(&self) -> usize {
        self.sent.iter().filter(|sent| sent.picture.is_none()).count()
    }
}

const fn runs(extent: Extent) -> usize {
    match extent {
        Extent::Quick => 4,
        Extent::Paper => 20,
        Extent::Full => 100,
    }
}

fn run(figure: &Figure, context: &Context<'_>) -> Result<Finding, ExperimentError> {
    let picture = landscape();
    let failed = |error: windfall_media::PictureError| ExperimentError::Scenario {
        figure: figure.name,
        message: error.to_string(),
    };
    let jpeg = Jpeg::encode(&picture, QUALITY).map_err(failed)?;
    let mut cells = Vec::new();
    for (path, (over, place)) in PATHS.into_iter().enumerate() {
        for (way, (kind, name)) in WAYS.into_iter().enumerate() {
            (context.progress)(&format!("{name}, {place}"));
            let kind = match kind {
                Way::HeadExact if context.is_mutated => Way::Discarding,
                kind => kind,
            };
            let sent = context
                .replicate(runs(context.extent), |seed| send(kind, over, seed, &picture, &jpeg));
            cells.push(Cell { way, path, sent });
        }
    }
    let claims = claims(&cells);
    let method = format!(
        "{} pictures for each way and path: a link of 10 Mb/s whose bits are inverted \
         independently at a rate, and 802.11g at 54 Mb/s and 12.2 m in the office of the other \
         figures, in simulated time through SAP's machine. The picture is the project's \
         own ({} × {} pixels, JPEG of quality {QUALITY}, a restart marker every few blocks), \
         since the paper's photograph is not free. PSNR and SSIM are taken against the \
         original; the pictures shown are the first of each. {}",
        runs(context.extent),
        picture.width(),
        picture.height(),
        office::DESCRIPTION
    );
    Ok(Finding {
        inputs: office::inputs(),
        claims,
        charts: vec![("", gallery(&cells))],
        tables: vec![("", table(&cells))],
        ..figure.finding(context, method)
    })
}

//= S0.27
//= S0.38
/// Compares the pictures with the paper.
fn claims(cells: &[Cell]) -> Vec<Claim> {
    let cell = |way: usize, path: usize| &cells[path * WAYS.len() + way];
    let recognisable = |claim: Claim, way: usize, path: usize| recognisable(claim, cell(way, path));
    let better = |ways: [usize; 2], path: usize| {
        let [a, b] = ways.map(|way| &cell(way, path).sent);
        let differences = a.iter().zip(b).map(|(a, b)| a.psnr - b.psnr);
        Estimate::mean(&differences.collect::<Vec<_>>())
    };
    // By the run, over all paths: they have the same seeds.
    let unreadable = |way: usize, run: usize| {
        let sent = cells.iter().filter(|cell| cell.way == way).map(|cell| &cell.sent[run]);
        sent.filter(|sent| sent.picture.is_none()).count() as f64 / PATHS.len() as f64
    };
    let spared = (0..cells[0].sent.len()).map(|run| unreadable(2, run) - unreadable(1, run));
    let paper = |statement: &str| {
        let quote = "caption of Figure 1: “bit errors render the image degraded but recognizable”";
        Claim::paper("S0.38", quote, statement)
    };
    let of_head = |statement: &str, path: usize| {
        let claim = Claim::ours("S0.38", statement);
        let band = Band::from(1.0, "degraded");
        claim.compare("dB worse than precise", better([0, 1], path), band)
    };
    let synchrony = "a bit error costs an entropy-coded picture all that follows until the next \
                     marker, and one in its tables everything; the paper says neither its bit \
                     error rate nor how its picture was coded";
    vec![
        recognisable(paper("sent approximately as a whole, it is recognisable at 1e-4"), 2, MIDDLE)
            .recorded(Verdict::NotReproduced)
            .because(synchrony),
        recognisable(paper("so it is over 802.11 in the office, at 54 Mb/s and 12.2 m"), 2, OFFICE)
            .recorded(Verdict::NotReproduced)
            .because(synchrony),
        recognisable(
            of_head(
                "with its head exact it is worse than the precise one at 1e-4, and recognisable",
                MIDDLE,
            ),
            1,
            MIDDLE,
        ),
        of_head(
            "over 802.11 in the office, with its head exact, it is worse than the precise one and \
             better than as a whole",
            OFFICE,
        )
        .compare("dB better than as a whole", better([1, 2], OFFICE), Band::from(1.0, "it shows"))
        .because(
            "its PSNR of 17 to 21 dB reaches across the edge of what is recognised, 18 dB: three \
             tenths of the datagrams are missing, and gaps cost PSNR more than they hide",
        ),
        Claim::ours(
            "S0.27",
            "an exact head keeps pictures readable: more are unreadable without one",
        )
        .compare(
            "share of pictures more",
            Estimate::mean(&spared.collect::<Vec<_>>()),
            Band::above(0.0, "the sign says that the head matters"),
        ),
        Claim::ours("S0.38", "at 1e-4 accepting damage shows more than discarding it").compare(
            "dB better",
            better([1, 3], MIDDLE),
            Band::from(1.0, "1 dB can be seen"),
        ),
    ]
}

/// Judges whether the pictures of a cell can be recognised.
fn recognisable(claim: Claim, cell: &Cell) -> Claim {
    let mean = |of: fn(&Sent) -> f64| Estimate::mean(&cell.sent.iter().map(of).collect::<Vec<_>>());
    let [psnr, ssim] = [RECOGNISED.0, RECOGNISED.1].map(|least| Band::from(least, "recognisable"));
    claim.compare("PSNR in dB", mean(|it| it.psnr), psnr).compare("SSIM", mean(|it| it.ssim), ssim)
}

/// Sends the picture once.
fn send(way: Way, path: Path, seed: Seed, original: &Picture, jpeg: &Jpeg) -> Sent {
    let file = jpeg.to_bytes();
    let layout = jpeg.layout().to_bytes();
    let (data, described) = match way {
        Way::AllApproximate => (&file[..], &[][..]),
        _ => (jpeg.scan(), &layout[..]),
    };
    let prelude: Vec<Vec<u8>> = described.chunks(SIZES.1).map(<[u8]>::to_vec).collect();
    let records: Vec<Vec<u8>> = data.chunks(SIZES.0).map(<[u8]>::to_vec).collect();
    // Precise messages are all alike, and in order.
    let (prelude, records) = match way {
        Way::Precise => (Vec::new(), [prelude, records].concat()),
        _ => (prelude, records),
    };
    let done = exchange(way, path, &prelude, &records, seed);
    judge(way, original, jpeg, &records, &done)
}

/// Sends the exact data and the records; returns the received ones.
fn exchange(way: Way, path: Path, prelude: &[Vec<u8>], records: &[Vec<u8>], seed: Seed) -> Done {
    let protocol = if way == Way::Precise {
        ProtocolUnderTest::Precise
    } else {
        ProtocolUnderTest::Approximate
    };
    let accepts = way != Way::Discarding;
    let pair = match path {
        Path::BitErrors(ber) => Pair::over(&link(ber, accepts), protocol, SIZES.0, seed.0),
        Path::Office(metres) => {
            let accepts = accepts && way != Way::Precise;
            Pair::accepting(Office::at(metres, 54), protocol, accepts, SIZES.0, seed.0)
        }
    };
    let Some(mut pair) = pair else { return Done::default() };
    if !prelude.iter().all(|part| pair.describe(part, PATIENCE)) {
        return Done::default();
    }
    for record in records {
        // The picture fits into the buffer, unless the connection has ended.
        if !pair.send(record) {
            break;
        }
        pair.run(pair.now + INTERVAL);
    }
    pair.finish();
    let until = pair.now + PATIENCE;
    while !pair.is_over() && pair.now < until {
        pair.run(pair.now + INTERVAL);
    }
    Done { described: pair.described, records: pair.received }
}

/// The received exact data and records.
#[derive(Default)]
struct Done {
    described: Vec<u8>,
    records: Records,
}

/// Decodes the received data.
fn judge(way: Way, original: &Picture, jpeg: &Jpeg, records: &[Vec<u8>], done: &Done) -> Sent {
    let len: usize = records.iter().map(Vec::len).sum();
    let mut data = vec![0; len];
    let described = if way == Way::Precise { len - jpeg.scan().len() } else { 0 };
    let mut arrived = Arrived::new(len - described);
    let starts: Vec<usize> = records
        .iter()
        .scan(0, |at, record| {
            *at += record.len();
            Some(*at - record.len())
        })
        .collect();
    for (_, number, record) in &done.records {
        let Some(at) = starts.get(*number as usize) else { continue };
        let end = len.min(at + record.len());
        data[*at..end].copy_from_slice(&record[..end - at]);
        if let Some(at) = at.checked_sub(described) {
            arrived.put(at, record);
        }
    }
    let decoded = jpeg.layout().decode(&arrived).ok().map(|decoded| decoded.picture);
    let picture = match way {
        Way::AllApproximate => {
            Picture::read(&data).ok().filter(|read| read.psnr(original).is_some())
        }
        // The layout arrived exactly, or nothing can be decoded.
        Way::HeadExact | Way::Discarding => {
            decoded.filter(|_| done.described == jpeg.layout().to_bytes())
        }
        Way::Precise => decoded.filter(|_| data[..described] == jpeg.layout().to_bytes()),
    };
    let of = |measure: fn(&Picture, &Picture) -> Option<f64>| {
        picture.as_ref().and_then(|picture| measure(picture, original)).unwrap_or(0.0)
    };
    let psnr = of(Picture::psnr);
    let ssim = of(Picture::ssim);
    let share = done.records.len() as f64 / records.len().max(1) as f64;
    Sent { picture, psnr, ssim, arrived: share }
}

/// Two stations and a link of 10 Mb/s with bit errors.
fn link(ber: f64, accept_damaged: bool) -> NetworkConfig {
    let errors = Probability::new(ber).map(Model::BitErrors);
    let path = || PathConfig {
        line: Rate::from_mbps(10).map_or(Line::Instant, Line::Rate),
        delay: Duration::from_millis(1),
        air: errors.clone().map_or_else(AirConfig::default, AirConfig::of),
        ..PathConfig::default()
    };
    let medium =
        MediumConfig::Pipe(Box::new(PipeMediumConfig { forward: path(), backward: path() }));
    let pipe = windfall_link::PipeConfig { accept_damaged, ..Default::default() };
    let rule = Rule::approximate();
    let class = Class { accept_damaged: Some(accept_damaged), ..rule.class };
    let rule = Rule { class, ..rule };
    let interface = || InterfaceConfig {
        rules: vec![rule.clone()],
        link: windfall_stack::LinkLayerConfig::Pipe(pipe.clone()),
        ..InterfaceConfig::default()
    };
    let end = |station| EndConfig { station, interface: interface() };
    let station = |name: &str| StationConfig { name: name.to_owned(), host: None };
    NetworkConfig {
        stations: vec![station("near"), station("far")],
        links: vec![LinkConfig { name: "air".to_owned(), medium, ends: vec![end(0), end(1)] }],
    }
}

/// Draws the pictures side by side.
fn gallery(cells: &[Cell]) -> Chart {
    let picture = |cell: &Cell| {
        let place = (cell.way as f64, cell.path as f64);
        let first = cell.sent.first()?;
        let caption = match &first.picture {
            Some(_) => format!("{:.1} dB, SSIM {:.2}", first.psnr, first.ssim),
            None => "unreadable".to_owned(),
        };
        let jpeg = first.picture.as_ref().and_then(|picture| picture.to_jpeg(60).ok());
        Some(Series::picture(caption, place, (0.47, 0.37), jpeg.unwrap_or_default()))
    };
    let names = WAYS.map(|(_, name)| name.to_owned()).to_vec();
    Chart {
        title: "A picture, sent in four ways".to_owned(),
        subtitle: "through SAP; PSNR and SSIM against the original".to_owned(),
        x: Axis::names("how it was sent", names),
        y: Axis::names("bit error rate, or place", PATHS.map(|path| path.1.to_owned()).to_vec()),
        series: cells.iter().filter_map(picture).collect(),
        rules: Vec::new(),
    }
}

fn table(cells: &[Cell]) -> Table {
    let mut table = Table::new([
        "sent",
        "bit error rate, or place",
        "pictures",
        "unreadable",
        "mean PSNR (dB)",
        "mean SSIM",
        "datagrams arrived (%)",
    ]);
    for cell in cells {
        table.push([
            WAYS[cell.way].1.to_owned(),
            PATHS[cell.path].1.to_owned(),
            cell.sent.len().to_string(),
            cell.unreadable().to_string(),
            format!("{:.2}", cell.mean(|sent| sent.psnr)),
            format!("{:.3}", cell.mean(|sent| sent.ssim)),
            format!("{:.1}", 100.0 * cell.mean(|sent| sent.arrived)),
        ]);
    }
    table
}
