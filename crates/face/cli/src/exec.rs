//! `windfall exec`: a program in a station that is up.

use std::ffi::OsString;
use std::io::IsTerminal;

use crate::exit::{Completion, Result};

/// Run a program in a station of a running `windfall up`
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The station
    station: String,
    /// The program and its arguments; your shell if there are none
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
    /// Name of the run, if there are several
    #[arg(long, value_name = "NAME")]
    run: Option<String>,
    /// Under sudo, run the program as root instead of as the user who called it
    #[arg(long)]
    as_root: bool,
}

pub(crate) fn run(args: &Args) -> Result {
    let mut arguments = args.command.clone();
    let interactive = arguments.is_empty() && std::io::stdin().is_terminal();
    if arguments.is_empty() {
        let shell = std::env::var_os("SHELL").filter(|shell| !shell.is_empty());
        arguments.push(shell.unwrap_or_else(|| "/bin/sh".into()));
    }
    let run = args.run.as_deref();
    let entered = windfall_live::control_socket::enter(
        run,
        &args.station,
        arguments,
        interactive,
        args.as_root,
    );
    let status = entered?;
    Ok(Completion::Program(status))
}
