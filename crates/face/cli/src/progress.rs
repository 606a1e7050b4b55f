//! Progress on the standard error, where that is a terminal.

use std::io::IsTerminal as _;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::exit::Result;

/// Returns a spinner with a message and the time since its start.
pub(crate) fn spinner() -> Result<ProgressBar> {
    drawn(ProgressBar::new_spinner(), "{spinner} {msg} ({elapsed})")
}

/// Returns a bar of `steps` steps with the time that is left.
pub(crate) fn bar(steps: u64) -> Result<ProgressBar> {
    drawn(ProgressBar::new(steps), "{bar:40} {percent} % of the scenario, {eta} to go")
}

fn drawn(bar: ProgressBar, template: &str) -> Result<ProgressBar> {
    if !std::io::stderr().is_terminal() {
        bar.set_draw_target(ProgressDrawTarget::hidden());
    }
    Ok(bar.with_style(ProgressStyle::with_template(template)?))
}
