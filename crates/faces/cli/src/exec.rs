//! `windfall exec`: a program in a station that is up.

use std::ffi::OsString;
use std::io::IsTerminal;

use windfall_live::LiveError;

use crate::exit::{CliError, Completion, Result};
use crate::usage::shell_quoted;

/// Run a program in a station of a running scenario
///
/// The scenario runs under `windfall up` or `windfall run`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Station, after the name of its run if several are active
    #[arg(required = true, num_args = 1..=2, value_name = "[RUN] STATION")]
    words: Vec<String>,
    /// Program and its arguments [default: your shell]
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
    /// Name of the run, instead of RUN
    #[arg(long, value_name = "NAME")]
    run: Option<String>,
    /// Under sudo, run the program as root instead of as the calling user
    #[arg(long)]
    as_root: bool,
    /// Descriptor from which the environment of the program is read
    #[arg(long, value_name = "FD", hide = true)]
    environment: Option<u16>,
}

pub(crate) fn run(args: &Args) -> Result {
    let mut arguments = args.command.clone();
    let interactive = arguments.is_empty() && std::io::stdin().is_terminal();
    if arguments.is_empty() {
        let shell = std::env::var_os("SHELL").filter(|shell| !shell.is_empty());
        arguments.push(shell.unwrap_or_else(|| "/bin/sh".into()));
    }
    let (run, station) = match args.words.as_slice() {
        [run, station] if args.run.is_none() => (Some(run.as_str()), station),
        [station] => (args.run.as_deref(), station),
        _ => {
            let why = "the run is named twice: write windfall exec RUN STATION";
            return Err(CliError::usage(why));
        }
    };
    let entered = windfall_live::control_socket::enter(
        run,
        station,
        arguments,
        interactive,
        args.as_root,
        args.environment,
    );
    match entered {
        Ok(status) => Ok(Completion::Program(status)),
        // Two words may also be a station and a program without the `--` between them.
        Err(error @ LiveError::NoSuchRun(_))
            if args.words.len() == 2 && args.command.is_empty() =>
        {
            let [station, program] = [0, 1].map(|at| shell_quoted(&args.words[at]));
            let fix = format!("for a program write windfall exec {station} -- {program}");
            Err(CliError::usage(format!("{error}; {fix}")))
        }
        Err(error) => Err(error.into()),
    }
}
