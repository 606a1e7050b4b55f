//! Runs under control: `windfall set`, `status`, `top`, `ls` and `down`.

pub(crate) mod down;
pub(crate) mod ls;
pub(crate) mod set;
pub(crate) mod status;
pub(crate) mod top;
mod top_web;

use std::path::PathBuf;

use windfall_control::{RunControl, RunDescription};
use windfall_live::control_socket;
use windfall_scenario::Topology;

use crate::exit::Result;
use crate::options::Loaded;
use crate::record::command_line;

/// Reads a name under which a run can be found.
pub(crate) fn run_name(text: &str) -> std::result::Result<String, String> {
    if !control_socket::is_name(text) {
        return Err(format!("use {}", control_socket::ALLOWED));
    }
    Ok(text.to_owned())
}

/// The control of a run that is about to begin.
pub(crate) fn of_run(
    name: &str,
    kind: &'static str,
    loaded: &Loaded,
    topology: &Topology,
) -> Result<RunControl> {
    let about = RunDescription {
        name: name.to_owned(),
        command: command_line(),
        kind,
        directory: PathBuf::new(),
        seed: loaded.seed(),
    };
    Ok(RunControl::new(about, loaded.placed()?, topology.clone()))
}
