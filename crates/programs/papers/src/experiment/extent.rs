//! The extent of a measurement.

use core::fmt;

use serde::Serialize;

/// The extent of a measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Extent {
    /// Less and shorter than in the paper: shows only what would contradict the record.
    Quick,
    /// As in the paper.
    #[default]
    Paper,
    /// More than in the paper.
    Full,
}

impl fmt::Display for Extent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Quick => "quick",
            Self::Paper => "paper",
            Self::Full => "full",
        })
    }
}
