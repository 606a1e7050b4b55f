//! The outcome of a script.

use windfall_files::packet_script::Place;

/// The outcome of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScriptOutcome {
    /// Everything happened as it is written.
    Passed,
    /// Something did not.
    Failed(Box<ScriptFailure>),
    /// The script needs something that there is not here.
    Unsupported {
        /// The place in the script.
        place: Place,
        /// The name of what it needs.
        feature: String,
    },
}

/// The first thing that did not happen as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptFailure {
    /// The place in the script.
    pub place: Place,
    /// The description of what is wrong, in a line.
    pub what: String,
    /// The text that the script expects there.
    pub expected: Option<String>,
    /// The text of what happened instead.
    pub got: Option<String>,
    /// The events before, from the beginning.
    pub timeline: Vec<String>,
}

/// The reason for which a script goes on no longer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// It is not as it is written.
    Differs { what: String, expected: Option<String>, got: Option<String> },
    /// It needs this.
    Unsupported(String),
}

impl Stop {
    pub(crate) fn unsupported<T>(feature: impl Into<String>) -> Result<T, Self> {
        Err(Self::Unsupported(feature.into()))
    }

    pub(crate) fn differs<T>(what: impl Into<String>) -> Result<T, Self> {
        Err(Self::Differs { what: what.into(), expected: None, got: None })
    }

    pub(crate) fn instead<T>(
        what: impl Into<String>,
        expected: impl Into<String>,
        got: impl Into<String>,
    ) -> Result<T, Self> {
        let expected = Some(expected.into());
        let got = Some(got.into());
        Err(Self::Differs { what: what.into(), expected, got })
    }
}
