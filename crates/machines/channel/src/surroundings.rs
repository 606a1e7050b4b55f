//! The surroundings of a link by name: the places of paper 003 and the circuits of paper 001.

use core::fmt;
use core::str::FromStr;

use windfall_base::Seed;
use windfall_files::traces::error_trace::ErrorTrace;

use crate::air::GsmEnvironment;
use crate::environment::Environment;

/// Surroundings that a link may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Surroundings {
    /// A place at which a WaveLAN radio was measured (S3.17): one trace, the same in every run.
    Radio(Environment),
    /// A data channel of GSM (S1.37): a model, drawn again for each seed.
    Gsm(GsmEnvironment),
}

impl Surroundings {
    /// The name in options and files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Radio(environment) => environment.name(),
            Self::Gsm(environment) => environment.name(),
        }
    }

    /// An error trace of `frames` frames, or of as many radio blocks.
    #[must_use]
    pub fn synthesize(self, seed: Seed, frames: u32) -> ErrorTrace {
        match self {
            Self::Radio(environment) => environment.synthesize(seed, frames),
            Self::Gsm(environment) => environment.synthesize(seed, frames),
        }
    }

    fn all() -> impl Iterator<Item = Self> {
        let radio = Environment::ALL.into_iter().map(Self::Radio);
        radio.chain(GsmEnvironment::ALL.into_iter().map(Self::Gsm))
    }
}

impl fmt::Display for Surroundings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The name is none of known surroundings.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "environment \"{0}\": write office, walking, adjacent, table, walls, gsm-good, gsm-bad, \
     gsm-walking or gsm-driving"
)]
pub struct UnknownSurroundings(String);

impl FromStr for Surroundings {
    type Err = UnknownSurroundings;

    fn from_str(text: &str) -> Result<Self, UnknownSurroundings> {
        let found = Self::all().find(|surroundings| surroundings.name() == text);
        found.ok_or_else(|| UnknownSurroundings(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_is_read_and_an_unknown_one_gets_the_list() {
        for surroundings in Surroundings::all() {
            assert_eq!(surroundings.to_string().parse(), Ok(surroundings));
        }
        let error = "gsm".parse::<Surroundings>().expect_err("no name").to_string();
        assert!(Surroundings::all().all(|it| error.contains(it.name())), "{error}");
    }

    #[test]
    fn a_trace_has_the_frames_of_its_surroundings() {
        let length = |name: &str| {
            let surroundings: Surroundings = name.parse().expect("a name");
            surroundings.synthesize(Seed(1), 100).header().frame_length
        };
        assert_eq!([length("table"), length("gsm-bad")], [Some(1_275), Some(30)]);
    }
}
