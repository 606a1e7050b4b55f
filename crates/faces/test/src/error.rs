//! Why a link is not as it was asked for.

use std::fmt;
use std::io;

/// The program refused what it was asked for, or the link is gone; the text is the program's own.
#[derive(Debug)]
pub struct LinkError {
    text: String,
    source: Option<io::Error>,
}

impl LinkError {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), source: None }
    }

    pub(crate) fn of_system(text: impl Into<String>, source: io::Error) -> Self {
        Self { text: text.into(), source: Some(source) }
    }

    /// The error that a program printed before it failed.
    pub(crate) fn of_program(printed: &[u8]) -> Self {
        let printed = String::from_utf8_lossy(printed);
        Self::new(printed.trim().trim_start_matches("windfall: "))
    }
}

impl fmt::Display for LinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)?;
        self.source.as_ref().map_or(Ok(()), |source| write!(f, ": {source}"))
    }
}

impl std::error::Error for LinkError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|source| source as _)
    }
}
