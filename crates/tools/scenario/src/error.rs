//! What is wrong with a scenario: one line with the place, the value and the fix.

use core::fmt;
use core::ops::Range;

pub(crate) use windfall_settings::SettingFault;

/// Something in a scenario that cannot be: names the file and line, the value and the fix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioError {
    place: Option<(String, usize)>,
    message: String,
}

impl ScenarioError {
    /// An error that has no place in a file, such as one in an option of the command line.
    pub(crate) fn nowhere(message: impl Into<String>) -> Self {
        Self { place: None, message: message.into() }
    }

    /// Gives a fault its place in `text`, the content of `file`.
    pub(crate) fn in_file(fault: SettingFault, file: &str, text: &str) -> Self {
        let line = fault.line(text);
        Self { place: Some((file.to_owned(), line)), message: fault.message }
    }

    /// Gives a fault of a scenario its place, unless an option set the value: then no file has it.
    pub(crate) fn in_file_or_options(fault: SettingFault, file: &str, text: &str) -> Self {
        if fault.span.as_ref().is_none_or(Range::is_empty) || text.is_empty() {
            return Self::nowhere(fault.message);
        }
        Self::in_file(fault, file, text)
    }

    /// The message without the place.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The line of the file, counted from 1, if the error has a place.
    #[must_use]
    pub fn line(&self) -> Option<usize> {
        self.place.as_ref().map(|(_, line)| *line)
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((file, line)) = &self.place {
            write!(f, "{file}:{line}: ")?;
        }
        f.write_str(&self.message)
    }
}

impl core::error::Error for ScenarioError {}

/// Returns the first line of a value, cut to a length that fits a message.
pub(crate) fn shortened(value: &str) -> String {
    let line = value.lines().next().unwrap_or_default();
    if line.chars().count() <= 40 {
        line.to_owned()
    } else {
        line.chars().take(37).chain("...".chars()).collect()
    }
}
