//! The numbers of a run's summary, each under a dotted name.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;
use windfall_base::Seed;
use windfall_output::summary::Summary;
use windfall_scenario::Topology;
use windfall_scenario::sim::Simulation;

/// The measures of one run: a name such as `links.air/near.delivered`, and the value.
pub type Measures = BTreeMap<String, f64>;

/// Members that describe the run and measure nothing.
const NO_MEASURES: [&str; 4] = ["seed", "version", "command", "lateness"];
/// Maps of counts and times: what is absent from one of them did not happen.
const COUNTS: [&str; 5] = ["dropped", "dropped_before", "dropped_after", "tcp", "radio.seconds"];
/// Counts that a summary leaves out where they are zero.
const LEFT_OUT: [&str; 4] = ["copies", "marked", "combined", "repaired"];

/// Simulates a run, and returns the measures of its summary.
///
/// # Errors
/// If the network cannot be built, time does not advance, or the flag is set before the end.
pub fn simulate(
    topology: &Topology,
    seed: Seed,
    is_stopped: &AtomicBool,
) -> Result<Measures, String> {
    let mut simulation = Simulation::new(topology, seed).map_err(|error| error.to_string())?;
    let mut stopped = || is_stopped.load(Ordering::Relaxed);
    let ran = simulation.run_unless(simulation.end(), &mut |_| Ok(()), &mut stopped);
    if !ran.map_err(|error| error.to_string())? {
        return Err("it was stopped".to_owned());
    }
    let network = simulation.network();
    let now = simulation.now();
    Ok(measures_of(&windfall_output::totals::of_simulation(network, topology, seed, "", now)))
}

/// Returns every number of a summary; a switch is 0 or 1, and what was not measured is absent.
#[must_use]
pub fn measures_of(summary: &Summary) -> Measures {
    serde_json::to_value(summary).map(|summary| measures_of_json(&summary)).unwrap_or_default()
}

/// Returns every number of a summary in JSON, as [`measures_of`] does.
#[must_use]
pub fn measures_of_json(summary: &Value) -> Measures {
    let mut measures = Measures::new();
    let Value::Object(members) = summary else { return measures };
    for (name, value) in members.iter().filter(|(name, _)| !NO_MEASURES.contains(&name.as_str())) {
        add_measures(name, value, &mut measures);
    }
    measures
}

/// Adds every number of `value` under `name`: an object's members by their keys, the items of a
/// list by their `name` or their number.
pub fn add_measures(name: &str, value: &Value, measures: &mut Measures) {
    match value {
        Value::Null | Value::String(_) => {}
        Value::Bool(is_so) => {
            measures.insert(name.to_owned(), f64::from(*is_so));
        }
        Value::Number(number) => {
            measures.extend(number.as_f64().map(|number| (name.to_owned(), number)));
        }
        Value::Array(items) => {
            for (place, item) in items.iter().enumerate() {
                let own = |key: &str| item.get(key).and_then(Value::as_str);
                let item_name = match (own("name"), own("link")) {
                    (Some(name), Some(link)) => format!("{name} on {link}"),
                    (Some(name), None) => name.to_owned(),
                    _ => (place + 1).to_string(),
                };
                add_measures(&format!("{name}.{item_name}"), item, measures);
            }
        }
        Value::Object(members) => {
            for (key, value) in members {
                // An application's measures need no word between its name and theirs.
                let inner =
                    if key == "measures" { name.to_owned() } else { format!("{name}.{key}") };
                add_measures(&inner, value, measures);
            }
        }
    }
}

/// Tells whether a measure that a run lacks, while others have it, is zero there.
pub(crate) fn is_zero_where_absent(name: &str) -> bool {
    let Some((before, last)) = name.rsplit_once('.') else { return false };
    let in_counts = COUNTS.iter().any(|map| before.ends_with(&format!(".{map}")));
    in_counts || (name.starts_with("links.") && LEFT_OUT.contains(&last))
}

#[cfg(test)]
mod tests;
