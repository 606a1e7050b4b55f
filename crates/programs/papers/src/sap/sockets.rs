//! Figures 2 to 4 over the system's sockets: `windfall stream` between two namespaces.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;
use windfall_base::Seed;
use windfall_live::end_with_this_process;
use windfall_report::{Axis, Chart, Estimate, Mark, Series, Table};

use super::cells::interval;
use super::office;
use crate::experiment::{
    Band, Basis, Claim, Context, ExperimentError, Extent, Figure, Finding, Scratch, Verdict,
    VerdictRecord,
};

pub(crate) const FIGURE: Figure = Figure {
    name: "S0.sockets",
    title: "Retransmissions, bit errors and frame loss over the system's sockets, in real time",
    basis: Basis::RealTime,
    record: VerdictRecord::with_seeds(Verdict::InPart, 10),
    mutation: Some("damaged frames are dropped"),
    run,
};

/// The distances in metres, the nearest first, and the rates in Mb/s, the lowest first.
const DISTANCES: [f64; 3] = [4.0, 10.0, 12.2];
const RATES: [u64; 3] = [24, 36, 54];
/// The place and the rate where most is damaged, a lower rate there, and a nearer place.
const POOR: Place = (2, 2);
const SLOW: Place = (2, 0);
const NEAR: Place = (0, 2);
/// The number of trials of a run that a busy machine ends early.
const TRIALS: usize = 3;

/// The index of a distance, and that of a rate.
type Place = (usize, usize);

/// The measurements at one position and rate.
#[derive(Clone, Copy, Debug)]
struct Cell {
    /// Retransmissions of the link per packet, all precise.
    retransmitted: f64,
    /// The bit error rate in damaged datagrams, and the fraction of intact bits in all.
    wrong: f64,
    right: f64,
    /// The losses of a stock receiver, and those of SAP.
    flr: f64,
    flr_but_damaged: f64,
}

/// The cells of one seed, by distance and then by rate.
type Sweep = Vec<Vec<Cell>>;

/// Returns the number of datagrams in a run, and of seeds.
const fn workload(extent: Extent) -> (u32, usize) {
    match extent {
        Extent::Quick => (200, 2),
        Extent::Paper => (500, 10),
        Extent::Full => (1_024, 16),
    }
}

/// Writes the office for two programs: the moving station is `near`, the fixed one `far`, and
/// nothing but the stream and the other networks sends.
fn scenario(metres: f64, mbps: u64, accepts: bool) -> String {
    let (stations, rest) = office::SCENARIO.split_once("# The cable").expect("there is one");
    let others = rest.split_once("# What the others send").expect("they do").1;
    let (_, others) = others.split_once('\n').expect("there are lines");
    let stations = stations
        .replace("\"moving\"", "\"near\"")
        .replace("\"fixed\"", "\"far\"")
        .replace("[12.2, 0.0]", &format!("[{metres:?}, 0.0]"))
        .replace("accept-damaged = true", &format!("accept-damaged = {accepts}"))
        .replace("\"24Mbps\"", &format!("\"{mbps}Mbps\""))
        .replace("\"54Mbps\"", &format!("\"{mbps}Mbps\""));
    stations + others
}

/// One run of the streamer.
struct Stream<'a> {
    program: &'a Path,
    metres: f64,
    mbps: u64,
    /// The mode of the streamer, and whether links pass up damaged frames.
    over: &'static str,
    accepts: bool,
    datagrams: u32,
    seed: Seed,
}

