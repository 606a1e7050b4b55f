//! `windfall tcp script`: scripts in packetdrill's syntax against Windfall's TCP.

use std::io::Write;
use std::path::{Path, PathBuf};

use windfall_base::MemoryBudget;
use windfall_base::text::visible;
use windfall_conformance::{Conformance, ScriptCounts, ScriptVerdict, Unchecked};
use windfall_scenario::{TcpSettings, TcpSettingsError};
use windfall_system::as_caller;

use crate::exit::{CliError, Completion, Result};
use crate::{input, json};

/// Test Windfall's TCP with packetdrill scripts
///
/// The scripts run in simulated time. A script plays the peer and the program: packets that arrive,
/// system calls, and the packets that must leave. Shell commands are not run, but their system
/// settings become settings of the engine. Missing features are reported as "not supported". The
/// exit status is 0 if every script passed, 1 if one failed or could not be run.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Scripts to run. A folder stands for all its *.pkt files, - for the standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Settings of the engine: "new-reno, min-rto=500ms". `windfall tcp settings` lists all. May be
    /// repeated [default: cubic]
    #[arg(long, value_name = "SETTINGS")]
    tcp: Vec<String>,
    /// Parts of segments to leave out of the comparison: push, window, options
    #[arg(long, value_name = "PARTS")]
    ignore: Vec<String>,
    /// Print the outcome of each script as one line of JSON
    #[arg(long)]
    json: bool,
    /// Print only failures and the count
    #[arg(long, short)]
    quiet: bool,
}

pub(crate) fn run(args: &Args) -> Result {
    let conformance = conformance(args)?;
    let budget = input::budget()?;
    let mut out = std::io::stdout().lock();
    let mut counts = ScriptCounts::default();
    for file in files(&args.files)? {
        let verdict = verdict(&conformance, &file, &budget)?;
        counts.add(&verdict);
        let name = file.display().to_string();
        if args.json {
            out.write_all(json::line(json::TCP_SCRIPT, verdict.to_json(&name)).as_bytes())?;
        } else if !args.quiet || verdict.is_failure() {
            out.write_all(verdict.to_text(&visible(&name)).as_bytes())?;
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
        let entries: std::io::Result<Vec<_>> =
            as_caller(path, || std::fs::read_dir(path)).map_err(error)?.collect();
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

fn verdict(conformance: &Conformance, file: &Path, budget: &MemoryBudget) -> Result<ScriptVerdict> {
    let bytes = input::read(file, &mut budget.clone())
        .map_err(|error| CliError::usage(format!("cannot read {}: {error}", file.display())))?;
    Ok(conformance.verdict(bytes))
}
