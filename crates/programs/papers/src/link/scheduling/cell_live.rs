//! The cell of three stations in real time: `windfall up`, and the kernel's TCP (S3.43).

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use windfall_live::end_with_this_process;

use crate::experiment::kernel;
use crate::experiment::{
    Basis, Context, ExperimentError, Extent, Figure, Finding, Scratch, Verdict, VerdictRecord,
};

use super::cell::{Course, INTERVAL, MUTATION, Phases, RESERVED, Rates, Sample, inputs};

pub(crate) const FIGURE: Figure = Figure {
    name: "S3.43",
    title: "The kernel's TCP to two stations, one of them bad, under real programs",
    basis: Basis::RealTime,
    record: VerdictRecord::with_seeds(Verdict::NotComparable, 1),
    mutation: Some(MUTATION),
    run,
};

/// The steps of a quick run.
const SHORT: &[f64] = &[0.0, 0.1, 0.5, 0.0];
/// The interface of the base station.
const BASE: &str = "cell/base";
/// The name of the medium.
const AIR: &str = "cell";
/// The destination of each flow: the station, its address, the port.
const WAYS: [(&str, &str, u16); 3] =
    [("bad", "10.77.0.3", 5004), ("bad", "10.77.0.3", 5001), ("good", "10.77.0.2", 5002)];
/// The parts of a step whose throughputs count as independent.
const BATCHES: u64 = 10;
/// The event log of the run.
const LOG: &str = "events";
/// A run takes about 25 ms a frame; one that takes longer than this is given up.
const PATIENCE: f64 = 0.08;

//= S3.43
fn run(figure: &Figure, context: &Context<'_>) -> Result<Finding, ExperimentError> {
    // Some 40 frames a second.
    let phases = match context.extent {
        Extent::Quick => Phases { losses: SHORT, frames: 330 },
        Extent::Paper => Phases { losses: Phases::WHOLE, frames: 1_000 },
        Extent::Full => Phases { losses: Phases::WHOLE, frames: 4_000 },
    };
    let course = measure(figure, context, phases)?;
    let steps = (0..phases.losses.len()).map(|step| course.batches(step, BATCHES)).collect();
    let method = format!(
        "Three stations under `windfall up`. {} Here a base station sends video, which \
         reserves {RESERVED} kb/s at power factor 1.4, and FTP1 to one station and FTP2 to \
         another at 1.2, over a polled radio of 2 Mb/s with persistent local retransmission. \
         A run takes minutes, so that the intervals are those of {BATCHES} parts of each step of \
         a single one, which are no independent runs: the paper's claim is not judged here. {}",
        kernel::method(),
        course.method()
    );
    let rates = Rates { losses: phases.losses, steps };
    let mut claims = rates.claims(slack(context.extent));
    claims.insert(0, rates.not_judged());
    Ok(Finding {
        inputs: inputs(),
        claims,
        charts: vec![("", course.chart())],
        tables: vec![("", course.table())],
        ..figure.finding(context, method)
    })
}

/// By how much the tolerances are wider than those of simulated time: fewer frames are sent, and
/// in a hurry fewer still.
fn slack(extent: Extent) -> f64 {
    if extent == Extent::Quick { 2.0 } else { 1.5 }
}

/// Runs the phases under real programs.
fn measure(
    figure: &Figure,
    context: &Context<'_>,
    phases: Phases,
) -> Result<Course, ExperimentError> {
    let mut cell = Cell::up(context, &phases)?;
    let program = context.program.display();
    let limit = PATIENCE * phases.end() as f64;
    let mut programs = Vec::new();
    for (station, _, port) in WAYS {
        let line = format!("exec {program} bulk receive --port {port} --buffer 16384");
        programs.push(cell.exec(context, station, &line)?);
    }
    for (_, address, port) in WAYS {
        // More than the link carries in that time.
        let line = format!(
            "exec {program} bulk send {address} --port {port} --buffer 16384 --bytes {}",
            limit as u64 * 1_000_000
        );
        programs.push(cell.exec(context, "base", &line)?);
    }
    let mut log = Log::open(cell.files.0.join(LOG))?;
    for _ in 0..(limit / INTERVAL) as u64 {
        let frames = log.frames();
        if frames >= phases.end() || cell.has_ended() {
            break;
        }
        (context.progress)(&format!("{}: {frames} of {} frames", figure.name, phases.end()));
        pause();
        log.read()?;
    }
    // The programs end with the run.
    drop(cell);
    programs.iter_mut().for_each(|program| drop(program.wait()));
    Ok(Course { phases, samples: log.samples })
}

#[expect(clippy::disallowed_methods, reason = "what is measured goes on in real time")]
fn pause() {
    std::thread::sleep(Duration::from_secs_f64(INTERVAL));
}

/// A line of the event log, as far as it matters here.
#[derive(serde::Deserialize)]
struct Line {
    ev: String,
    t: f64,
    #[serde(default)]
    at: String,
    #[serde(default)]
    tag: u64,
    #[serde(default)]
    flow: usize,
    #[serde(default)]
    len: u64,
    #[serde(default)]
    medium: Option<OnMedium>,
}

