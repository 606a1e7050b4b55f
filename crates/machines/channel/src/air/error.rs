//! The error of every model that is written as text.

use windfall_base::text::with_article;

/// A text that is no model of the air.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{text}\" is not {}: {fix}", with_article(kind))]
pub struct ParseModelError {
    kind: &'static str,
    text: String,
    fix: String,
}

impl ParseModelError {
    /// Refuses `text` as a thing of this kind, such as "burst pattern", and says what to do.
    #[must_use]
    pub fn new(kind: &'static str, text: &str, fix: String) -> Self {
        Self { kind, text: text.to_owned(), fix }
    }
}
