//! `windfall reproduce --unseen N`: how often other seeds come to the verdicts on record.

use std::io::Write;

use windfall_papers::experiment::unseen::{self, Tally};
use windfall_papers::experiment::{Context, Figure};

use crate::exit::{Completion, Result};
use crate::json;

/// The share of seeds that must come to the verdict on record.
const AGREEMENT: f64 = 0.95;

/// Measures each figure with `count` other seeds, and prints how often each verdict came out.
pub(super) fn run(figures: &[&Figure], context: &Context<'_>, count: usize, json: bool) -> Result {
    let tallies = unseen::measure(figures, context, count)?;
    let mut out = std::io::stdout().lock();
    let table = || unseen::table(&tallies, count).to_text();
    let text = if json { as_json(&tallies, count) } else { table() };
    out.write_all(text.as_bytes())?;
    let is_stable = |tally: &Tally| tally.confirmed as f64 >= AGREEMENT * count as f64;
    Ok(if tallies.iter().all(is_stable) { Completion::Success } else { Completion::Negative })
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
