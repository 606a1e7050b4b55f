//! `windfall doctor`: the requirements of runs, checked on this machine.

use std::io::Write;

use windfall_live::doctor::{Health, examine};

use crate::exit::{Completion, Result, without_error_numbers};
use crate::json;

/// Check what this machine allows, and how to fix the rest
#[derive(Debug, clap::Args)]
#[command(after_help = "Exit codes: 0 runs are possible, 1 they are not.")]
pub(crate) struct Args {
    /// Print the findings as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result {
    let mut findings = examine();
    for finding in &mut findings {
        finding.found = without_error_numbers(&finding.found);
    }
    let mut out = std::io::stdout().lock();
    if args.json {
        let report = serde_json::json!({ "findings": findings });
        out.write_all(json::line(json::DOCTOR, report).as_bytes())?;
    } else {
        for finding in &findings {
            let mark = match finding.health {
                Health::Good => "ok",
                Health::Degraded => "--",
                Health::Missing => "NO",
            };
            writeln!(out, "{mark}  {:<15} {}", finding.name, finding.found)?;
            if !finding.fix.is_empty() {
                writeln!(out, "{:20}→ {}", "", finding.fix)?;
            }
        }
    }
    let sound = findings.iter().all(|finding| finding.health != Health::Missing);
    Ok(if sound { Completion::Success } else { Completion::Negative })
}
