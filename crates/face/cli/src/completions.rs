//! `windfall completions`: shell completions and man pages from the definitions of the options.

use std::io::Write;
use std::path::PathBuf;

use crate::exit::{CliError, Completion, Result};

/// Print the completions of a shell, or write the man pages
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The shell whose completions to print
    #[arg(required_unless_present = "man")]
    shell: Option<clap_complete::Shell>,
    /// Write one man page per command into this directory instead
    #[arg(long, value_name = "DIR", conflicts_with = "shell")]
    man: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> Result {
    if let Some(dir) = &args.man {
        crate::man::write_all(dir).map_err(|error| {
            CliError::new(format!("cannot write man pages into {}: {error}", dir.display()))
        })?;
    }
    if let Some(shell) = args.shell {
        // Generated in memory first: a closed pipe is no reason to panic.
        let mut script = Vec::new();
        clap_complete::generate(shell, &mut crate::command(), "windfall", &mut script);
        std::io::stdout().write_all(&script)?;
    }
    Ok(Completion::Success)
}
