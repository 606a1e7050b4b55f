//! `windfall down`: ends runs.

use std::time::Duration;

use windfall_control::ControlClient;

use crate::exit::{Completion, Result};

/// The time that a run may take to end.
const PATIENCE: Duration = Duration::from_secs(60);

/// End a run, and wait until nothing of it is left
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The name of the run, if there are several
    run: Option<String>,
    /// End all runs of this user
    #[arg(long, conflicts_with = "run")]
    all: bool,
}

pub(crate) fn run(args: &Args) -> Result {
    let clients = if args.all {
        ControlClient::all()
    } else {
        vec![ControlClient::connect(args.run.as_deref())?]
    };
    let mut asked = Vec::new();
    for mut client in clients {
        client.end()?;
        asked.push(client);
    }
    asked.iter_mut().try_for_each(|client| client.wait_for_end(PATIENCE))?;
    Ok(Completion::Success)
}
