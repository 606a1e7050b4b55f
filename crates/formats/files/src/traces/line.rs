//! A line of a file that is not what its format wants.

/// Characters of a line that an error repeats.
const SHOWN: usize = 40;

/// A line that is not what the format of its file wants.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: \"{text}\" {fix}")]
pub struct LineError {
    /// The number of the line, from 1.
    pub line: usize,
    /// The text of the line, cut to 40 characters.
    pub text: String,
    /// The advice for mending it.
    pub fix: &'static str,
}

impl LineError {
    /// Returns the error of the line at `index`, from 0.
    #[must_use]
    pub fn new(index: usize, text: &str, fix: &'static str) -> Self {
        Self { line: index + 1, text: text.chars().take(SHOWN).collect(), fix }
    }
}
