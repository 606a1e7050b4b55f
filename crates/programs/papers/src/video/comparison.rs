//! The stream of a camera across `windfall run`, once by each scheme of error control.

mod results;
mod run;
mod scheme;

use std::path::PathBuf;

use windfall_base::{Duration, Seed};
use windfall_video::camera::CameraPlan;

use crate::experiment::{ExperimentError, Scratch};

pub use results::ComparedSchemes;
pub use run::SchemeRun;
pub use scheme::CameraScheme;

/// The streams to send, each across `windfall run` in real time.
#[derive(Clone, Debug)]
pub struct CameraComparison {
    /// This program, to be started again.
    pub program: PathBuf,
    /// The scenario with the link, whose stations are near and far; schemes change its link.
    pub scenario: String,
    /// The plan of the stream.
    pub plan: CameraPlan,
    /// The age from which on a datagram is of no use.
    pub deadline: Duration,
    /// The time without another datagram, after the last picture, after which a stream is over.
    pub wait: Duration,
    /// The schemes, in the order of the table.
    pub schemes: Vec<CameraScheme>,
    /// The first seed, and the number of seeds, each of which every scheme has once.
    pub seeds: (Seed, u32),
    /// The command that compares them.
    pub command: String,
    /// The version of the program.
    pub version: String,
}

impl CameraComparison {
    /// Sends the stream by each scheme with each seed, one after the other.
    ///
    /// A scheme of the list [`CameraScheme::all`] that the link does not have is left out with the
    /// reason. Calls `progress` before each run.
    ///
    /// # Errors
    /// If the link does not have a scheme of the user's own, or a run fails.
    pub fn run(&self, progress: &dyn Fn(&str)) -> Result<ComparedSchemes, ExperimentError> {
        let scratch = Scratch::new()?;
        let base = scratch.0.join("scenario.toml");
        run::write(&base, self.scenario.as_bytes())?;
        let mut schemes = Vec::new();
        for (number, scheme) in self.schemes.iter().enumerate() {
            let file = scratch.0.join(format!("scheme-{number}.toml"));
            let scenario = run::described(&self.program, &base, scheme, &file)?;
            if let (Err(message), true) = (&scenario, scheme.is_own) {
                let command = run::shown(scheme);
                let message = message.clone();
                return Err(ExperimentError::Run { command, message });
            }
            schemes.push(ComparedScheme { scheme: scheme.clone(), scenario, runs: Vec::new() });
        }
        // Neighbours in time share the load of the machine: every scheme once, then the next seed.
        let (first, count) = self.seeds;
        for seed in (0..u64::from(count)).map(|n| Seed(first.0.wrapping_add(n))) {
            for (number, of) in schemes.iter_mut().enumerate().filter(|(_, it)| it.is_there()) {
                progress(&format!("{}, seed {}", of.scheme.name, seed.0));
                let file = scratch.0.join(format!("scheme-{number}.toml"));
                of.runs.push(run::once(self, &of.scheme, seed, &scratch.0, &file)?);
            }
        }
        Ok(ComparedSchemes::new(self, schemes))
    }
}

/// A scheme with its runs.
#[derive(Clone, Debug)]
struct ComparedScheme {
    scheme: CameraScheme,
    /// The scenario of its runs, with all that its options leave to the program; why the link does
    /// not have the scheme.
    scenario: Result<String, String>,
    runs: Vec<SchemeRun>,
}

impl ComparedScheme {
    /// Tells whether the link has the scheme.
    fn is_there(&self) -> bool {
        self.scenario.is_ok()
    }
}

#[cfg(test)]
mod tests;
