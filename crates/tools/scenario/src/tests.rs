//! Topologies of scenarios that stand in tests.

mod rows;

use std::io;

use crate::plan::Read;
use crate::{Scenario, Topology};

/// The name under which tests read scenarios.
const FILE: &str = "a.toml";

/// Returns the topology of a scenario that names no files, or why it is refused.
pub(crate) fn topology(text: &str) -> Result<Topology, String> {
    topology_with(text, &mut |_| Err(io::Error::from(io::ErrorKind::NotFound)))
}

/// Returns the topology of a scenario whose files `read` has, or why it is refused.
pub(crate) fn topology_with(text: &str, read: &mut Read<'_>) -> Result<Topology, String> {
    let scenario = Scenario::parse(FILE, text).map_err(|error| error.to_string())?;
    scenario.topology(0, (FILE, text), read).map_err(|error| error.to_string())
}
