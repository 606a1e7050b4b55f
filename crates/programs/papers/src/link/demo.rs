//! The demonstration: a file by curl from an HTTP server, without and with local retransmission.

mod pictures;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use bytes::Bytes;
use serde_json::Value;
use windfall_base::{Probability, Seed};
use windfall_report::{Axis, Chart, Mark, Point, Provenance, Series, Table};
use windfall_scenario::NEAR;

use crate::experiment::sequence::received;
use crate::experiment::{Claim, ExperimentError, Extent, Finding, Scratch, Verdict, VerdictRecord};

/// The link of the demonstration but for its errors: 10 Mb/s, 20 ms there and back.
const LINK: [&str; 4] = ["--rate", "10Mbps", "--delay", "10ms"];
/// The congestion control that backs off when packets are lost, as TCP was meant to.
const CONGESTION: [&str; 2] = ["--tcp-congestion", "reno"];
/// The rate of the link, in bits per second.
const RATE: f64 = 10e6;
/// The port of the HTTP server.
const PORT: u16 = 8000;
/// The least time that a transfer may take, and how many times as long as the link alone.
const LEAST_LIMIT: Duration = Duration::from_secs(30);
const LIMIT_FACTOR: f64 = 20.0;
/// The time limit of a run beside its transfer, which has one of its own.
const RUN_LIMIT: Duration = Duration::from_secs(60);
/// The interval at which a run is looked at.
const TICK: Duration = Duration::from_millis(100);
/// A file that the link carries in less time, in seconds, spends it on round trips.
const SHORT: f64 = 0.5;
/// Share of late packets from which on the machine and not the link decided how long it took.
const DISTURBED: f64 = 0.05;
/// The share of late packets from which on a run is disturbed even if its outcome is the expected
/// one.
const OVERWHELMED: f64 = 0.5;

/// Each way to move the file is tried with as many seeds, at once.
const SEEDS: u64 = 3;

/// The options of the demonstration.
#[derive(Clone, Debug)]
pub struct Demo {
    /// This program, to be started again as `windfall run`.
    pub program: PathBuf,
    /// The file to move; one is made up if `None`.
    pub file: Option<PathBuf>,
    /// Bit error rate of the link, both ways.
    pub ber: Probability,
    /// The seed of all random draws.
    pub seed: Seed,
    /// The time limit of one transfer; by the size of the file if `None`.
    pub limit: Option<Duration>,
}

/// One way to move the file.
struct Case {
    name: &'static str,
    ber: f64,
    arq: &'static str,
}

/// The result of one transfer.
struct Moved {
    name: &'static str,
    command: String,
    /// The seconds that it took, or why it did not finish.
    result: Result<f64, String>,
    limit: Duration,
    /// Bytes of the file, and how many of them arrived.
    bytes: u64,
    arrived: u64,
    same: bool,
    summary: Value,
    progress: Vec<(f64, f64)>,
    /// The throughput with each seed that finished, in kilobytes per second.
    spread: Vec<f64>,
}

impl Demo {
    /// Moves the file over a link without errors, with errors, and with errors that it repairs.
    ///
    /// Calls `progress` several times a second with what is going on.
    ///
    /// # Errors
    /// If the file cannot be read or a run fails. That a transfer does not finish is no error.
    pub fn run(&self, progress: &dyn Fn(&str)) -> Result<Finding, ExperimentError> {
        let scratch = Scratch::new()?;
        let served = scratch.0.join("file");
        self.provide(&served)?;
        let ber = self.ber.get();
        let cases = [
            Case { name: "no bit errors", ber: 0.0, arq: "none" },
            Case { name: "bit errors", ber, arq: "none" },
            Case { name: "bit errors, local retransmission", ber, arq: "persistent" },
        ];
        let mut moved = Vec::new();
        for case in cases {
            moved.push(self.attempts(&case, &scratch.0, &served, progress)?);
        }
        Ok(self.finding(&moved))
    }

    /// Puts the file where the server finds it.
    fn provide(&self, served: &Path) -> Result<(), ExperimentError> {
        let failed = |path: &Path, source| ExperimentError::File { path: path.to_owned(), source };
        match &self.file {
            Some(file) => {
                let bytes = fs::read(file).map_err(|error| failed(file, error))?;
                if bytes.is_empty() {
                    let empty = io::Error::new(io::ErrorKind::InvalidInput, "the file is empty");
                    return Err(failed(file, empty));
                }
                fs::write(served, bytes).map_err(|error| failed(served, error))
            }
            // The program itself is a file that every machine has and no middle box can compress.
            None => {
                let bytes = fs::read(&self.program).map_err(|e| failed(&self.program, e))?;
                let part = &bytes[..bytes.len().min(1_000_000)];
                fs::write(served, part).map_err(|error| failed(served, error))
            }
        }
    }

