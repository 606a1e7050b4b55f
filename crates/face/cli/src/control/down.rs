//! `windfall down`: ends runs.

use std::time::Duration;

use windfall_control::ControlClient;

use crate::exit::{Completion, Result};

/// The time that a run may take to end.
const PATIENCE: Duration = Duration::from_secs(60);

/// End runs, and wait until nothing of them is left
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The names of the runs; may be left out if there is only one
    runs: Vec<String>,
    /// End all runs of this user
    #[arg(long, conflicts_with = "runs")]
    all: bool,
}

pub(crate) fn run(args: &Args) -> Result {
    // All are found before the first is asked to end, so that a wrong name ends none.
    let clients = match (args.all, &*args.runs) {
        (true, _) => ControlClient::all(),
        (false, []) => vec![ControlClient::connect(None)?],
        (false, names) => {
            let found = names.iter().map(|name| ControlClient::connect(Some(name)));
            found.collect::<core::result::Result<_, _>>()?
        }
    };
    let mut asked = Vec::new();
    for mut client in clients {
        client.end()?;
        asked.push(client);
    }
    asked.iter_mut().try_for_each(|client| client.wait_for_end(PATIENCE))?;
    Ok(Completion::Success)
}
