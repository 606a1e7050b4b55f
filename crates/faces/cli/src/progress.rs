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

/// Returns a bar of runs with the time that is left.
pub(crate) fn runs() -> Result<ProgressBar> {
    drawn(ProgressBar::new(0), "{bar:40} {pos} of {len} runs, {eta} to go")
}

/// Shows how many runs are over.
pub(crate) fn show_runs(bar: &ProgressBar, done: usize, all: usize) {
    let is_first = bar.length() == Some(0);
    bar.set_length(all as u64);
    bar.set_position(done as u64);
    if is_first {
        // Runs that were kept before took no time.
        bar.reset_eta();
    }
}

fn drawn(bar: ProgressBar, template: &str) -> Result<ProgressBar> {
    if !std::io::stderr().is_terminal() {
        bar.set_draw_target(ProgressDrawTarget::hidden());
    }
    Ok(bar.with_style(ProgressStyle::with_template(template)?))
}
