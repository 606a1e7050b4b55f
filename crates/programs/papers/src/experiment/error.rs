//! Why an experiment could not be run.

use std::io;
use std::path::PathBuf;

/// Why an experiment could not be run; what it measured is a finding, never an error.
#[derive(Debug, thiserror::Error)]
pub enum ExperimentError {
    /// No figure has the name.
    #[error("\"{name}\" is no figure: choose from {known}, a paper such as S3, or all")]
    NoSuchFigure {
        /// The name that was given.
        name: String,
        /// The names that there are.
        known: String,
    },
    /// A file or a directory cannot be used.
    #[error("{path}: {source}", path = path.display())]
    File {
        /// The path of the file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The program did not start.
    #[error("cannot start \"{command}\"")]
    Start {
        /// The command that was tried.
        command: String,
        /// The error of the system.
        source: io::Error,
    },
    /// The program ran and failed.
    #[error("\"{command}\" failed: {message}")]
    Run {
        /// The command that was tried.
        command: String,
        /// Its last words.
        message: String,
    },
    /// A connection of the test program failed.
    #[error("{what}")]
    Connection {
        /// The action that failed.
        what: String,
        /// Why it failed.
        source: io::Error,
    },
    /// A scenario of ours is wrong, or the simulation of it failed.
    #[error("the scenario of {figure} does not run: {message}")]
    Scenario {
        /// The name of the figure.
        figure: &'static str,
        /// The fault in the scenario.
        message: String,
    },
}
