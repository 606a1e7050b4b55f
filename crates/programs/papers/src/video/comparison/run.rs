//! One stream across `windfall run`, in real time.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use windfall_base::Seed;
use windfall_video::camera::CameraPlan;

use super::{CameraComparison, CameraScheme};
use crate::experiment::ExperimentError;

/// The time limit of a run beside its stream.
const RUN_LIMIT: Duration = Duration::from_secs(60);
/// The time for which a stream that has begun to arrive may still come after its last picture.
const DRAIN_LIMIT: Duration = Duration::from_secs(60);
/// The interval at which a run is looked at.
const TICK: Duration = Duration::from_millis(50);
/// The port of the receiver.
const PORT: &str = "5004";

/// The measurements of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct SchemeRun {
    /// The seed of the run.
    pub seed: Seed,
    /// The report of the receiver; null if nothing arrived.
    pub report: Value,
    /// The share of the stream's time for which the sender's device was sending, if it says so.
    pub busy: Option<f64>,
    /// The share of packets that the machine carried too late.
    pub disturbed: f64,
}

impl SchemeRun {
    /// Returns a number of the report; `None` if nothing arrived.
    #[must_use]
    pub fn number(&self, name: &str) -> Option<f64> {
        self.report[name].as_f64()
    }
}

/// Writes the scenario that `windfall run` makes of the link at `base` and a scheme's options into
/// `file`, and returns its text; if the link does not have the scheme, why not.
///
/// # Errors
/// If the program does not start, or the file cannot be written.
pub(super) fn described(
    program: &Path,
    base: &Path,
    scheme: &CameraScheme,
    file: &Path,
) -> Result<Result<String, String>, ExperimentError> {
    let of_file = |source| ExperimentError::File { path: file.to_owned(), source };
    let mut command = Command::new(program);
    command.arg("run").arg("--scenario").arg(base).args(&scheme.options).arg("--generate");
    command.stdout(fs::File::create(file).map_err(of_file)?);
    let output = watched(command, &shown(scheme), RUN_LIMIT, None)?;
    if !output.status.success() {
        return Ok(Err(without_place(&last_words(&output), base).to_owned()));
    }
    fs::read_to_string(file).map(Ok).map_err(of_file)
}

/// Sends the stream once, across the link of the scheme's `scenario`.
///
/// # Errors
/// If the run fails; that nothing arrives is no error.
pub(super) fn once(
    comparison: &CameraComparison,
    scheme: &CameraScheme,
    seed: Seed,
    scratch: &Path,
    scenario: &Path,
) -> Result<SchemeRun, ExperimentError> {
    let [summary, report, sent] =
        ["summary.json", "report.json", "sent"].map(|name| scratch.join(name));
    // A run that leaves no report must not show that of the run before.
    for file in [&report, &summary] {
        write(file, b"")?;
    }
    let program = quoted(&comparison.program.to_string_lossy());
    let mut command = Command::new(&comparison.program);
    command.arg("run").arg("--scenario").arg(scenario).arg("--seed").arg(seed.0.to_string());
    command.arg("--json").arg("--quiet").arg("--summary").arg(&summary);
    command.arg("--far-output").arg(&report).arg("--far-may-fail").arg("--far").arg(format!(
        "exec {program} camera receive --over {} --port {PORT} --deadline {}ns --wait {}ns --json",
        scheme.protocol,
        comparison.deadline.as_nanos(),
        comparison.wait.as_nanos()
    ));
    command.args(["--wait-port", PORT, "--", "sh", "-c"]);
    // The link stays until the standard input ends: the receiver says when all has come.
    let line =
        "\"$0\" camera send \"$WINDFALL_BASE\" \"$@\" || exit; echo sent; exec cat >/dev/null";
    command.arg(line).arg(&comparison.program).args(["--wait", "0s"]);
    command.args(["--over", &scheme.protocol, "--port", PORT]).args(words(&comparison.plan));
    let file = fs::File::create(&sent);
    command.stdout(file.map_err(|source| ExperimentError::File { path: sent.clone(), source })?);
    let wait = Duration::from(comparison.wait);
    let limit = Duration::from(comparison.plan.length()) + wait + DRAIN_LIMIT + RUN_LIMIT;
    let is_over = Some(Over { sent: &sent, report: &report, wait, since: None });
    let output = watched(command, &shown(scheme), limit, is_over)?;
    // A sender that finds no receiver has sent nothing: the report is empty then.
    if output.status.code().is_none_or(|code| code >= 125 || code == 2) {
        let message = last_words(&output);
        return Err(ExperimentError::Run { command: shown(scheme), message });
    }
    let report = reported(&read(&report)?).unwrap_or(Value::Null);
    let summary: Value = serde_json::from_slice(&read(&summary)?).unwrap_or(Value::Null);
    let busy = summary["links"][0]["busy_seconds"].as_f64();
    let late = |late: &str, of: &str| {
        let count = |name: &str| summary["lateness"][name].as_f64().unwrap_or(0.0);
        count(late) / count(of).max(1.0)
    };
    Ok(SchemeRun {
        seed,
        report,
        busy: busy.map(|seconds| seconds / comparison.plan.length().as_secs_f64()),
        disturbed: late("late_deliveries", "delivered").max(late("late_reads", "reads")),
    })
}

/// Returns the options of `windfall camera send` that describe a stream.
fn words(plan: &CameraPlan) -> [String; 4] {
    let interval = plan.interval.as_secs_f64();
    let bits = 8.0 * f64::from(plan.stream.size) * f64::from(plan.per_picture) / interval;
    [
        format!("--bit-rate={bits:.0}bps"),
        format!("--frame-rate={}", 1.0 / interval),
        format!("--datagram={}", plan.stream.size),
        format!("--time={}ns", plan.length().as_nanos()),
    ]
}

