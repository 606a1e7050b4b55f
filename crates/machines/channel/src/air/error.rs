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
    pub(crate) fn new(kind: &'static str, text: &str, fix: String) -> Self {
        Self { kind, text: text.to_owned(), fix }
    }
}
