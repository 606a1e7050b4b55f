//! One run of a sweep over a real program: `windfall run` of this program, and its numbers.

use core::ops::RangeInclusive;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::num::NonZeroU16;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use windfall_base::Probability;
use windfall_scenario::Scenario;
use windfall_sweep::{Measures, SweepRun, add_measures, measures_of_json};

use crate::exit::Result;
use crate::usage::whole;

/// The statuses of `windfall run` if it failed itself, and of a shell that could not start the
/// program or did not find it.
const FAILED: RangeInclusive<i32> = 125..=127;
/// The most attempts at a run that the machine disturbs.
const ATTEMPTS: usize = 3;
/// The most bytes that are read of what a program prints.
const MOST_OUTPUT: u64 = 16 << 20;
/// The time between two looks whether a run has ended.
const TICK: Duration = Duration::from_millis(20);

/// Options of a sweep over a real program.
#[derive(Debug, clap::Args)]
pub(crate) struct ProgramOptions {
    /// Run this shell command at the near end, in real time, for every value and every seed. JSON
    /// that it prints adds measures
    #[arg(long = "run", value_name = "COMMAND", help_heading = "Sweep")]
    pub(super) command: Option<String>,
    /// Run a shell command at the far end. It starts before COMMAND, and gets SIGTERM after COMMAND
    /// has ended
    #[arg(long, value_name = "COMMAND", requires = "command", help_heading = "Sweep")]
    far: Vec<String>,
    /// Start COMMAND after something listens on this port at the far end
    #[arg(long, value_name = "PORT", requires = "far", help_heading = "Sweep",
          value_parser = whole(NonZeroU16::MIN..=NonZeroU16::MAX))]
    wait_port: Vec<NonZeroU16>,
    /// Repeat a run, at most twice, if a larger share of its packets was late by 1 ms
    #[arg(
        long,
        value_name = "SHARE",
        requires = "command",
        help_heading = "Sweep",
        default_value = "5%"
    )]
    max_late: Probability,
}

impl ProgramOptions {
    /// The words on which a run depends, beside its scenario.
    pub(super) fn words(&self) -> String {
        let ports = self.wait_port.iter().map(NonZeroU16::to_string);
        let words = self.command.iter().chain(&self.far).cloned().chain(ports);
        words.fold(String::new(), |all, word| format!("{all}\0{word}"))
    }
}

/// The runs of a sweep over a real program, and which of them the machine disturbed.
#[derive(Debug)]
pub(super) struct ProgramRuns<'a> {
    options: &'a ProgramOptions,
    command: &'a str,
    windfall: PathBuf,
    folder: PathBuf,
    /// Runs that were late in all attempts.
    disturbed: Mutex<usize>,
}

impl<'a> ProgramRuns<'a> {
    /// Runs of `command` whose files are kept in `folder` while they last.
    pub(super) fn new(
        options: &'a ProgramOptions,
        command: &'a str,
        folder: &Path,
    ) -> Result<Self> {
        let windfall = std::env::current_exe()?;
        let folder = folder.to_owned();
        Ok(Self { options, command, windfall, folder, disturbed: Mutex::new(0) })
    }