pub(super) fn shown(scheme: &CameraScheme) -> String {
    format!("windfall run {}", scheme.options.join(" "))
}

/// Returns the last line that a program wrote.
fn last_words(output: &Output) -> String {
    let errors = String::from_utf8_lossy(&output.stderr);
    let last = errors.lines().rfind(|line| !line.trim().is_empty());
    let last = last.unwrap_or("it was killed, or said nothing");
    last.trim_start_matches("windfall: ").to_owned()
}

/// Returns what was said of a line of `file`, without the place: the file is gone when it is read.
fn without_place<'a>(said: &'a str, file: &Path) -> &'a str {
    let place = format!("{}:", file.display());
    let of_line = said.strip_prefix(&place).map(|rest| rest.trim_start_matches(char::is_numeric));
    of_line.and_then(|rest| rest.strip_prefix(": ")).unwrap_or(said)
}

/// Returns a word of a shell's command line.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// Returns the report among the lines that a receiver printed.
fn reported(printed: &[u8]) -> Option<Value> {
    let mut lines = printed.split(|byte| *byte == b'\n');
    lines.find(|line| line.starts_with(b"{")).and_then(|line| serde_json::from_slice(line).ok())
}

/// The end of a run: nothing more is to be waited for.
struct Over<'a> {
    /// The output of the run: a line once everything is sent.
    sent: &'a Path,
    /// The output of the receiver.
    report: &'a Path,
    wait: Duration,
    /// When everything was sent.
    since: Option<Instant>,
}

impl Over<'_> {
    #[expect(clippy::disallowed_methods, reason = "a program in real time is waited for")]
    fn is_over(&mut self) -> bool {
        let printed = fs::read(self.report).unwrap_or_default();
        if fs::metadata(self.sent).is_ok_and(|it| it.len() > 0) {
            self.since.get_or_insert_with(Instant::now);
        }
        // A receiver of which something has come ends by itself.
        let has_begun = printed.windows(9).any(|it| it == b"has begun");
        let limit = if has_begun { self.wait + DRAIN_LIMIT } else { self.wait };
        let is_late = self.since.is_some_and(|since| since.elapsed() > limit);
        is_late || self.since.is_some() && reported(&printed).is_some()
    }
}

/// Runs a command to its end or for `limit`; its standard input ends when the run is over.
#[expect(clippy::disallowed_methods, reason = "a program in real time is waited for")]
fn watched(
    mut command: Command,
    shown: &str,
    limit: Duration,
    mut over: Option<Over<'_>>,
) -> Result<Output, ExperimentError> {
    let failed = |source| ExperimentError::Start { command: shown.to_owned(), source };
    // Errors are a few lines, so that the pipe does not fill up.
    let input = if over.is_some() { Stdio::piped() } else { Stdio::null() };
    command.stdin(input).stderr(Stdio::piped());
    let mut child = windfall_live::end_with_this_process(&mut command).spawn().map_err(failed)?;
    let began = Instant::now();
    // `try_wait` leaves the standard input open.
    while child.try_wait().map_err(failed)?.is_none() {
        if began.elapsed() > limit {
            // The stations end with it.
            let _ = child.kill();
        }
        if over.as_mut().is_some_and(Over::is_over) {
            child.stdin = None;
        }
        std::thread::sleep(TICK);
    }
    child.wait_with_output().map_err(failed)
}

fn read(path: &Path) -> Result<Vec<u8>, ExperimentError> {
    fs::read(path).map_err(|source| ExperimentError::File { path: path.to_owned(), source })
}

pub(super) fn write(path: &Path, bytes: &[u8]) -> Result<(), ExperimentError> {
    fs::write(path, bytes).map_err(|source| ExperimentError::File { path: path.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scheme_that_a_link_has_not_is_refused_without_the_place_of_a_scratch_file() {
        let file = Path::new("/tmp/scratch/scenario.toml");
        for (said, left) in [
            ("/tmp/scratch/scenario.toml:10: combine changes nothing", "combine changes nothing"),
            ("only a pipe sends increments", "only a pipe sends increments"),
            ("mine.toml:3: parity 27", "mine.toml:3: parity 27"),
        ] {
            assert_eq!(without_place(said, file), left);
        }
    }

    #[test]
    fn the_options_of_a_stream_make_the_same_stream() {
        for (pictures, bits, seconds, size) in
            [(30.0, 4e6, 10.0, 1_200), (29.97, 1e6, 0.5, 333), (0.5, 9_600.0, 7.0, 50)]
        {
            let span = windfall_base::Duration::from_secs_f64(seconds);
            let plan = CameraPlan::of_rate(pictures, bits, span, size).expect("a plan");
            let [rate, frames, datagram, time] = words(&plan);
            let number = |word: &str| {
                let text = word.split_once('=').expect("an option").1;
                text.trim_end_matches("bps").trim_end_matches("ns").parse::<f64>().expect("one")
            };
            let span = windfall_base::Duration::from_nanos(number(&time) as u64);
            let size = number(&datagram) as u32;
            let again = CameraPlan::of_rate(number(&frames), number(&rate), span, size);
            let again = again.expect("a plan");
            assert_eq!((again.stream, again.per_picture), (plan.stream, plan.per_picture));
            let off = again.interval.as_nanos().abs_diff(plan.interval.as_nanos());
            assert!(off <= 1, "{again:?}");
        }
    }
}
