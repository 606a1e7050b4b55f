//! Why an experiment could not be run.

use std::io;
use std::path::PathBuf;

/// Why an experiment could not be run; what it measured is a finding, never an error.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No figure has the name.
    #[error("\"{name}\" is no figure: choose from {known}, a paper such as S3, or all")]
    NoSuchFigure {
        /// The name.
        name: String,
        /// The names that there are.
        known: String,
    },
    /// A file or a directory cannot be used.
    #[error("{path}: {source}", path = path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The program did not start.
    #[error("cannot start \"{command}\"")]
    Start {
        /// The command.
        command: String,
        /// Why.
        source: io::Error,
    },
    /// The program ran and failed.
    #[error("\"{command}\" failed: {message}")]
    Run {
        /// The command.
        command: String,
        /// Its last words.
        message: String,
    },
    /// A connection of the test program failed.
    #[error("{what}")]
    Connection {
        /// What was tried.
        what: String,
        /// Why it failed.
        source: io::Error,
    },
    /// A scenario of ours is wrong, or the simulation of it failed.
    #[error("the scenario of {figure} does not run: {message}")]
    Scenario {
        /// The figure.
        figure: &'static str,
        /// What is wrong.
        message: String,
    },
}
