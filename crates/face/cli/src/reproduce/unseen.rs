//! `windfall reproduce --unseen N`: how often other seeds come to the verdicts on record.

use std::io::Write;
use std::path::PathBuf;

use windfall_base::{Seed, Stream};
use windfall_experiment::{Basis, Context, Figure, Finding};
use windfall_report::Table;

use crate::exit::{Completion, Result};
use crate::json;

/// The share of seeds that must come to the verdict on record.
const AGREEMENT: f64 = 0.95;

/// One claim, or a figure as a whole, and the number of seeds that confirmed it.
struct Tally {
    figure: &'static str,
    requirement: &'static str,
    statement: String,
    confirmed: usize,
}

/// Measures each figure with `count` other seeds, and tells how often each
/// verdict on record came out. The findings themselves are not kept.
pub(super) fn run(figures: &[&Figure], context: &Context<'_>, count: usize, json: bool) -> Result {
    let mut tallies = Vec::new();
    for figure in figures {
        let findings = (0..count).map(|run| {
            (context.progress)(&format!("{} {}/{count}", figure.name, run + 1));
            let seed = Seed(Stream::new(context.seed, "unseen").at(run as u64).bits());
            // Another seed changes nothing in the kernel's TCP.
            let program = match figure.basis {
                Basis::Both => PathBuf::new(),
                Basis::Simulated | Basis::RealTime => context.program.clone(),
            };
            Ok(figure.run(&Context { seed, program, ..*context })?)
        });
        tallies.extend(tally(&findings.collect::<Result<Vec<_>>>()?));
    }
    (context.progress)("");
    let mut out = std::io::stdout().lock();
    let text = if json { as_json(&tallies, count) } else { table(&tallies, count).to_text() };
    out.write_all(text.as_bytes())?;
    let is_stable = |tally: &Tally| tally.confirmed as f64 >= AGREEMENT * count as f64;
    Ok(if tallies.iter().all(is_stable) { Completion::Success } else { Completion::Negative })
}

/// Counts for each claim of a figure, which all findings make in the same order, and for the whole.
fn tally(findings: &[Finding]) -> Vec<Tally> {
    let Some(first) = findings.first() else { return Vec::new() };
    let count = |holds: &dyn Fn(&Finding) -> bool| findings.iter().filter(|it| holds(it)).count();
    let claims = first.claims.iter().enumerate().map(|(place, claim)| Tally {
        figure: first.figure,
        requirement: claim.requirement,
        statement: claim.statement.clone(),
        confirmed: count(&|it| {
            it.claims.get(place).is_some_and(|claim| claim.is_as_recorded(it.extent))
        }),
    });
    let whole = Tally {
        figure: first.figure,
        requirement: "",
        statement: "the figure as a whole".to_owned(),
        confirmed: count(&Finding::is_as_recorded),
    };
    claims.chain([whole]).collect()
}

fn table(tallies: &[Tally], count: usize) -> Table {
    let mut table = Table::new(["figure", "requirement", "confirmed", "claim"]);
    for tally in tallies {
        let confirmed = format!("{}/{count}", tally.confirmed);
        table.push([tally.figure, tally.requirement, &confirmed, &tally.statement]);
    }
    table
}

fn as_json(tallies: &[Tally], count: usize) -> String {
    let claims = tallies.iter().map(|tally| {
        serde_json::json!({
            "figure": tally.figure,
            "requirement": tally.requirement,
            "statement": tally.statement,
            "confirmed": tally.confirmed,
        })
    });
    let claims: serde_json::Value = claims.collect();
    json::line(json::UNSEEN, serde_json::json!({ "seeds": count, "claims": claims }))
}
