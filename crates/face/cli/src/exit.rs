//! How the program ends: its exit codes, and one line on the standard error when it could not work.
//!
//! What is wrong about options, or about the files that they name, is 2 everywhere. `run` and
//! `exec` end as the command that they run, with 125 for a failure of their own; all other commands
//! end with 0, with 1 (they ran, and the answer is no, or they failed at work) or with 2 (they
//! could not run).

use std::fmt;
use std::io::{ErrorKind as IoErrorKind, Write};
use std::process::ExitCode;

use clap::error::ErrorKind;
use windfall_base::text::visible;

/// Exit code of a command that could not run.
pub(crate) const TROUBLE: u8 = 2;
/// Exit code of a command that failed at its work with a peer.
pub(crate) const FAILED: u8 = 1;
/// The same of `run` and `exec`, whose other codes belong to the program that they run.
pub(crate) const WRAPPER_TROUBLE: u8 = 125;

/// Exit code of a command whose reader went away, as of one that SIGPIPE ends: 128 + 13.
const CLOSED_PIPE: u8 = 141;

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
    /// Whether the reader of the standard output went away: nothing to complain about.
    is_closed_pipe: bool,
}

/// What the `run` function of a command returns.
pub(crate) type Result<T = Outcome> = std::result::Result<T, Trouble>;

impl Trouble {
    /// Trouble that `message` describes in one line.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: in_plain_words(&message.into()), code: None, is_closed_pipe: false }
    }

    /// Wrong arguments, whichever command they are for.
    pub(crate) fn of_arguments(message: impl Into<String>) -> Self {
        Self { code: Some(TROUBLE), ..Self::new(message) }
    }

    /// The same trouble as one with the arguments or the files that they name.
    #[must_use]
    pub(crate) fn into_arguments(self) -> Self {
        Self { code: Some(TROUBLE), ..self }
    }

    /// Trouble with the stations or the programs in them, which has its own exit code.
    pub(crate) fn of_run(error: &windfall_live::LiveError) -> Self {
        Self { code: Some(error.exit_code()), ..Self::new(error.to_string()) }
    }
}

impl<E: std::error::Error + 'static> From<E> for Trouble {
    fn from(error: E) -> Self {
        let mut message = error.to_string();
        let any: &(dyn std::error::Error + 'static) = &error;
        let io = any.downcast_ref::<std::io::Error>();
        let is_closed_pipe = io.is_some_and(|it| it.kind() == IoErrorKind::BrokenPipe);
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
        Self { is_closed_pipe, ..Self::new(message) }
    }
}

/// Whether an error says that there is no room.
fn is_full(kind: IoErrorKind) -> bool {
    use IoErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(kind, StorageFull | QuotaExceeded | FileTooLarge)
}

/// A message without the numbers of the system's errors: their names stand before them.
pub(crate) fn in_plain_words(message: &str) -> String {
    let mut parts = message.split(" (os error ");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.split_once(')').map_or("", |(_, rest)| rest))
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// Prints what is wrong with the arguments, or the help, and returns the exit code: 2 for wrong
/// usage of any command, 0 for help that was asked for.
pub(crate) fn of_usage(error: &clap::Error, explained: &str) -> ExitCode {
    let is_help = error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
    if is_help || !error.use_stderr() {
        if let Err(failed) = error.print() {
            return of_result(Err(Trouble::from(failed)), TROUBLE);
        }
    } else {
        tell(explained);
    }
    ExitCode::from(if error.use_stderr() { TROUBLE } else { 0 })
}

/// Prints a message of the program on the standard error; one that is closed is ignored.
pub(crate) fn tell(message: impl fmt::Display) {
    let message = in_plain_words(&message.to_string());
    let _ = writeln!(std::io::stderr(), "windfall: {}", visible(&message));
}

/// Turns what a command returned into the exit code; `trouble` is the code of its failure.
pub(crate) fn of_result(result: Result, trouble: u8) -> ExitCode {
    match result {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::No) => ExitCode::FAILURE,
        Ok(Outcome::Command(status)) => ExitCode::from(status),
        Err(error) => {
            if error.is_closed_pipe {
                return ExitCode::from(CLOSED_PIPE);
            }
            tell(&error);
            ExitCode::from(error.code.unwrap_or(trouble))
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
        let error = Trouble::from(Outer(std::io::Error::from_raw_os_error(2)));
        assert_eq!(error.to_string(), "cannot read x: No such file or directory");
        let both = "a (os error 2): b (os error 13); see c";
        assert_eq!(Trouble::new(both).to_string(), "a: b; see c");
    }

    #[test]
    fn a_reader_that_went_away_is_no_complaint() {
        let closed = std::io::Error::from(std::io::ErrorKind::BrokenPipe);
        assert!(Trouble::from(closed).is_closed_pipe);
        let full = std::io::Error::from(std::io::ErrorKind::StorageFull);
        assert!(!Trouble::from(full).is_closed_pipe);
    }
}
