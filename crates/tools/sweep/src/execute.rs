//! The runs that are missing, over the cores of the machine.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use crate::error::SweepError;
use crate::grid::{Grid, SweepRun};
use crate::measures::Measures;
use crate::store::RunStore;

/// Time between two questions whether the sweep is to end early.
const TICK: Duration = Duration::from_millis(100);

/// The work of a sweep beside keeping its runs.
pub struct Execution<'a> {
    /// Simulates one run; it may end early with any error when the flag is set.
    pub run: &'a (dyn Fn(&SweepRun, &AtomicBool) -> Result<Measures, String> + Sync),
    /// The runs that go on at a time.
    pub jobs: NonZeroUsize,
    /// Told how far the sweep has come.
    pub progress: &'a mut dyn FnMut(SweepProgress),
    /// Asked several times a second whether to end early.
    pub is_interrupted: &'a mut dyn FnMut() -> bool,
}

/// The runs of a sweep that are over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SweepProgress {
    /// Runs that are over, those that were kept before included.
    pub done: usize,
    /// Runs in all.
    pub all: usize,
}

/// A run that did not end well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunFailure {
    /// The point in words, and the seed.
    pub run: String,
    /// The error of the run.
    pub message: String,
}

/// Does the runs that `store` lacks, and keeps each when it ends.
///
/// A run that fails, or panics, ends no other. Returns those that failed, in the order of the grid.
///
/// # Errors
/// If a run cannot be kept.
pub fn execute(
    grid: &Grid,
    runs: &[SweepRun],
    store: &mut RunStore,
    execution: &mut Execution<'_>,
) -> Result<Vec<RunFailure>, SweepError> {
    // Two points may be the same scenario, which runs once.
    let mut seen = BTreeSet::new();
    let distinct: Vec<&SweepRun> =
        runs.iter().filter(|it| seen.insert(it.identity.clone())).collect();
    let all = distinct.len();
    let missing: Vec<&SweepRun> =
        distinct.into_iter().filter(|it| store.get(it).is_none()).collect();
    let kept = all - missing.len();
    (execution.progress)(SweepProgress { done: kept, all });
    let next = AtomicUsize::new(0);
    let stopped = AtomicBool::new(false);
    let mut failures = Vec::new();
    let simulate = execution.run;
    let written = thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        let mut started = 0;
        for _ in 0..execution.jobs.get().min(missing.len()) {
            let sender = sender.clone();
            let next = &next;
            let stopped = &stopped;
            let missing = &missing;
            let work = move || {
                while !stopped.load(Ordering::Relaxed) {
                    let place = next.fetch_add(1, Ordering::Relaxed);
                    let Some(run) = missing.get(place) else { break };
                    let outcome = one(simulate, run, stopped);
                    if sender.send((place, outcome)).is_err() {
                        break;
                    }
                }
            };
            // Fewer threads than jobs do all the work too, if slower.
            match thread::Builder::new().spawn_scoped(scope, work) {
                Ok(_) => started += 1,
                Err(error) if started == 0 => return Err(SweepError::Threads(error)),
                Err(_) => break,
            }
        }
        drop(sender);
        let mut done = kept;
        loop {
            if (execution.is_interrupted)() {
                stopped.store(true, Ordering::Relaxed);
            }
            let (place, outcome) = match receiver.recv_timeout(TICK) {
                Ok(message) => message,
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            };
            let run = missing[place];
            match outcome {
                Ok(measures) => {
                    let kept = store.keep(run, grid.name_of(run.point), measures);
                    kept.inspect_err(|_| stopped.store(true, Ordering::Relaxed))?;
                }
                // A run that was stopped has not failed.
                Err(_) if stopped.load(Ordering::Relaxed) => continue,
                Err(message) => failures.push((place, message)),
            }
            done += 1;
            (execution.progress)(SweepProgress { done, all });
        }
    });
    written?;
    failures.sort_by_key(|(place, _)| *place);
    let failure = |(place, message): (usize, String)| {
        let run = missing[place];
        let name = format!("{}, seed {}", grid.name_of(run.point), run.seed);
        RunFailure { run: name, message }
    };
    Ok(failures.into_iter().map(failure).collect())
}

/// Does one run; a panic of it is its failure.
fn one(
    simulate: &(dyn Fn(&SweepRun, &AtomicBool) -> Result<Measures, String> + Sync),
    run: &SweepRun,
    stopped: &AtomicBool,
) -> Result<Measures, String> {
    let outcome = catch_unwind(AssertUnwindSafe(|| simulate(run, stopped)));
    outcome.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().map(|it| (*it).to_owned());
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
        Err(format!("it panicked: {}", text.unwrap_or_default()))
    })
}

#[cfg(test)]
mod tests;
