//! The program `windfall`, and the real time in which it runs.

use std::process::{Command, Output};
use std::time::{Duration, Instant};

use crate::error::LinkError;

/// Runs a command to its end.
pub(crate) fn output(command: &mut Command) -> Result<Output, LinkError> {
    command.output().map_err(|error| cannot_run(command, error))
}

pub(crate) fn cannot_run(command: &Command, error: std::io::Error) -> LinkError {
    let program = command.get_program().display();
    let fix = "put windfall on the path, or its place into the variable WINDFALL";
    LinkError::of_system(format!("cannot run {program} ({fix})"), error)
}

#[expect(clippy::disallowed_methods, reason = "links are up in real time")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

#[expect(clippy::disallowed_methods, reason = "links are up in real time")]
pub(crate) fn sleep(time: Duration) {
    std::thread::sleep(time);
}