/// A frame on the medium, as a line of the event log has it.
#[derive(serde::Deserialize)]
struct OnMedium {
    from: u16,
    to: u16,
    frame: Option<u64>,
}

/// An event log that is still being written.
struct Log {
    path: PathBuf,
    file: BufReader<File>,
    /// The part of the last line that was written so far.
    line: String,
    /// Flow and length of the packets under way.
    packets: BTreeMap<u64, (usize, u64)>,
    now: Sample,
    samples: Vec<Sample>,
}

impl Log {
    fn open(path: PathBuf) -> Result<Self, ExperimentError> {
        let file = match File::open(&path) {
            Ok(file) => BufReader::new(file),
            Err(source) => return Err(ExperimentError::File { path, source }),
        };
        let now = Sample { seconds: 0.0, frames: 0, bytes: [0; 3] };
        let line = String::new();
        let packets = BTreeMap::new();
        let samples = Vec::new();
        Ok(Self { path, file, line, packets, now, samples })
    }

    /// The frames of all samples.
    fn frames(&self) -> u64 {
        self.samples.last().map_or(0, |sample| sample.frames)
    }

    /// Reads what has been written since.
    fn read(&mut self) -> Result<(), ExperimentError> {
        loop {
            let read = self.file.read_line(&mut self.line);
            read.map_err(|source| ExperimentError::File { path: self.path.clone(), source })?;
            if !self.line.ends_with('\n') {
                return Ok(());
            }
            if let Ok(line) = serde_json::from_str::<Line>(&self.line)
                && (line.at == BASE || line.at == AIR)
            {
                self.take(&line);
            }
            self.line.clear();
        }
    }

    fn take(&mut self, line: &Line) {
        if line.t >= self.now.seconds + INTERVAL {
            self.now.seconds = line.t;
            self.samples.push(self.now);
        }
        if let Some(OnMedium { from, to, frame: Some(frame) }) = line.medium
            && (from, to) == Phases::PORTS
        {
            self.now.frames = frame + 1;
        }
        match line.ev.as_str() {
            "packet.queued" => drop(self.packets.insert(line.tag, (line.flow, line.len))),
            "frame.acknowledged" => {
                let (flow, len) = self.packets.remove(&line.tag).unwrap_or_default();
                // Number 0 is everything else.
                let bytes = flow.checked_sub(1).and_then(|flow| self.now.bytes.get_mut(flow));
                if let Some(bytes) = bytes {
                    *bytes += len;
                }
            }
            _ => {}
        }
    }
}

/// A run of `windfall up`; killed if it is dropped before its end.
struct Cell {
    run: Child,
    errors: BufReader<ChildStderr>,
    name: String,
    files: Scratch,
}

impl Cell {
    fn up(context: &Context<'_>, phases: &Phases) -> Result<Self, ExperimentError> {
        let files = Scratch::new()?;
        let path = files.0.join("cell.toml");
        for (name, text) in
            [("cell.toml", Phases::scenario(context)), (Phases::TRACE, phases.trace(context.seed))]
        {
            let path = files.0.join(name);
            fs::write(&path, text).map_err(|source| ExperimentError::File { path, source })?;
        }
        let name = format!("figure-{}", std::process::id());
        let mut command = Command::new(&context.program);
        command.args(["up", "--name", &name, "--seed", &context.seed.to_string(), "--log"]);
        command.arg(files.0.join(LOG));
        command.args(["--tcp-congestion", "reno", "--sysctl", "net.ipv4.tcp_sack=0"]).arg(&path);
        command.stdin(Stdio::null()).stderr(Stdio::piped());
        let mut run = start(&mut command)?;
        let Some(errors) = run.stderr.take() else { return Err(silent("nothing was heard of it")) };
        let mut cell = Self { run, errors: BufReader::new(errors), name, files };
        let mut line = String::new();
        while !line.contains(" is up") {
            let last = core::mem::take(&mut line);
            if !matches!(cell.errors.read_line(&mut line), Ok(1..)) {
                return Err(silent(last.trim()));
            }
        }
        Ok(cell)
    }

    fn exec(
        &self,
        context: &Context<'_>,
        station: &str,
        line: &str,
    ) -> Result<Child, ExperimentError> {
        let mut command = Command::new(&context.program);
        command.args(["exec", "--run", &self.name, station, "--", "sh", "-c", line]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        start(&mut command)
    }

    fn has_ended(&mut self) -> bool {
        !matches!(self.run.try_wait(), Ok(None))
    }
}

impl Drop for Cell {
    fn drop(&mut self) {
        let _ = kill_process(Pid::from_child(&self.run), Signal::INT);
        let _ = self.run.wait();
    }
}

fn start(command: &mut Command) -> Result<Child, ExperimentError> {
    let shown = format!("{command:?}").replace('"', "");
    end_with_this_process(command)
        .spawn()
        .map_err(|source| ExperimentError::Start { command: shown, source })
}

fn silent(message: &str) -> ExperimentError {
    ExperimentError::Run { command: "windfall up".to_owned(), message: message.to_owned() }
}
