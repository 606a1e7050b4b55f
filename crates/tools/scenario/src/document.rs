//! Values of a scenario file with their places in its text, from which settings are read.
//!
//! The whole text becomes one tree, and every object and value is read from that: by way of a
//! deserializer of serde each type would be compiled for each of the deserializers that stand for
//! the parts of a file.

use core::fmt::Display;
use core::ops::Range;

use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeValue, Error, ValueDeserializer};

/// A value of a file, with its place.
pub(crate) type Node<'a> = Spanned<DeValue<'a>>;

/// The reason for which a text or a value of it cannot be read, in serde's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormError {
    pub(crate) message: String,
    pub(crate) span: Option<Range<usize>>,
}

impl From<Error> for FormError {
    fn from(error: Error) -> Self {
        Self { message: error.message().to_owned(), span: error.span() }
    }
}

impl FormError {
    pub(crate) fn new(message: impl Display) -> Self {
        Self { message: message.to_string(), span: None }
    }

    /// Gives the error a place, if it has none yet.
    pub(crate) fn or_at(self, span: Range<usize>) -> Self {
        Self { span: self.span.or(Some(span)), ..self }
    }
}

/// Returns the values of a list.
pub(crate) fn list<'a, 'b>(node: &'a Node<'b>) -> Result<&'a [Node<'b>], FormError> {
    match node.get_ref() {
        DeValue::Array(values) => Ok(values),
        _ => Err(unlike(node, "a sequence")),
    }
}

/// The error of a value that is of another type.
pub(crate) fn unlike(node: &Node<'_>, expected: &str) -> FormError {
    let found = match node.get_ref() {
        DeValue::Table(_) => "map",
        other => other.type_str(),
    };
    FormError::new(format_args!("invalid type: {found}, expected {expected}")).or_at(node.span())
}

/// Reads a value by the form that serde gives its type.
pub(crate) fn by_serde<T: for<'de> Deserialize<'de>>(node: &Node<'_>) -> Result<T, FormError> {
    let read = T::deserialize(ValueDeserializer::from(node.clone())).map_err(FormError::from);
    read.map_err(|error| error.or_at(node.span()))
}
