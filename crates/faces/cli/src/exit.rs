//! Exit statuses, and the line on the standard error where a command failed.
//!
//! What is wrong about options, or about the files that they name, is 2 everywhere. `run` and
//! `exec` end as the command that they run, with 125 for a failure of their own; all other commands
//! end with 0, with 1 (they ran, and the answer is no, or they failed at work) or with 2 (they
//! could not run).

use std::fmt;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::error::ErrorKind;
use windfall_base::text::visible;
use windfall_control::ControlError;
use windfall_live::LiveError;

/// Exit status of a command that could not run.
pub(crate) const CANNOT_RUN: u8 = 2;
/// Exit status of a command that failed at its work with a peer.
pub(crate) const FAILED: u8 = 1;
/// Exit status of `run` and `exec` that failed; their others belong to the program that they run.
pub(crate) const WRAPPER_FAILED: u8 = 125;

/// Exit status of a command whose reader went away, as of one that SIGPIPE ends: 128 + 13.
const CLOSED_PIPE: u8 = 141;

/// The completion of a command that could do its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Completion {
    /// It did its work.
    Success,
    /// It did its work, and the result is negative.
    Negative,
    /// The program that it ran ended with this exit status.
    Program(u8),
}

/// The error of a command: one line with the place, the value and the fix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CliError {
    message: String,
    /// The exit status, where it is not that of every failure of the command.
    status: Option<u8>,
    /// The reader of the standard output went away, which needs no message.
    is_closed_pipe: bool,
}

/// The result of a command's `run` function.
pub(crate) type Result<T = Completion> = std::result::Result<T, CliError>;

impl CliError {
    /// An error that `message` describes in one line.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self {
            message: without_error_numbers(&message.into()),
            status: None,
            is_closed_pipe: false,
        }
    }

    /// An error of usage: exit status 2 in every command.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self { status: Some(CANNOT_RUN), ..Self::new(message) }
    }

    /// A run that did not do what its options demand: exit status 125 in every command.
    pub(crate) fn of_run(message: impl Into<String>) -> Self {
        Self { status: Some(WRAPPER_FAILED), ..Self::new(message) }
    }

    /// Prefixes the message with the file or address that it is about.
    #[must_use]
    pub(crate) fn of(self, what: &impl core::fmt::Display) -> Self {
        Self { message: format!("{what}: {}", self.message), ..self }
    }

    /// Makes the error one of usage: of arguments, or of files that they name.
    #[must_use]
    pub(crate) fn into_usage(self) -> Self {
        Self { status: Some(CANNOT_RUN), ..self }
    }
}

impl<E: std::error::Error + 'static> From<E> for CliError {
    /// Errors of stations and of the programs in them keep their own exit statuses.
    fn from(error: E) -> Self {
        let mut message = error.to_string();
        let any: &(dyn std::error::Error + 'static) = &error;
        let io = any.downcast_ref::<std::io::Error>();
        let is_closed_pipe = io.is_some_and(|it| it.kind() == io::ErrorKind::BrokenPipe);
        // Every other file is named where it is written.
        if io.is_some_and(|it| is_full(it.kind())) {
            message = format!("cannot write the standard output: {message}");
        }
        let mut source = error.source();
        while let Some(cause) = source {
            let text = cause.to_string();
            // Some errors say themselves what their causes say.
            if !message.contains(&text) {
                message = format!("{message}: {text}");
            }
            source = cause.source();
        }
        let of_control = any.downcast_ref::<ControlError>().and_then(ControlError::exit_code);
        let live = any.downcast_ref::<LiveError>();
        let status = live.map(LiveError::exit_code).or(of_control);
        Self { is_closed_pipe, status, ..Self::new(message) }
    }
}

/// Tells whether an error means that there is no room on the disk.
fn is_full(kind: io::ErrorKind) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(kind, StorageFull | QuotaExceeded | FileTooLarge)
}

/// Removes the numbers of the system's errors from a message that holds their names.
pub(crate) fn without_error_numbers(message: &str) -> String {
    let mut parts = message.split(" (os error ");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.split_once(')').map_or("", |(_, rest)| rest))
}

impl fmt::Display for CliError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// Prints the error of the arguments, or the help, and returns the exit status: 2 for wrong usage
/// of any command, 0 for help that was asked for.
pub(crate) fn of_usage(error: &clap::Error, explained: &str) -> ExitCode {
    let is_help = error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
    if is_help || !error.use_stderr() {
        if let Err(failed) = error.print() {
            return of_result(Err(CliError::from(failed)), CANNOT_RUN);
        }
    } else {
        tell(explained);
    }
    ExitCode::from(if error.use_stderr() { CANNOT_RUN } else { 0 })
}

/// Prints a message of the program on the standard error; one that is closed is ignored.
pub(crate) fn tell(message: impl fmt::Display) {
    let message = without_error_numbers(&message.to_string());
    let _ = writeln!(std::io::stderr(), "windfall: {}", visible(&message));
}

/// Returns the exit status for the result of a command; `failed` is that of its failure.
pub(crate) fn of_result(result: Result, failed: u8) -> ExitCode {
    match result {
        Ok(Completion::Success) => ExitCode::SUCCESS,
        Ok(Completion::Negative) => ExitCode::FAILURE,
        Ok(Completion::Program(status)) => ExitCode::from(status),
        Err(error) => {
            if error.is_closed_pipe {
                return ExitCode::from(CLOSED_PIPE);
            }
            tell(&error);
            ExitCode::from(error.status.unwrap_or(failed))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn system_errors_are_told_once_and_without_their_number() {
        #[derive(Debug)]
        struct Outer(std::io::Error);
        impl fmt::Display for Outer {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "cannot read x: {}", self.0)
            }
        }
        impl std::error::Error for Outer {
            fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
                Some(&self.0)
            }
        }
        let error = CliError::from(Outer(std::io::Error::from_raw_os_error(2)));
        assert_eq!(error.to_string(), "cannot read x: No such file or directory");
        let both = "a (os error 2): b (os error 13); see c";
        assert_eq!(CliError::new(both).to_string(), "a: b; see c");
    }

    #[test]
    fn a_reader_that_went_away_is_no_complaint() {
        let closed = std::io::Error::from(std::io::ErrorKind::BrokenPipe);
        assert!(CliError::from(closed).is_closed_pipe);
        let full = std::io::Error::from(std::io::ErrorKind::StorageFull);
        assert!(!CliError::from(full).is_closed_pipe);
    }
}
