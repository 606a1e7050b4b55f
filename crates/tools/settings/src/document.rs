//! Values of a scenario file with their places in its text, from which settings are read.
//!
//! The whole text becomes one tree, and every object and value is read from that: by way of a
//! deserializer of serde each type would be compiled for each of the deserializers that stand for
//! the parts of a file.

use core::fmt::Display;
use core::ops::Range;
use core::str::FromStr;
use std::borrow::Cow;

use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeValue, Error, ValueDeserializer};

/// A value of a file, with its place.
pub type DocumentNode<'a> = Spanned<DeValue<'a>>;

/// The reason for which a text or a value of it cannot be read, in serde's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormError {
    /// The reason in serde's words.
    pub message: String,
    /// The place in the text.
    pub span: Option<Range<usize>>,
}

impl From<Error> for FormError {
    fn from(error: Error) -> Self {
        Self { message: error.message().to_owned(), span: error.span() }
    }
}

impl FormError {
    /// An error without a place.
    pub fn new(message: impl Display) -> Self {
        Self { message: message.to_string(), span: None }
    }

    /// Gives the error a place, if it has none yet.
    pub fn or_at(self, span: Range<usize>) -> Self {
        Self { span: self.span.or(Some(span)), ..self }
    }
}

/// Returns the values of a list.
pub fn list<'a, 'b>(node: &'a DocumentNode<'b>) -> Result<&'a [DocumentNode<'b>], FormError> {
    match node.get_ref() {
        DeValue::Array(values) => Ok(values),
        _ => Err(unlike(node, "a sequence")),
    }
}

/// The error of a value that is of another type.
pub fn unlike(node: &DocumentNode<'_>, expected: &str) -> FormError {
    let found = match node.get_ref() {
        DeValue::Table(_) => "map",
        other => other.type_str(),
    };
    FormError::new(format_args!("invalid type: {found}, expected {expected}")).or_at(node.span())
}

/// Reads a value by the form that serde gives its type.
pub fn by_serde<T: for<'de> Deserialize<'de>>(node: &DocumentNode<'_>) -> Result<T, FormError> {
    let read = T::deserialize(ValueDeserializer::from(node.clone())).map_err(FormError::from);
    read.map_err(|error| error.or_at(node.span()))
}

/// Reads a value from its text form; numbers count as text.
pub fn from_text<T: FromStr<Err: Display>>(node: &DocumentNode<'_>) -> Result<T, FormError> {
    text_of(node)?.parse().map_err(FormError::new)
}

/// Returns the text form of a value; numbers count as text.
pub fn text_of<'a>(node: &'a DocumentNode<'_>) -> Result<Cow<'a, str>, FormError> {
    let not_text = || unlike(node, "text in quotes, or a whole number");
    Ok(match node.get_ref() {
        DeValue::String(text) => Cow::Borrowed(text),
        DeValue::Integer(_) => by_serde::<i64>(node).map_err(|_| not_text())?.to_string().into(),
        DeValue::Float(_) => abbreviated(by_serde::<f64>(node)?.to_string()).into(),
        _ => return Err(not_text()),
    })
}

/// The text of a value, which is short also for a number of hundreds of digits.
pub fn abbreviated(text: String) -> String {
    match text.parse::<f64>() {
        Ok(number) if text.len() > LONGEST_NUMBER => format!("{number:e}"),
        _ => text,
    }
}

/// As many digits has the greatest whole number of 64 bits.
const LONGEST_NUMBER: usize = 20;
