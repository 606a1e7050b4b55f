//! `windfall sap`: keys for encrypted connections of SAP.

use std::io::{self, Write as _};
use std::path::PathBuf;

use windfall_video::streams::key;

use crate::exit::{CliError, Completion, Result};

/// Make keys for encrypted SAP connections
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: SapCommand,
}

#[derive(Debug, clap::Subcommand)]
enum SapCommand {
    /// Write a new key for both ends of a connection
    ///
    /// Only the owner can read the file. An existing file is never overwritten. Copy the key to the
    /// peer over a private channel. `stream`, `track` and `image` encrypt with
    /// ~/.config/windfall/sap.key unless --key names another file.
    Keygen(Keygen),
}

#[derive(Debug, clap::Args)]
struct Keygen {
    /// File for the key [default: ~/.config/windfall/sap.key]
    file: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> Result {
    let SapCommand::Keygen(Keygen { file }) = &args.command;
    if file.as_deref().is_some_and(|file| file.as_os_str() == key::NONE) {
        let text = "\"none\" means no key in --key: choose another name, or ./none";
        return Err(CliError::usage(text));
    }
    let homeless = || CliError::usage("there is no home folder: name a file");
    let path = file.clone().or_else(key::place).ok_or_else(homeless)?;
    let shown = path.display();
    key::create(&path).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => CliError::usage(format!(
            "{shown} is there already, and who has its key would be locked out: remove it first"
        )),
        _ => CliError::usage(format!("cannot write {shown}: {error}")),
    })?;
    writeln!(io::stdout(), "{shown}: a new key; the peer needs a copy")?;
    Ok(Completion::Success)
}