    /// The number of runs that were late in all attempts.
    pub(super) fn disturbed(&self) -> usize {
        *self.disturbed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does one run of `scenario`, which names its files from everywhere, and returns its measures.
    ///
    /// # Errors
    /// Says why the program could not run, or that the flag was set.
    pub(super) fn run(
        &self,
        run: &SweepRun,
        point: &str,
        scenario: &Scenario,
        is_stopped: &AtomicBool,
    ) -> std::result::Result<Measures, String> {
        let mut attempts = 0;
        let (summary, status, output) = loop {
            let files = RunFiles::make(&self.folder, &run.identity, scenario)?;
            let ended = self.once(&files, run, point, is_stopped)?;
            attempts += 1;
            let is_late = is_late(&ended.0, self.options.max_late);
            if is_late && attempts < ATTEMPTS {
                continue;
            }
            if is_late {
                *self.disturbed.lock().unwrap_or_else(PoisonError::into_inner) += 1;
            }
            break ended;
        };
        if let Some(message) = failed_beside(&summary) {
            return Err(message);
        }
        let mut measures = measures_of_json(&summary);
        if let Some(printed) = printed_json(&output)? {
            add_measures("program", &printed, &mut measures);
        }
        measures.insert("program.exit".to_owned(), f64::from(status));
        Ok(measures)
    }

    /// Does a run once; returns its summary, the exit status of the program and what it printed.
    fn once(
        &self,
        files: &RunFiles,
        run: &SweepRun,
        point: &str,
        is_stopped: &AtomicBool,
    ) -> std::result::Result<(Value, i32, String), String> {
        let told = |error: std::io::Error| error.to_string();
        let mut output = File::create_new(files.path("out")).map_err(told)?;
        let mut errors = File::create_new(files.path("err")).map_err(told)?;
        let mut command = Command::new(&self.windfall);
        command.args(["run", "-q", "--json", "--summary"]).arg(files.path("json"));
        command.arg("--scenario").arg(files.path("toml"));
        if !self.options.far.is_empty() {
            // The summary says which of them failed.
            command.arg("--far-may-fail");
        }
        for far in &self.options.far {
            command.arg("--far").arg(far);
        }
        for port in &self.options.wait_port {
            command.arg("--wait-port").arg(port.to_string());
        }
        command.args(["--", "sh", "-c", self.command]);
        command.env("WINDFALL_SEED", run.seed.0.to_string()).env("WINDFALL_POINT", point);
        command.stdin(Stdio::null());
        command.stdout(output.try_clone().map_err(told)?);
        command.stderr(errors.try_clone().map_err(told)?);
        let mut child = command.spawn().map_err(told)?;
        let status = wait(&mut child, is_stopped).map_err(told)?;
        if is_stopped.load(Ordering::Relaxed) {
            return Err("it was stopped".to_owned());
        }
        let [output, errors] = [&mut output, &mut errors].map(read_end);
        // A signal has no code.
        let code = status.code().unwrap_or(-1);
        let text = std::fs::read(files.path("json")).unwrap_or_default();
        let summary = serde_json::from_slice(&text);
        match summary {
            Ok(summary) if !FAILED.contains(&code) => Ok((summary, code, output)),
            _ => {
                let last = errors.lines().rfind(|line| !line.trim().is_empty());
                Err(last.map_or_else(|| format!("it ended with {status}"), str::to_owned))
            }
        }
    }
}

/// The files of a run, which go away with it.
#[derive(Debug)]
struct RunFiles {
    folder: PathBuf,
    stem: String,
}

impl RunFiles {
    const KINDS: [&'static str; 4] = ["toml", "json", "out", "err"];

    /// Writes the scenario of a run.
    fn make(folder: &Path, stem: &str, scenario: &Scenario) -> std::result::Result<Self, String> {
        let files = Self { folder: folder.to_owned(), stem: stem.to_owned() };
        files.remove();
        let path = files.path("toml");
        let written = File::create_new(&path)
            .and_then(|mut file| file.write_all(scenario.to_toml().as_bytes()));
        written.map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(files)
    }

    fn path(&self, kind: &str) -> PathBuf {
        self.folder.join(format!("{}.{kind}", self.stem))
    }

    fn remove(&self) {
        // A file that is not there need not go.
        Self::KINDS.iter().for_each(|kind| _ = std::fs::remove_file(self.path(kind)));
    }
}

impl Drop for RunFiles {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Waits for the end of a run; if it is to stop, its programs get SIGTERM.
#[expect(clippy::disallowed_methods, reason = "a run in real time takes its time")]
fn wait(child: &mut Child, is_stopped: &AtomicBool) -> std::io::Result<ExitStatus> {
    let mut is_told = false;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if is_stopped.load(Ordering::Relaxed) && !is_told {
            is_told = true;
            // It may have ended meanwhile.
            let _ = kill_process(Pid::from_child(child), Signal::TERM);
        }
        thread::sleep(TICK);
    }
}

/// Reads the end of a file, as far as it is read at all.
fn read_end(file: &mut File) -> String {
    let mut bytes = Vec::new();
    let read = file.metadata().and_then(|it| {
        file.seek(SeekFrom::Start(it.len().saturating_sub(MOST_OUTPUT)))?;
        file.take(MOST_OUTPUT).read_to_end(&mut bytes)
    });
    // What cannot be read counts as nothing.
    read.map(|_| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}

/// Tells whether more than this share of the packets of a run were late.
fn is_late(summary: &Value, share: Probability) -> bool {
    let count = |name: &str| summary["lateness"][name].as_f64().unwrap_or_default();
    count("late_deliveries") > count("delivered") * share.get()
}

/// Returns the last JSON object that a program printed, if it begins a line.
///
/// # Errors
/// If the last such line begins an object that cannot be read.
fn printed_json(output: &str) -> std::result::Result<Option<Value>, String> {
    let text = output.trim_start_matches('\u{feff}');
    let Some(begin) = text.rmatch_indices('{').map(|(at, _)| at).find(|at| begins_line(text, *at))
    else {
        return Ok(None);
    };
    let text = without_numbers_that_json_lacks(&text[begin..]);
    let value = serde_json::Deserializer::from_str(&text).into_iter::<Value>().next();
    value.transpose().map_err(|error| format!("its JSON cannot be read: {error}"))
}

/// Tells whether a place of a text is the first of a line.
fn begins_line(text: &str, at: usize) -> bool {
    at == 0 || text.as_bytes()[at - 1] == b'\n'
}

/// Writes `null` for NaN and the infinities, which Python prints as they are.
fn without_numbers_that_json_lacks(text: &str) -> String {
    // Every second part is inside of quotes, as far as no quote is escaped.
    let outside = |part: &str| {
        part.replace("-Infinity", "null").replace("Infinity", "null").replace("NaN", "null")
    };
    let mut result = String::with_capacity(text.len());
    let mut is_quoted = false;
    for part in text.split_inclusive('"') {
        result += &if is_quoted { part.to_owned() } else { outside(part) };
        let is_escaped = part.trim_end_matches('"').ends_with('\\') && is_quoted;
        is_quoted ^= part.ends_with('"') && !is_escaped;
    }
    result
}

/// Says which program at the far end failed, if one did.
fn failed_beside(summary: &Value) -> Option<String> {
    let failed = summary["failed"].as_array()?.first()?;
    let command = failed["program"].as_str().unwrap_or("the program at the far end");
    Some(format!("{command}: status {}", failed["status"]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_json_of_a_program_is_the_last_object_that_begins_a_line() {
        let a = |text: &str| printed_json(text).expect("JSON").expect("an object")["a"].clone();
        assert_eq!(a("{\n \"a\": 1\n}\n"), 1);
        assert_eq!(a("log {\n{\n \"a\": {\"b\": 2}\n}\nbye\n")["b"], 2);
        assert_eq!(a("hello\n{\"a\": 1}\n{\"a\": 2}\nbye\n"), 2);
        assert_eq!(a("\u{feff}{\"a\": 3}"), 3);
        for text in ["5\n[1]\n", "", "see {a}\n"] {
            assert_eq!(printed_json(text), Ok(None), "{text}");
        }
        let error = printed_json("{\"a\": 1}\n{broken\n").expect_err("no JSON");
        assert!(error.starts_with("its JSON cannot be read: "), "{error}");
    }

    #[test]
    fn numbers_that_json_lacks_are_not_measured() {
        let text = r#"{"a": NaN, "b": -Infinity, "c": "NaN \" Infinity", "d": Infinity, "e": 5}"#;
        let value = printed_json(text).expect("JSON").expect("an object");
        assert!(["a", "b", "d"].iter().all(|key| value[key].is_null()), "{value}");
        assert_eq!((&value["c"], &value["e"]), (&"NaN \" Infinity".into(), &5.into()));
    }

    #[test]
    fn a_run_is_late_if_more_than_the_share_of_its_packets_was() {
        let lateness = |late: u64| serde_json::json!({"delivered": 100, "late_deliveries": late});
        let summary = |late| serde_json::json!({"lateness": lateness(late)});
        let share: Probability = "5%".parse().expect("a share");
        assert!(!is_late(&summary(5), share));
        assert!(is_late(&summary(6), share));
        assert!(!is_late(&serde_json::json!({}), share));
    }
}
