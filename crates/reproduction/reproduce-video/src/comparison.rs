//! The stream of a camera across `windfall run`, once by each scheme of error control.

mod results;
mod run;
mod scheme;

use std::path::PathBuf;

use windfall_base::{Duration, Seed};
use windfall_camera::CameraPlan;
use windfall_experiment::{ExperimentError, Scratch};

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
        let scenario = scratch.0.join("scenario.toml");
        run::write(&scenario, self.scenario.as_bytes())?;
        let mut schemes = Vec::new();
        for scheme in &self.schemes {
            let refused = run::refusal(&self.program, &scenario, scheme)?;
            if let (Some(message), true) = (&refused, scheme.is_own) {
                let command = format!("windfall run {}", scheme.options.join(" "));
                return Err(ExperimentError::Run { command, message: message.clone() });
            }
            schemes.push((scheme, refused, Vec::new()));
        }
        // Neighbours in time share the load of the machine: every scheme once, then the next seed.
        let (first, count) = self.seeds;
        for seed in (0..u64::from(count)).map(|n| Seed(first.0.wrapping_add(n))) {
            for (scheme, _, runs) in schemes.iter_mut().filter(|(_, refused, _)| refused.is_none())
            {
                progress(&format!("{}, seed {}", scheme.name, seed.0));
                runs.push(run::once(self, (scheme, seed), (&scratch.0, &scenario))?);
            }
        }
        Ok(ComparedSchemes::new(self, schemes))
    }
}

#[cfg(test)]
mod tests;
