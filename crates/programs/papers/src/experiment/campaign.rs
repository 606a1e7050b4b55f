//! Many figures measured at a time, and what is kept of them if that is interrupted.

use std::io;
use std::num::NonZeroUsize;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use crate::experiment::figure::{Basis, Context, Figure};
use crate::experiment::finding::Finding;
use crate::experiment::page::{self, ShownFinding};

/// The file of the findings of a campaign that has not ended.
pub const KEPT: &str = "unfinished.jsonl";

/// The file of the page.
pub const PAGE: &str = "index.html";
/// The title of the page.
const TITLE: &str = "What the papers say, and what Windfall measured";

/// Figures to be measured.
pub struct Campaign<'a> {
    /// The figures, in the order in which they are shown.
    pub figures: &'a [&'a Figure],
    /// The context of all of them.
    pub context: &'a Context<'a>,
    /// Experiments in simulated time that run at a time; those in real time run alone, after them.
    pub jobs: NonZeroUsize,
    /// The content of [`KEPT`], if an earlier campaign left it.
    pub kept: &'a str,
    /// The command that measures them again, as the page names it.
    pub command: &'a str,
    /// Writes a file by its name.
    pub write: &'a (dyn Fn(&str, &str) -> io::Result<()> + Sync),
    /// Tells the time since it began, from which it estimates what the rest takes.
    pub elapsed: &'a (dyn Fn() -> Duration + Sync),
}

/// The outcome of a campaign.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CampaignResult {
    /// The findings, in the order of the figures.
    pub findings: Vec<ShownFinding>,
    /// The figures that could not be measured, and why.
    pub failures: Vec<String>,
}

/// The outcome so far: a place for each figure.
struct State {
    outcomes: Vec<Option<Result<ShownFinding, String>>>,
    measured: usize,
}

impl Campaign<'_> {
    /// Measures the figures. After each one, its files, the page and what is kept are written, so
    /// that whoever ends this early loses only what is under way. The outcome is the same for any
    /// number of jobs.
    ///
    /// # Errors
    /// If a file cannot be written, or threads cannot be had.
    pub fn run(&self) -> io::Result<CampaignResult> {
        let conditions = self.conditions()?;
        let kept = self.kept.lines().filter_map(|it| serde_json::from_str(it).ok());
        let kept: Vec<ShownFinding> =
            kept.filter(|it: &ShownFinding| it.conditions == conditions).collect();
        let of = |figure: &&Figure| kept.iter().find(|it| it.figure == figure.name).cloned();
        let outcomes: Vec<_> = self.figures.iter().map(|it| of(it).map(Ok)).collect();
        let missing = |simulated: bool| -> Vec<usize> {
            let is_missing = |place: &usize| {
                let is_simulated = self.figures[*place].basis == Basis::Simulated;
                outcomes[*place].is_none() && is_simulated == simulated
            };
            (0..self.figures.len()).filter(is_missing).collect()
        };
        let simulated = missing(true);
        let alone = missing(false);
        let state = Mutex::new(State { outcomes, measured: 0 });
        let measure = |place: &usize| self.measure(*place, &conditions, &state);
        match rayon::ThreadPoolBuilder::new().num_threads(self.jobs.get()).build() {
            Ok(pool) => {
                pool.install(|| simulated.par_iter().try_for_each(measure))?;
                pool.install(|| alone.iter().try_for_each(measure))?;
            }
            // The system has no threads for it: this one measures all.
            Err(_) => simulated.iter().chain(&alone).try_for_each(measure)?,
        }
        let outcomes = state.into_inner().unwrap_or_else(PoisonError::into_inner).outcomes;
        let mut result = CampaignResult::default();
        for outcome in outcomes.into_iter().flatten() {
            match outcome {
                Ok(finding) => result.findings.push(finding),
                Err(failure) => result.failures.push(failure),
            }
        }
        Ok(result)
    }

    /// The conditions under which a finding counts again. Builds of one version differ, so that the
    /// program itself is among them.
    fn conditions(&self) -> io::Result<String> {
        let Context { extent, seed, is_mutated, program, .. } = self.context;
        let built = if program.as_os_str().is_empty() {
            String::new()
        } else {
            let found = program.metadata()?;
            format!("{} bytes of {:?}", found.len(), found.modified()?)
        };
        Ok(format!("{extent}, seed {seed}, mutated {is_mutated}, {built}"))
    }

    /// Measures a figure, and writes what has changed by it.
    fn measure(&self, place: usize, conditions: &str, state: &Mutex<State>) -> io::Result<()> {
        let figure = self.figures[place];
        let progress = |message: &str| {
            let left = lock(state).left((self.elapsed)());
            (self.context.progress)(&format!("{} {message}{left}", figure.name));
        };
        progress("");
        let context =
            Context { progress: &progress, program: self.context.program.clone(), ..*self.context };
        let outcome = figure.run(&context);
        let mut state = lock(state);
        state.measured += 1;
        state.outcomes[place] = Some(match &outcome {
            Ok(finding) => Ok(ShownFinding::new(finding, conditions)),
            Err(error) => Err(format!("{}: {error}", figure.name)),
        });
        for (name, text) in outcome.iter().flat_map(Finding::files) {
            (self.write)(&name, &text)?;
        }
        let shown: Vec<_> = state.outcomes.iter().flatten().flatten().collect();
        (self.write)(PAGE, &page::assemble(TITLE, Some(self.command), &shown))?;
        let lines = shown.into_iter().map(|it| serde_json::to_string(it).map(|it| it + "\n"));
        (self.write)(KEPT, &lines.collect::<Result<String, _>>()?)
    }
}

/// Takes the lock; what a thread that panicked left is whole but for its own figure.
fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl State {
    /// The number of figures that are done, and an estimate of the time that the others take.
    fn left(&self, elapsed: Duration) -> String {
        let all = self.outcomes.len();
        let done = self.outcomes.iter().flatten().count();
        let left = match u32::try_from(self.measured) {
            Ok(measured @ 1..) => {
                let each = elapsed / measured;
                let left = each.saturating_mul(u32::try_from(all - done).unwrap_or(u32::MAX));
                format!(", about {} to go", words(left))
            }
            _ => String::new(),
        };
        format!(" ({done} of {all} figures{left})")
    }
}

/// A time in seconds up to two minutes, and in minutes beyond.
fn words(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds => format!("{} min", seconds / 60),
    }
}

#[cfg(test)]
mod tests;