    /// Moves the file with each seed at once; returns what the first did, with the throughput of
    /// all.
    fn attempts(
        &self,
        case: &Case,
        scratch: &Path,
        served: &Path,
        progress: &dyn Fn(&str),
    ) -> Result<Moved, ExperimentError> {
        let attempt = |number: u64, progress: &dyn Fn(&str)| {
            let folder = scratch.join(number.to_string());
            let made = fs::create_dir_all(&folder);
            made.map_err(|source| ExperimentError::File { path: folder.clone(), source })?;
            let seed = Seed(self.seed.0.wrapping_add(number));
            Self { seed, ..self.clone() }.transfer(case, &folder, served, progress)
        };
        let attempt = &attempt;
        std::thread::scope(|scope| {
            let start = |number| {
                let thread = std::thread::Builder::new();
                (number, thread.spawn_scoped(scope, move || attempt(number, &|_| ())))
            };
            let others: Vec<_> = (1..SEEDS).map(start).collect();
            let mut first = attempt(0, progress)?;
            first.spread.extend(first.throughput());
            for (number, other) in others {
                // The system has no further thread: this one does its work.
                let other = other.map_or_else(
                    |_| attempt(number, progress),
                    |it| it.join().expect("it does not panic"),
                );
                first.spread.extend(other?.throughput());
            }
            Ok(first)
        })
    }

    /// Moves the file once, and returns how far it came if it did not arrive within the limit.
    fn transfer(
        &self,
        case: &Case,
        scratch: &Path,
        served: &Path,
        progress: &dyn Fn(&str),
    ) -> Result<Moved, ExperimentError> {
        let [summary, got] = ["summary.json", "got"].map(|name| scratch.join(name));
        let pcap = scratch.join("pcap");
        // A transfer of which nothing arrives leaves no file.
        write(&got, &[])?;
        let sent = read(served)?;
        let limit = self.limit.unwrap_or_else(|| limit(sent.len()));
        let mut shown = vec!["run".to_owned()];
        shown.extend(LINK.map(str::to_owned));
        shown.extend(["--ber".into(), case.ber.to_string(), "--arq".into(), case.arq.into()]);
        shown.extend(CONGESTION.map(str::to_owned));
        shown.extend(["--seed".into(), self.seed.to_string()]);
        let mut command = Command::new(&self.program);
        // So that curl writes times with a point.
        command.env("LC_ALL", "C");
        command.args(&shown).arg("--json").arg("--summary").arg(&summary).arg("--pcap").arg(&pcap);
        let directory = served.parent().unwrap_or(scratch).to_string_lossy();
        let directory = directory.replace('\'', "'\\''");
        // The server has no part in what curl is judged by: curl says what it got.
        command.arg("--far-may-fail").arg("--far-output").arg("/dev/null");
        command.arg("--far").arg(format!(
            "exec python3 -m http.server {PORT} --directory '{directory}' 2>/dev/null"
        ));
        command.arg("--wait-port").arg(PORT.to_string()).arg("--");
        command.args(["sh", "-c"]);
        command.arg(format!("exec curl \"$@\" \"http://$WINDFALL_BASE:{PORT}/file\"")).arg("curl");
        // Without the user's configuration and proxies.
        command.args(["--disable", "--noproxy", "*", "--silent", "--show-error", "--fail"]);
        command.arg("--max-time").arg(limit.as_secs_f64().to_string());
        command.arg("--output").arg(&got).args(["--write-out", "%{time_total}"]);
        let shown = self.shown(&shown);
        let output = watched(command, &shown, limit + RUN_LIMIT, &|| {
            let bytes = fs::metadata(&got).map_or(0, |it| it.len());
            progress(&format!(
                "moving the file, {}: {} of {} kB",
                case.name,
                bytes / 1000,
                sent.len() / 1000
            ));
        })?;
        let result = outcome(&output, &shown)?;
        let arrived = read(&got)?;
        let capture = Bytes::from(read(&pcap.join(format!("{NEAR}.pcapng")))?);
        Ok(Moved {
            name: case.name,
            command: shown,
            result,
            limit,
            bytes: sent.len() as u64,
            arrived: arrived.len() as u64,
            same: sent == arrived,
            summary: serde_json::from_slice(&read(&summary)?).unwrap_or_default(),
            progress: received(&capture).unwrap_or_default(),
            spread: Vec::new(),
        })
    }