impl Stream<'_> {
    /// Streams; returns the report of the receiver and that of the run.
    fn run(&self) -> Result<[Value; 2], ExperimentError> {
        let folder = Scratch::new()?;
        let path = folder.0.join("office.toml");
        fs::write(&path, scenario(self.metres, self.mbps, self.accepts))
            .map_err(|source| ExperimentError::File { path: path.clone(), source })?;
        let mut command = Command::new(self.program);
        command.args(["run", "--json", "--seed", &self.seed.to_string(), "--scenario"]).arg(&path);
        let Self { over, datagrams, .. } = self;
        let program = self.program.display();
        // The sender may start first.
        command.arg("--far").arg(format!(
            "for i in 1 2 3 4 5 6 7 8; do sleep 0.3; {program} stream send $WINDFALL_BASE \
             --over {over} --datagrams {datagrams} --interval 1ms && exit; done"
        ));
        command.arg("--").arg(self.program).args(["stream", "receive", "--json", "--over", over]);
        let shown = format!("{command:?}").replace('"', "");
        let output = end_with_this_process(&mut command).stdin(Stdio::null()).output();
        let output =
            output.map_err(|source| ExperimentError::Start { command: shown.clone(), source })?;
        // The receiver reports on its standard output, the run on the standard error.
        let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        let said = |key: &str| {
            let values = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
            values.into_iter().find(|value| value.get(key).is_some())
        };
        said("bit_errors").zip(said("links")).map(|(stream, run)| [stream, run]).ok_or_else(|| {
            let message = text.lines().last().unwrap_or("it said nothing").to_owned();
            ExperimentError::Run { command: shown, message }
        })
    }

    /// Streams again with the same seed if a run does not come to its end.
    fn run_patiently(&self) -> Result<[Value; 2], ExperimentError> {
        (1..TRIALS).fold(self.run(), |result, _| result.or_else(|_| self.run()))
    }
}

fn measure(
    context: &Context<'_>,
    metres: f64,
    mbps: u64,
    seed: Seed,
) -> Result<Cell, ExperimentError> {
    (context.progress)(&format!("{metres} m, {mbps} Mb/s"));
    let number = |value: &Value| value.as_f64().unwrap_or(f64::NAN);
    let (datagrams, _) = workload(context.extent);
    let stream = |over, accepts| {
        let program = &context.program;
        Stream { program, metres, mbps, over, accepts, datagrams, seed }.run_patiently()
    };
    let [_, run] = stream("sap-precise", false)?;
    // The sender is the far station, the second of the scenario.
    let link = &run["links"][1];
    let [report, _] = stream("sap", !context.is_mutated)?;
    Ok(Cell {
        retransmitted: number(&link["retransmitted"]) / number(&link["entered"]),
        wrong: number(&report["bit_error_rate_damaged"]),
        right: number(&report["correct_bits"]),
        flr: number(&report["loss_or_damage"]),
        flr_but_damaged: number(&report["loss"]),
    })
}

fn sweep(context: &Context<'_>, seed: Seed) -> Result<Sweep, ExperimentError> {
    let row =
        |&metres: &f64| RATES.iter().map(|&mbps| measure(context, metres, mbps, seed)).collect();
    DISTANCES.iter().map(row).collect()
}

fn run(figure: &Figure, context: &Context<'_>) -> Result<Finding, ExperimentError> {
    let (datagrams, seeds) = workload(context.extent);
    let sweeps = context.replicate(seeds, |seed| sweep(context, seed));
    let sweeps = sweeps.into_iter().collect::<Result<Vec<Sweep>, _>>()?;
    let method = format!(
        "{datagrams} datagrams of 1024 bytes by windfall stream, one each millisecond, between two \
         network namespaces over windfall run, with {seeds} seeds: real sockets, and the kernel's \
         IP at both ends; once as precise messages and once as approximate ones with damage \
         passed up. The machine that runs it decides when frames are sent, so that values differ \
         from run to run. {}",
        office::DESCRIPTION
    );
    Ok(Finding {
        inputs: office::inputs(),
        claims: claims(&sweeps),
        charts: vec![("", chart(&sweeps))],
        tables: vec![("", table(&sweeps))],
        ..figure.finding(context, method)
    })
}

/// A value of a cell.
type OfCell = fn(&Cell) -> f64;

const RETRANSMITTED: OfCell = |cell| cell.retransmitted;
const GAP: OfCell = |cell| cell.flr - cell.flr_but_damaged;

/// Estimates a value of each seed.
fn each(sweeps: &[Sweep], of: impl Fn(&Sweep) -> f64) -> Estimate {
    Estimate::mean(&sweeps.iter().map(of).collect::<Vec<_>>())
}

/// Estimates how much greater a value is at one place than at another, with the same seeds.
fn more(sweeps: &[Sweep], [at, than]: [Place; 2], of: OfCell) -> Estimate {
    each(sweeps, |sweep| of(&sweep[at.0][at.1]) - of(&sweep[than.0][than.1]))
}

