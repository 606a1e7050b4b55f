//! What is wrong with a value of a file, before the name of the file is known.

use core::ops::Range;

/// A fault found while checking, before the name and the text of the file are known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingFault {
    /// The place of the value in the text; none for what is missing.
    pub span: Option<Range<usize>>,
    /// The value and the fix.
    pub message: String,
}

impl SettingFault {
    /// A fault of the value that stands at `span` of the text.
    pub fn at(span: Range<usize>, message: impl Into<String>) -> Self {
        Self { span: Some(span), message: message.into() }
    }

    /// Returns its line in the `text` of the file, counted from 1.
    #[must_use]
    pub fn line(&self, text: &str) -> usize {
        // What is missing stands nowhere; the beginning is the place to add it.
        let before = self.span.as_ref().map_or(0, |span| span.start);
        1 + text.bytes().take(before).filter(|byte| *byte == b'\n').count()
    }
}