    /// The command that repeats a transfer with these options, for a shell.
    fn shown(&self, options: &[String]) -> String {
        let (made, folder, name) = match &self.file {
            None => ("head -c 1000000 /dev/urandom >/tmp/file; ", "/tmp".into(), "file".into()),
            Some(file) => {
                let folder = file.parent().filter(|it| !it.as_os_str().is_empty());
                let folder = folder.unwrap_or(Path::new(".")).to_string_lossy();
                ("", folder, file.file_name().unwrap_or_default().to_string_lossy())
            }
        };
        format!(
            "windfall {} --far '{made}exec python3 -m http.server {PORT} --directory {folder}' \
             --wait-port {PORT} -- sh -c 'curl -o /dev/null http://$WINDFALL_BASE:{PORT}/{name}'",
            options.join(" ")
        )
    }

    fn finding(&self, moved: &[Moved]) -> Finding {
        Finding {
            figure: "demo",
            title: "A file by curl across a link that damages bits".to_owned(),
            method: format!(
                "curl fetches the file from Python's HTTP server in another network namespace, \
                 over TCP Reno of this machine's kernel. Between them: {}.",
                moved.last().map_or("", |last| last.command.as_str())
            ),
            inputs: Vec::new(),
            claims: claims(moved),
            record: VerdictRecord::with_seeds(Verdict::Reproduced, 1),
            extent: Extent::Paper,
            charts: vec![("", chart(moved, self.ber))],
            tables: vec![("", table(moved))],
            provenance: Provenance {
                version: env!("CARGO_PKG_VERSION").to_owned(),
                seed: self.seed,
                command: format!("windfall demo --ber {} --seed {}", self.ber, self.seed),
            },
        }
    }
}

impl Moved {
    /// A count of the direction from far to near, which carried the file.
    fn count(&self, name: &str) -> u64 {
        self.summary["links"][1][name].as_u64().unwrap_or(0)
    }

    fn dropped(&self) -> u64 {
        let dropped = self.summary["links"][1]["dropped"].as_object();
        dropped.map_or(0, |reasons| reasons.values().filter_map(Value::as_u64).sum())
    }

    /// Share of the packets that the machine read or delivered too late.
    fn late(&self) -> f64 {
        let late = &self.summary["lateness"];
        let count = |name: &str| late[name].as_f64().unwrap_or(0.0);
        let share = |late: &str, of: &str| count(late) / count(of).max(1.0);
        share("late_deliveries", "delivered").max(share("late_reads", "reads"))
    }

    /// Share of the transfer during which the run stood still.
    fn paused(&self) -> f64 {
        let paused = self.summary["lateness"]["paused_seconds"].as_f64().unwrap_or(0.0);
        let limit = self.limit.as_secs_f64();
        paused / self.result.as_ref().map_or(limit, |seconds| *seconds)
    }

    /// Kilobytes per second; `None` if it did not finish.
    fn throughput(&self) -> Option<f64> {
        self.result.as_ref().ok().map(|seconds| self.bytes as f64 / 1e3 / seconds)
    }

    /// The least and the greatest throughput, or how many transfers finished.
    fn range(&self) -> String {
        if (self.spread.len() as u64) < SEEDS {
            return format!("{} of {SEEDS} arrived", self.spread.len());
        }
        let least = self.spread.iter().copied().fold(f64::INFINITY, f64::min);
        let most = self.spread.iter().copied().fold(0.0, f64::max);
        format!("{least:.0} to {most:.0}")
    }

    /// Describes what happened, if it did not finish.
    fn unfinished(&self) -> Option<String> {
        let why = self.result.as_ref().err()?;
        let arrived = self.arrived / 1000;
        let bytes = self.bytes / 1000;
        Some(format!("did not finish: {arrived} of {bytes} kB arrived ({why})"))
    }
}

