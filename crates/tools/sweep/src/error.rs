//! What is wrong with a sweep: one line with the value and the fix.

use std::path::PathBuf;

/// An error of a sweep; nothing has run yet, but for those of the store.
#[derive(Debug, thiserror::Error)]
pub enum SweepError {
    /// A variation that is not `KEY=VALUES`.
    #[error("\"{text}\": {fix}")]
    Form {
        /// The text that was given.
        text: String,
        /// The advice what to write.
        fix: String,
    },
    /// A key that the scenario does not have.
    #[error("unknown key \"{key}\": {fix}")]
    UnknownKey {
        /// The key as it was written.
        key: String,
        /// The nearest known key, or those that there are.
        fix: String,
    },
    /// A value that the key does not take.
    #[error("\"{value}\" is no value of {key}: {fix}")]
    Value {
        /// The key as it was written.
        key: String,
        /// The value that is refused.
        value: String,
        /// The advice what to write.
        fix: String,
    },
    /// A key that is given twice.
    #[error("{0} is varied twice: give all of its values at once")]
    Twice(String),
    /// A key whose values another one, set after it, leaves without effect.
    #[error(
        "{hidden} has no effect: {by}, which is set after it, replaces it: give {by} first, or \
         leave one of them out"
    )]
    Hidden {
        /// The key without effect.
        hidden: String,
        /// The key that replaces it.
        by: String,
    },
    /// The system has no thread for a run.
    #[error("cannot start a thread: {0}: raise the limit of processes (ulimit -u)")]
    Threads(#[source] std::io::Error),
    /// More runs than a sweep may have.
    #[error("{runs} runs are more than the {most} of a sweep: take fewer values or seeds")]
    TooManyRuns {
        /// The runs of the grid.
        runs: u128,
        /// The most that there may be.
        most: usize,
    },
    /// Seeds beyond the greatest one.
    #[error("{seeds} seeds from {first} on go beyond {}: take a smaller --seed", u64::MAX)]
    Seeds {
        /// The number of seeds.
        seeds: usize,
        /// The first of them.
        first: u64,
    },
    /// A combination of values that makes no scenario.
    #[error("with {values}: {error}")]
    Point {
        /// The combination in words.
        values: String,
        /// The fault in it.
        error: String,
    },
    /// The folder of finished runs cannot be used.
    #[error("{}: {fix}", path.display())]
    Store {
        /// The path of the file.
        path: PathBuf,
        /// The fault and the fix.
        fix: String,
    },
    /// The folder of finished runs cannot be read or written.
    #[error("{}: {error}; choose another with --out", path.display())]
    Disk {
        /// The path of the file.
        path: PathBuf,
        /// The error of the system.
        error: std::io::Error,
    },
}
