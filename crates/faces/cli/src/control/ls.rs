//! `windfall ls`: the runs that are there.

use std::io::Write as _;
use std::time::Duration;

use windfall_base::text::visible;
use windfall_control::{ControlClient, protocol, text};
use windfall_live::control_socket;

use crate::exit::{Completion, Result, tell};

/// The time after which a run that does not answer is taken to have stopped.
const PATIENCE: Duration = Duration::from_secs(1);

/// List your active runs
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print one JSON object per run, each on its own line
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result {
    let mut out = std::io::stdout().lock();
    if let Some(folder) = control_socket::distrusted() {
        tell(control_socket::not_searched(&folder));
    }
    for mut client in ControlClient::all() {
        client.set_patience(PATIENCE);
        let row = client.row();
        let line = if args.json { protocol::line(&row) } else { text::of_row(&row) };
        writeln!(out, "{}", visible(&line))?;
    }
    Ok(Completion::Success)
}