/// Judges what the demonstration should show; a file that arrives must arrive whole in any case.
fn claims(moved: &[Moved]) -> Vec<Claim> {
    let [clean, damaged, repaired] = moved else { return Vec::new() };
    let slowed = slowdown(clean, damaged);
    let preserved = preservation(clean, repaired);
    let whole = wholeness(moved);
    // Only the whole has a record: what a busy machine cannot tell is no change.
    let claim = |requirement, says: &str, (measured, verdict): (String, Verdict)| {
        Claim::ours(requirement, says).stated(measured, verdict).recorded(verdict)
    };
    vec![
        claim("S3.6", "without local retransmission lost packets ruin TCP", slowed),
        claim("S3.8", "with it TCP gets what the link has left", preserved),
        claim("S0.5", "what arrives is what was sent", whole),
    ]
}

/// Judges whether the files that arrived are those that were sent.
fn wholeness(moved: &[Moved]) -> (String, Verdict) {
    let arrived = moved.iter().filter(|case| case.result.is_ok());
    if arrived.clone().any(|case| !case.same) {
        return ("the files differ".to_owned(), Verdict::NotReproduced);
    }
    // Whether a file that did not arrive would have been whole is not known.
    match arrived.count() {
        0 => ("no transfer finished".to_owned(), Verdict::NotComparable),
        count if count < moved.len() => {
            let measured = format!("byte for byte the same in the {count} that finished");
            (measured, Verdict::NotComparable)
        }
        _ => ("byte for byte the same in every case".to_owned(), Verdict::Reproduced),
    }
}

/// Judges the share of the throughput that errors leave.
fn slowdown(clean: &Moved, damaged: &Moved) -> (String, Verdict) {
    let Some(best) = clean.throughput() else { return incomparable(clean) };
    match (damaged.unfinished(), damaged.throughput()) {
        // A connection that is lost altogether is more than a throughput that suffers; a busy
        // machine may have lost it as well.
        (Some(unfinished), _) => judged(unfinished, true, &[clean, damaged]),
        (None, throughput) => {
            let share = throughput.unwrap_or(0.0) / best;
            let lost = damaged.dropped() as f64 / damaged.count("entered").max(1) as f64;
            let measured = format!(
                "{:.0} % of the throughput without errors, while {:.1} % of the packets were lost",
                100.0 * share,
                100.0 * lost
            );
            judged(measured, share < 0.5, &[clean, damaged])
        }
    }
}

/// Judges the share of the throughput that local retransmission preserves.
fn preservation(clean: &Moved, repaired: &Moved) -> (String, Verdict) {
    let Some(best) = clean.throughput() else { return incomparable(clean) };
    let Some(throughput) = repaired.throughput() else {
        return (repaired.unfinished().unwrap_or_default(), Verdict::NotReproduced);
    };
    let frames = repaired.count("frames").max(1) as f64;
    let loss = repaired.count("retransmitted") as f64 / frames;
    let share = throughput / ((1.0 - loss) * best);
    let measured = format!(
        "{:.0} % of that, while {:.1} % of the frames were retransmissions",
        100.0 * share,
        100.0 * loss
    );
    judged(measured, share >= 0.9, &[clean, repaired])
}

/// Nothing can be compared without the transfer over a link without errors.
fn incomparable(clean: &Moved) -> (String, Verdict) {
    let unfinished = clean.unfinished().unwrap_or_default();
    (format!("the transfer without errors {unfinished}"), Verdict::NotReproduced)
}

/// A verdict on throughput, where the times of the transfers allow one, whichever it is.
fn judged(measured: String, holds: bool, cases: &[&Moved]) -> (String, Verdict) {
    let bytes = cases.first().map_or(0, |case| case.bytes);
    if bytes as f64 * 8.0 / RATE < SHORT {
        let need = SHORT * RATE / 8e3;
        let why =
            format!("the file is too short to tell: round trips take the time below {need:.0} kB");
        return (format!("{measured}; {why}"), Verdict::NotComparable);
    }
    let late = cases.iter().map(|case| case.late()).fold(0.0, f64::max);
    let paused = cases.iter().map(|case| case.paused()).fold(0.0, f64::max);
    // What holds does so by far: only a machine that was busy most of the time could have made it.
    let bound = if holds { OVERWHELMED } else { DISTURBED };
    let busy = match (paused > bound, late > bound) {
        (true, _) => Some(format!("it stood still for {:.0} % of the time", 100.0 * paused)),
        (false, true) => Some(format!("{:.0} % of the packets were late", 100.0 * late)),
        (false, false) => None,
    };
    if let Some(busy) = busy {
        let measured = format!("{measured}; the machine was busy: {busy}");
        return (measured, Verdict::NotComparable);
    }
    (measured, Verdict::of(holds))
}

