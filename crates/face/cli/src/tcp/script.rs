//! `windfall tcp script`: scripts in packetdrill's syntax against Windfall's TCP.

use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use windfall_base::MemoryBudget;
use windfall_base::text::visible;
use windfall_conformance::{Conformance, ScriptFailure, ScriptOutcome, Unchecked};
use windfall_packet_script::{Place, Script};
use windfall_scenario::{TcpSettings, TcpSettingsError};

use crate::exit::{CliError, Completion, Result};
use crate::{input, json};

/// Lines of the timeline that are printed before a failure.
const SHOWN: usize = 12;

/// Run scripts in packetdrill's syntax against the TCP, in simulated time
///
/// A script plays the peer and the program: packets that arrive, system calls, and the packets that
/// must leave. Shell commands are not run; settings of the system in them become settings of the
/// engine. What is not there is named as "not supported". The exit status is 0 if every script
/// passed, 1 if one failed or could not be run.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Scripts; "-" is the standard input, of a folder all files *.pkt
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Settings of the engine: "new-reno, min-rto=500ms"; may be repeated. `windfall tcp
    /// settings` lists all [default: cubic]
    #[arg(long, value_name = "SETTINGS")]
    tcp: Vec<String>,
    /// Parts of segments that are not compared: push, window, options
    #[arg(long, value_name = "PARTS")]
    ignore: Vec<String>,
    /// Print the outcome of each script as a line of JSON
    #[arg(long)]
    json: bool,
    /// Print failures and the count only
    #[arg(long, short)]
    quiet: bool,
}

/// The outcome of a file.
enum Outcome {
    Ran(ScriptOutcome),
    Unreadable(Option<Place>, String),
}

#[derive(Default)]
struct Counts {
    passed: u32,
    failed: u32,
    unsupported: u32,
    unreadable: u32,
}

pub(crate) fn run(args: &Args) -> Result {
    let conformance = conformance(args)?;
    let budget = input::budget()?;
    let mut out = std::io::stdout().lock();
    let mut counts = Counts::default();
    for file in files(&args.files)? {
        let outcome = outcome(&conformance, &file, &budget)?;
        counts.add(&outcome);
        let name = file.display().to_string();
        if args.json {
            out.write_all(json::line(json::TCP_SCRIPT, report(&name, &outcome)).as_bytes())?;
        } else if !args.quiet || outcome.is_failure() {
            tell(&mut out, &visible(&name), &outcome)?;
        }
    }
    if !args.json {
        writeln!(out, "{counts}")?;
    }
    Ok(if counts.all_passed() { Completion::Success } else { Completion::Negative })
}

fn conformance(args: &Args) -> Result<Conformance> {
    let settings = args.tcp.join(",").parse();
    let settings: TcpSettings =
        settings.map_err(|error: TcpSettingsError| CliError::from(error).into_usage())?;
    let unchecked = args.ignore.join(",").parse();
    let unchecked: Unchecked = unchecked.map_err(|part: windfall_conformance::UnknownPart| {
        let fix = "write push, window, options, with commas between them";
        CliError::usage(format!("\"{}\" is no part that can be ignored: {fix}", part.0))
    })?;
    Ok(Conformance { tcp: settings.config().clone(), unchecked, ..Conformance::default() })
}

/// Lists the files, with those of folders in the order of their names.
fn files(named: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in named {
        let error = |error| CliError::usage(format!("cannot read {}: {error}", path.display()));
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let entries: std::io::Result<Vec<_>> = std::fs::read_dir(path).map_err(error)?.collect();
        let mut found: Vec<_> = entries.map_err(error)?.into_iter().map(|it| it.path()).collect();
        found.retain(|it| it.extension().is_some_and(|it| it == "pkt"));
        if found.is_empty() {
            let text = format!("{} holds no file *.pkt; name the files", path.display());
            return Err(CliError::usage(text));
        }
        found.sort();
        files.extend(found);
    }
    Ok(files)
}

