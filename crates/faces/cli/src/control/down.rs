//! `windfall down`: ends runs.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use windfall_control::ControlClient;

use crate::exit::{CliError, Completion, Result, tell};

/// The time that a run may take to end.
const PATIENCE: Duration = Duration::from_secs(60);

/// End runs, and wait until they have cleaned up
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Names of the runs. You can leave them out if only one run is active
    runs: Vec<String>,
    /// End all your runs
    #[arg(long, conflicts_with = "runs")]
    all: bool,
}

pub(crate) fn run(args: &Args) -> Result {
    // All are found before the first is asked to end, so that a wrong name ends none.
    let connect = |name: &String| ControlClient::connect(Some(name));
    let clients = match (args.all, &*args.runs) {
        (true, _) => ControlClient::all(),
        (false, []) => vec![ControlClient::connect(None)?],
        (false, names) => names.iter().map(connect).collect::<core::result::Result<_, _>>()?,
    };
    let count = clients.len();
    // Side by side: one that does not answer keeps none of the others.
    let end = |mut it: ControlClient| it.end().and_then(|()| it.wait_for_end(PATIENCE)).err();
    let clients = Mutex::new(clients.into_iter());
    let failures = Mutex::new(Vec::new());
    let next = || clients.lock().unwrap_or_else(PoisonError::into_inner).next();
    let turn = || {
        while let Some(client) = next() {
            let failure = end(client);
            failures.lock().unwrap_or_else(PoisonError::into_inner).extend(failure);
        }
    };
    std::thread::scope(|scope| {
        // This thread ends those for which the system has no other thread.
        for _ in 1..count {
            if std::thread::Builder::new().spawn_scoped(scope, turn).is_err() {
                break;
            }
        }
        turn();
    });
    let failures = failures.into_inner().unwrap_or_else(PoisonError::into_inner);
    let mut failures = failures.into_iter().map(CliError::from);
    let Some(first) = failures.next() else { return Ok(Completion::Success) };
    failures.for_each(tell);
    Err(first)
}
