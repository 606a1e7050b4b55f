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

impl Provenance {
    /// Comment lines for a text file, each beginning with `# `.
    ///
    /// `format` names the format of the file and its version, such as `windfall-csv 1`.
    #[must_use]
    pub fn comment(&self, format: &str) -> String {
        let Self { version, seed, command } = self;
        // A line break in the command would end the comment.
        let command = command.replace(['\r', '\n'], " ");
        format!("# {format}\n# windfall {version}\n# seed: {seed}\n# command: {command}\n")
    }
}