//= S0.34
//= S0.35
//= S0.36
//= S0.37
fn claims(sweeps: &[Sweep]) -> Vec<Claim> {
    let further =
        |claim: Claim, of: OfCell| {
            claim
                .compare("12.2 less 4 m, 54 Mb/s", more(sweeps, [POOR, NEAR], of), rises())
                .compare("54 less 24 Mb/s, 12.2 m", more(sweeps, [POOR, SLOW], of), rises())
        };
    let frames = Claim::paper(
        "S0.34",
        "section 4.2: “distance and bitrate have a deleterious effect”",
        "packets are retransmitted more often further away, and at higher rates",
    );
    let gap = Claim::paper(
        "S0.37",
        "caption of Figure 4: “Accepting damaged frames … allows a receiver to decrease the \
         effective frame loss rate”",
        "SAP loses less than a stock receiver",
    );
    let growing = Claim::ours("S0.37", "the gap grows with distance and rate");
    let poor = |of: OfCell| each(sweeps, |sweep| of(&sweep[POOR.0][POOR.1]));
    vec![
        further(frames, RETRANSMITTED),
        Claim::paper(
            "S0.35",
            "section 4.2: “at 48 and 54 Mbps, coding gains drive the BER well below 5% in damaged \
             frames”",
            "in damaged datagrams fewer than 5 % of the bits are wrong",
        )
        .compare("12.2 m, 54 Mb/s", poor(|cell| cell.wrong), Band::below(0.05, "the paper's 5 %"))
        .undecided()
        .because(
            "what collides with the other networks depends on how punctual the machine is that \
             runs them in real time; S0.fig3 judges the same in simulated time",
        ),
        Claim::paper(
            "S0.36",
            "section 4.2: “transmissions at the highest bitrates consisted of 99.6% correct bits”",
            "99.6 % of the bits that arrive are right at the highest rate",
        )
        .compare(
            "all distances, 54 Mb/s",
            each(sweeps, |sweep| sweep.iter().map(|row| row[2].right).sum::<f64>() / 3.0),
            Band::between(0.993, 0.999, "the paper's 99.6 %, the requirement's 0.3 about it"),
        ),
        gap.compare("12.2 m, 54 Mb/s", poor(GAP), rises()),
        further(growing, GAP),
    ]
}

fn rises() -> Band {
    Band::above(0.0, "the sign says that it is more")
}

/// Returns a value of each seed at a place.
fn values(sweeps: &[Sweep], place: Place, of: OfCell) -> Vec<f64> {
    sweeps.iter().map(|sweep| of(&sweep[place.0][place.1])).collect()
}

fn chart(sweeps: &[Sweep]) -> Chart {
    let line = |name: String, rate: usize, of: OfCell| {
        let point = |(at, &metres): (usize, &f64)| {
            let shares =
                values(sweeps, (at, rate), of).iter().map(|it| 100.0 * it).collect::<Vec<_>>();
            interval(metres, &shares)
        };
        let points = DISTANCES.iter().enumerate().filter_map(point).collect();
        Series::new(name, Mark::LinePoints, points)
    };
    let both = RATES.iter().enumerate().flat_map(|(rate, mbps)| {
        [
            line(format!("FLR, {mbps} Mb/s"), rate, |cell| cell.flr),
            line(format!("FLR/B, {mbps} Mb/s"), rate, |cell| cell.flr_but_damaged),
        ]
    });
    Chart {
        title: "Frame loss with and without damaged frames".to_owned(),
        subtitle: "windfall stream over windfall run, in real time; mean and 95 % interval"
            .to_owned(),
        x: Axis::linear("distance (m)").from_zero(),
        y: Axis::linear("lost (%)").from_zero(),
        series: both.collect(),
        rules: Vec::new(),
    }
}

fn table(sweeps: &[Sweep]) -> Table {
    let mut table = Table::new([
        "distance (m)",
        "rate (Mb/s)",
        "retransmissions for 100 packets",
        "bit errors in damaged (%)",
        "intact bits (%)",
        "FLR (%)",
        "FLR/B (%)",
    ]);
    let columns: [OfCell; 5] = [
        RETRANSMITTED,
        |cell| cell.wrong,
        |cell| cell.right,
        |cell| cell.flr,
        |cell| cell.flr_but_damaged,
    ];
    for (at, metres) in DISTANCES.iter().enumerate() {
        for (rate, mbps) in RATES.iter().enumerate() {
            let mut row = vec![metres.to_string(), mbps.to_string()];
            row.extend(columns.map(|of| {
                let mean = Estimate::mean(&values(sweeps, (at, rate), of)).value;
                format!("{:.3}", 100.0 * mean)
            }));
            table.push(row);
        }
    }
    table
}