fn outcome(conformance: &Conformance, file: &Path, budget: &MemoryBudget) -> Result<Outcome> {
    let bytes = input::read(file, &mut budget.clone())
        .map_err(|error| CliError::usage(format!("cannot read {}: {error}", file.display())))?;
    let Ok(text) = String::from_utf8(bytes) else {
        return Ok(Outcome::Unreadable(None, "the file is no text in UTF-8".to_owned()));
    };
    Ok(match text.parse::<Script>() {
        Ok(script) if script.events.is_empty() => {
            Outcome::Unreadable(None, "it has no event".to_owned())
        }
        Ok(script) => Outcome::Ran(conformance.run(&script)),
        Err(error) => Outcome::Unreadable(Some(error.place), error.what),
    })
}

impl Outcome {
    fn is_failure(&self) -> bool {
        !matches!(self, Self::Ran(ScriptOutcome::Passed | ScriptOutcome::Unsupported { .. }))
    }
}

fn tell(out: &mut impl Write, name: &str, outcome: &Outcome) -> std::io::Result<()> {
    match outcome {
        Outcome::Ran(ScriptOutcome::Passed) => writeln!(out, "{name}: passed"),
        Outcome::Ran(ScriptOutcome::Unsupported { place, feature }) => {
            writeln!(out, "{name}:{place}: not supported: {}", visible(feature))
        }
        Outcome::Ran(ScriptOutcome::Failed(failure)) => tell_failure(out, name, failure),
        Outcome::Unreadable(Some(place), what) => {
            writeln!(out, "{name}:{place}: not readable: {}", visible(what))
        }
        Outcome::Unreadable(None, what) => writeln!(out, "{name}: not readable: {what}"),
    }
}

fn tell_failure(out: &mut impl Write, name: &str, failure: &ScriptFailure) -> std::io::Result<()> {
    writeln!(out, "{name}:{}: failed: {}", failure.place, visible(&failure.what))?;
    let timeline = &failure.timeline;
    let from = timeline.len().saturating_sub(SHOWN);
    for line in &timeline[from..] {
        writeln!(out, "            {}", visible(line))?;
    }
    for (label, text) in [("expected", &failure.expected), ("got", &failure.got)] {
        if let Some(text) = text {
            writeln!(out, "  {label:9} {}", visible(text))?;
        }
    }
    Ok(())
}

fn report(name: &str, outcome: &Outcome) -> Value {
    let placed = |outcome: &str, place: Option<Place>, rest: Value| {
        let mut report = json!({ "file": name, "outcome": outcome });
        if let Some(place) = place {
            report["line"] = place.line.into();
            report["column"] = place.column.into();
        }
        if let (Some(report), Value::Object(rest)) = (report.as_object_mut(), rest) {
            report.extend(rest);
        }
        report
    };
    match outcome {
        Outcome::Ran(ScriptOutcome::Passed) => placed("passed", None, Value::Null),
        Outcome::Ran(ScriptOutcome::Unsupported { place, feature }) => {
            placed("not_supported", Some(*place), json!({ "feature": feature }))
        }
        Outcome::Ran(ScriptOutcome::Failed(failure)) => {
            let ScriptFailure { place, what, expected, got, timeline } = &**failure;
            let timeline = timeline.join("\n");
            let rest =
                json!({ "reason": what, "expected": expected, "got": got, "timeline": timeline });
            placed("failed", Some(*place), rest)
        }
        Outcome::Unreadable(place, what) => {
            placed("not_readable", *place, json!({ "reason": what }))
        }
    }
}

impl Counts {
    fn add(&mut self, outcome: &Outcome) {
        *match outcome {
            Outcome::Ran(ScriptOutcome::Passed) => &mut self.passed,
            Outcome::Ran(ScriptOutcome::Failed(_)) => &mut self.failed,
            Outcome::Ran(ScriptOutcome::Unsupported { .. }) => &mut self.unsupported,
            Outcome::Unreadable(..) => &mut self.unreadable,
        } += 1;
    }

    fn all_passed(&self) -> bool {
        self.failed + self.unsupported + self.unreadable == 0
    }
}

impl std::fmt::Display for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)?;
        write!(f, ", {} not supported, {} not readable", self.unsupported, self.unreadable)
    }
}
