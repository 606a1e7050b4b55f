//! The lines of an event log, as far as the layers need them.

use serde::Deserialize;

/// A line of the log; `docs/reference/event-log.md` describes the fields.
#[derive(Deserialize)]
pub(crate) struct LogLine {
    pub(crate) ev: String,
    pub(crate) t: f64,
    #[serde(default)]
    pub(crate) at: String,
    pub(crate) format: Option<u32>,
    #[serde(default)]
    pub(crate) elements: Vec<String>,
    pub(crate) tag: Option<u64>,
    #[serde(default)]
    pub(crate) len: usize,
    #[serde(default)]
    pub(crate) kept: bool,
    #[serde(default)]
    pub(crate) reason: String,
    pub(crate) damage: Option<serde::de::IgnoredAny>,
    pub(crate) medium: Option<MediumPart>,
    pub(crate) rlp: Option<RlpPart>,
}

/// The part of a line that tells of a frame on a medium.
#[derive(Deserialize)]
pub(crate) struct MediumPart {
    pub(crate) from: u16,
    pub(crate) frame: Option<u64>,
    #[serde(default)]
    pub(crate) inverted: Vec<u32>,
}

/// The part of a line that tells of a frame of RLP.
#[derive(Deserialize)]
pub(crate) struct RlpPart {
    pub(crate) kind: String,
    pub(crate) ns: Option<u8>,
    pub(crate) nr: Option<u8>,
    #[serde(default)]
    pub(crate) command: bool,
    #[serde(default)]
    pub(crate) poll_final: bool,
    #[serde(default)]
    pub(crate) again: bool,
}

impl RlpPart {
    /// Returns the kind with N(R) and the bit P/F: `i+rr nr=3 P`.
    pub(crate) fn text(&self) -> String {
        let number = self.nr.map_or_else(String::new, |nr| format!(" nr={nr}"));
        let mark = match (self.poll_final, self.command) {
            (false, _) => "",
            (true, true) => " P",
            (true, false) => " F",
        };
        format!("{}{number}{mark}", self.kind)
    }
}
