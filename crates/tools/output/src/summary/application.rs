//! The measures of one application.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};
use windfall_stack::socket_api::Measured;

use super::brief;

/// Measures of one application.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ApplicationSummary {
    /// The application and where it ran.
    pub name: String,
    /// The measures by name, each with its unit in the name.
    #[serde(serialize_with = "measures_to_json")]
    pub measures: BTreeMap<&'static str, Measured>,
}

/// Counts are integers, and what could not be measured is null.
fn measures_to_json<S: Serializer>(
    measures: &BTreeMap<&'static str, Measured>,
    to: S,
) -> Result<S::Ok, S::Error> {
    to.collect_map(measures.iter().map(|(name, measured)| match *measured {
        Measured::Count(count) => (name, serde_json::Value::from(count)),
        Measured::Value(value) => (name, value.into()),
        Measured::Absent => (name, serde_json::Value::Null),
    }))
}

/// Returns a measure as text: its name in words, its value and its unit.
pub(super) fn measure(name: &str, value: f64) -> String {
    let (name, unit) = match name.rsplit_once('_') {
        Some((name, "seconds")) => (name, " s"),
        Some((name, "bps")) => (name, " b/s"),
        _ => (name, ""),
    };
    format!("{} {}{unit}", name.replace('_', " "), brief(value))
}
