//! How often other seeds come to the verdicts on record.

use std::path::PathBuf;

use windfall_base::{Seed, Stream};
use windfall_report::Table;

use crate::experiment::error::ExperimentError;
use crate::experiment::figure::{Basis, Context, Figure};
use crate::experiment::finding::Finding;

/// One claim, or a figure as a whole, and the number of seeds that confirmed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tally {
    /// The name of the figure.
    pub figure: &'static str,
    /// The requirement; empty for the figure as a whole.
    pub requirement: &'static str,
    /// The statement that the claim makes.
    pub statement: String,
    /// The seeds that came to the verdict on record.
    pub confirmed: usize,
}

/// Measures each figure with `count` other seeds, and tells how often each
/// verdict on record came out. The findings themselves are not kept.
///
/// # Errors
/// If a figure cannot be measured.
pub fn measure(
    figures: &[&Figure],
    context: &Context<'_>,
    count: usize,
) -> Result<Vec<Tally>, ExperimentError> {
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
            figure.run(&Context { seed, program, ..*context })
        });
        tallies.extend(tally(&findings.collect::<Result<Vec<_>, _>>()?));
    }
    (context.progress)("");
    Ok(tallies)
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

/// Returns the tallies of `count` seeds as a table.
#[must_use]
pub fn table(tallies: &[Tally], count: usize) -> Table {
    let mut table = Table::new(["figure", "requirement", "confirmed", "claim"]);
    for tally in tallies {
        let confirmed = format!("{}/{count}", tally.confirmed);
        table.push([tally.figure, tally.requirement, &confirmed, &tally.statement]);
    }
    table
}