/// Returns the default time limit of a file of `bytes` bytes.
fn limit(bytes: usize) -> Duration {
    let alone = bytes as f64 * 8.0 / RATE;
    LEAST_LIMIT.max(Duration::from_secs_f64(LIMIT_FACTOR * alone))
}

/// The time that curl took, or why it got less than the file.
///
/// # Errors
/// If curl could not be started or the run failed.
fn outcome(output: &Output, shown: &str) -> Result<Result<f64, String>, ExperimentError> {
    let errors = String::from_utf8_lossy(&output.stderr);
    let last = errors.lines().rfind(|line| !line.trim().is_empty());
    let failed =
        |message: &str| ExperimentError::Run { command: shown.to_owned(), message: message.into() };
    match output.status.code() {
        Some(0) => {
            let text = String::from_utf8_lossy(&output.stdout);
            let seconds = text.trim().parse().map_err(|_| failed("curl did not say how long"))?;
            Ok(Ok(seconds))
        }
        // The run's own failures, and what is no exit status of curl.
        None | Some(125..) => Err(failed(last.unwrap_or("it was killed"))),
        Some(status) => {
            let said = last.map(|line| line.trim_start_matches("curl: ").to_owned());
            Ok(Err(said.unwrap_or_else(|| format!("curl ended with {status}"))))
        }
    }
}

/// Runs a command to its end or for `limit`, and calls `tick` meanwhile.
#[expect(clippy::disallowed_methods, reason = "a program in real time is waited for")]
fn watched(
    mut command: Command,
    shown: &str,
    limit: Duration,
    tick: &dyn Fn(),
) -> Result<Output, ExperimentError> {
    let failed = |source| ExperimentError::Start { command: shown.to_owned(), source };
    // What it says is a few lines, so that no pipe fills up.
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = windfall_live::end_with_this_process(&mut command).spawn().map_err(failed)?;
    let began = Instant::now();
    while child.try_wait().map_err(failed)?.is_none() {
        tick();
        if began.elapsed() > limit {
            // The stations end with it.
            let _ = child.kill();
        }
        std::thread::sleep(TICK);
    }
    child.wait_with_output().map_err(failed)
}

fn read(path: &Path) -> Result<Vec<u8>, ExperimentError> {
    fs::read(path).map_err(|source| ExperimentError::File { path: path.to_owned(), source })
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), ExperimentError> {
    fs::write(path, bytes).map_err(|source| ExperimentError::File { path: path.to_owned(), source })
}

fn table(moved: &[Moved]) -> Table {
    let mut table = Table::new([
        "link",
        "time s",
        "KB/s",
        "with 3 seeds",
        "packets",
        "dropped",
        "retransmitted by the link",
        "bits inverted",
        "file",
    ]);
    for case in moved {
        table.push([
            case.name.to_owned(),
            match &case.result {
                Ok(seconds) => format!("{seconds:.2}"),
                Err(_) => format!("> {}", case.limit.as_secs_f64()),
            },
            case.throughput().map_or_else(String::new, |throughput| format!("{throughput:.0}")),
            case.range(),
            case.count("entered").to_string(),
            case.dropped().to_string(),
            case.count("retransmitted").to_string(),
            case.count("bits_inverted").to_string(),
            match (&case.result, case.same) {
                (Err(_), _) => format!("{} %", 100 * case.arrived / case.bytes.max(1)),
                (Ok(_), true) => "whole".to_owned(),
                (Ok(_), false) => "differs".to_owned(),
            },
        ]);
    }
    table
}

fn chart(moved: &[Moved], ber: Probability) -> Chart {
    let series = moved.iter().enumerate().map(|(color, case)| {
        let points = case.progress.iter().map(|(at, kilobytes)| Point::new(*at, *kilobytes));
        Series::new(case.name, Mark::Line, points.collect()).with_color([6, 1, 0][color % 3])
    });
    Chart {
        title: "One file, three links".to_owned(),
        subtitle: format!("10 Mb/s, 20 ms round trip, bit error rate {ber}; one transfer by curl"),
        x: Axis::linear("time (s)"),
        y: Axis::linear("received (kB)"),
        series: series.collect(),
        rules: Vec::new(),
    }
}
