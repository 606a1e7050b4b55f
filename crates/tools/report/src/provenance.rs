//! Where a result comes from: the program, its seed and the command that repeats it.

use serde::Serialize;
use windfall_base::Seed;

/// Everything that it takes to obtain the same result again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Provenance {
    /// The version of the program.
    pub version: String,
    /// The seed of the run.
    pub seed: Seed,
    /// The command that repeats the run.
    pub command: String,
}
