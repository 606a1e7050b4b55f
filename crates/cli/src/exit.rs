//! How the program ends: its exit codes, and one line on the standard error when it could not work.
//!
//! `run` and `exec` end as the command that they run, with 125 for a failure of their own; all
//! other commands end with 0, with 1 (they ran, and the answer is no) or with 2 (they could not
//! run).

use std::fmt;
use std::process::ExitCode;

use clap::error::ErrorKind;

/// Exit code of a command that could not run.
pub(crate) const TROUBLE: u8 = 2;
/// The same of `run` and `exec`, whose other codes belong to the program that they run.
pub(crate) const WRAPPER_TROUBLE: u8 = 125;

/// The commands whose exit code is that of the program that they run.
const WRAPPERS: [&str; 2] = ["run", "exec"];

/// How a command ended that could do its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It did what it should.
    Done,
    /// It did, and the answer is no.
    No,
    /// The program that it ran ended with this exit status.
    Command(u8),
}

/// Why a command could not do its work: one clear line with the place, the value and the fix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Trouble {
    message: String,
    /// The exit code, where it is not that of every trouble of the command.
    code: Option<u8>,
}

/// What the `run` function of a command returns.
pub(crate) type Result<T = Outcome> = std::result::Result<T, Trouble>;

impl Trouble {
    /// Trouble that `message` describes in one line.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), code: None }
    }

    /// Trouble with the stations or the programs in them, which has its own exit code.
    pub(crate) fn of_run(error: &windfall_live::Error) -> Self {
        Self { message: error.to_string(), code: Some(error.exit_code()) }
    }
}

impl<E: std::error::Error> From<E> for Trouble {
    fn from(error: E) -> Self {
        let mut message = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            message = format!("{message}: {cause}");
            source = cause.source();
        }
        Self::new(message)
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// Prints what clap has to say and returns the exit code of wrong usage; help is not an error.
pub(crate) fn of_usage(error: &clap::Error) -> ExitCode {
    let is_help = error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
    if is_help || !error.use_stderr() {
        // Nothing is left to do if the terminal itself fails.
        let _ = error.print();
    } else {
        eprintln!("windfall: {}", in_one_line(&error.render().to_string()));
    }
    if !error.use_stderr() {
        return ExitCode::SUCCESS;
    }
    let command = std::env::args().nth(1).unwrap_or_default();
    ExitCode::from(if WRAPPERS.contains(&command.as_str()) { WRAPPER_TROUBLE } else { TROUBLE })
}

/// What is wrong and, where clap knows one, the fix; without the usage.
fn in_one_line(rendered: &str) -> String {
    let paragraphs = rendered.split("\n\n").map(|paragraph| {
        // That a wrong option could be a value is no help to anybody.
        let lines = paragraph.lines().map(str::trim).filter(|it| !it.starts_with("tip: to pass"));
        lines.collect::<Vec<_>>().join(" ")
    });
    let told = paragraphs.filter(|it| !it.starts_with("Usage:") && !it.starts_with("For more"));
    told.collect::<Vec<_>>().join("; ").trim_start_matches("error: ").to_owned()
}

/// Turns what a command returned into the exit code; `trouble` is the code of its failure.
pub(crate) fn of_result(result: Result, trouble: u8) -> ExitCode {
    match result {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::No) => ExitCode::FAILURE,
        Ok(Outcome::Command(status)) => ExitCode::from(status),
        Err(error) => {
            eprintln!("windfall: {error}");
            ExitCode::from(error.code.unwrap_or(trouble))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_usage_is_told_in_one_line() {
        let rendered = "error: unexpected argument '--lss' found\n\n  tip: a similar argument \
                        exists: '--loss'\n\nUsage: windfall run\n\nFor more information, try \
                        '--help'.\n";
        assert_eq!(
            in_one_line(rendered),
            "unexpected argument '--lss' found; tip: a similar argument exists: '--loss'"
        );
    }
}
