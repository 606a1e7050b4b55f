//! What TCP sends where a share of its own packets is lost: steady distances (S4.30).

use windfall_base::{Duration, Seed};
use windfall_report::{Axis, Chart, Estimate, Mark, Point, Series, Table, number};

use crate::corruption::walks::{Walk, Walked};
use crate::experiment::{Context, ExperimentError, Extent};

/// The notebooks of the indoor walk at a place, for the time of a measurement; `X` is the distance
/// in metres.
const STEADY: &str = r#"
format = 1

[[station]]
name = "sender"
radio.position = [0.0, 0.0]

[[station]]
name = "receiver"
radio.position = [DISTANCE, 0.0]

[[link]]
name = "air"
kind = "wifi-b"
stations = ["sender", "receiver"]
rate = "11Mbps"
arq = "none"
accept-damaged = true

[link.radio]
path-loss = "log 3.3"
walls = [[6, -20, 6, 20, 5], [12, -20, 12, 20, 5]]
fading = "FADING"
noise-figure = 12.5
distortion = -20.0
preamble-power = "-84dBm"

[[app]]
kind = "bulk"
station = "sender"
to = "receiver"
"#;

/// The distances, in metres.
const DISTANCES: [u32; 8] = [14, 20, 24, 26, 27, 28, 29, 30];
/// The fading of the walks, and one so fast that the losses of packets are nearly independent.
const FADINGS: [(&str, &str); 2] =
    [("fading of the walks", "rician 3 5"), ("fast fading", "rician 3 100")];
/// The length of a measurement.
const LENGTH: Duration = Duration::from_secs(60);

/// A place with what its runs counted.
pub(super) struct Steady {
    fading: usize,
    metres: u32,
    runs: Vec<Walked>,
}

impl Steady {
    /// Returns the share of TCP's own packets that are lost, one for each seed.
    pub(super) fn lost(&self) -> Vec<f64> {
        let lost = |it: &Walked| it.counts.lost() as f64 / it.counts.sent.max(1) as f64;
        self.runs.iter().map(lost).collect()
    }

    /// Returns the packets that TCP would send in twenty minutes, one for each seed.
    pub(super) fn sent(&self) -> Vec<f64> {
        let scale = 1200.0 / LENGTH.as_secs_f64();
        self.runs.iter().map(|it| it.counts.sent as f64 * scale).collect()
    }
}

/// Returns the scenario of the notebooks at a steady distance.
pub(crate) fn scenario(metres: u32, fading: &str) -> String {
    STEADY.replace("DISTANCE", &format!("{metres}.0")).replace("FADING", fading)
}

/// Measures every distance with every fading.
pub(super) fn measure(
    figure: &'static str,
    context: &Context<'_>,
) -> Result<Vec<Steady>, ExperimentError> {
    let seeds = match context.extent {
        Extent::Quick => 2,
        Extent::Paper => 20,
        Extent::Full => 40,
    };
    let mut all = Vec::new();
    for (fading, (_, word)) in FADINGS.iter().enumerate() {
        for metres in DISTANCES {
            let text = scenario(metres, word);
            let one = |seed: Seed| {
                let tcp = "new-reno";
                let duration = Some(LENGTH);
                Walk { figure, scenario: &text, tcp, accepts_damaged: true, seed, duration }.run()
            };
            let runs = context.replicate(seeds, one).into_iter().collect::<Result<_, _>>()?;
            all.push(Steady { fading, metres, runs });
        }
    }
    Ok(all)
}

pub(super) fn chart(steady: &[Steady]) -> Chart {
    let series = FADINGS.iter().enumerate().map(|(fading, (name, _))| {
        let own = steady.iter().filter(|it| it.fading == fading);
        let point = |it: &Steady| {
            let lost = Estimate::mean(&it.lost());
            let sent = Estimate::mean(&it.sent());
            let spread = Some((sent.low, sent.high)).filter(|(low, _)| low.is_finite());
            Point { x: 100.0 * lost.value, y: sent.value, spread }
        };
        let mut points: Vec<Point> = own.map(point).collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        Series::new(*name, Mark::LinePoints, points)
    });
    let columns = super::PAPER.iter().flatten().map(|column| {
        let [sent, received, ..] = column.counts.map(|it| it as f64);
        Point::new(100.0 * (sent - received) / sent, sent)
    });
    let paper = Series::new("the paper's eight transfers", Mark::Points, columns.collect());
    Chart {
        title: "What TCP sends where its own packets are lost".to_owned(),
        subtitle: "NewReno at steady distances, no retransmission by the link".to_owned(),
        x: Axis::linear("packets lost (%)").from_zero(),
        y: Axis::log("packets sent in twenty minutes"),
        series: series.chain([paper]).collect(),
        rules: Vec::new(),
    }
}

pub(super) fn table(steady: &[Steady]) -> Table {
    let mut table = Table::new([
        "fading",
        "distance (m)",
        "lost (%)",
        "lost low",
        "lost high",
        "sent in 20 min",
        "sent low",
        "sent high",
    ]);
    for it in steady {
        let lost = Estimate::mean(&it.lost());
        let sent = Estimate::mean(&it.sent());
        let lost = [lost.value, lost.low, lost.high].map(|it| number(100.0 * it));
        let sent = [sent.value, sent.low, sent.high].map(number);
        let head = [FADINGS[it.fading].0.to_owned(), it.metres.to_string()];
        table.push(head.into_iter().chain(lost).chain(sent));
    }
    table
}
