//! Values of a scenario file with their places in its text, from which settings are read.
//!
//! The whole text becomes one tree, and every object and value is read from that: by way of a
//! deserializer of serde each type would be compiled for each of the deserializers that stand for
//! the parts of a file.

use core::ops::Range;

use serde::de::value::SeqDeserializer;
use serde::de::{Deserialize, Error as _, Expected, IntoDeserializer, Unexpected, Visitor};
use serde::{Deserializer, forward_to_deserialize_any};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::settings::Settings;

/// A value of a file, with its place.
pub(crate) type Node<'a> = Spanned<DeValue<'a>>;

/// The reason for which a text or a value of it cannot be read, in serde's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadError {
    pub(crate) message: String,
    pub(crate) span: Option<Range<usize>>,
}

impl ReadError {
    /// The same error with a place, if it has none yet.
    pub(crate) fn or_at(self, span: Range<usize>) -> Self {
        Self { span: self.span.or(Some(span)), ..self }
    }
}

impl core::fmt::Display for ReadError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(&self.message)
    }
}

impl core::error::Error for ReadError {}

impl serde::de::Error for ReadError {
    fn custom<T: core::fmt::Display>(message: T) -> Self {
        Self { message: message.to_string(), span: None }
    }
}

/// Reads an object from the text of a file.
pub(crate) fn parse<T: Settings>(text: &str) -> Result<T, ReadError> {
    let root = DeTable::parse(text)
        .map_err(|error| ReadError { message: error.message().to_owned(), span: error.span() })?;
    let span = root.span();
    object(&Node::new(span, DeValue::Table(root.into_inner())))
}

/// Reads an object from a table.
pub(crate) fn object<T: Settings>(node: &Node<'_>) -> Result<T, ReadError> {
    let DeValue::Table(table) = node.get_ref() else { return Err(unlike(node, &"a table")) };
    let mut keys = Vec::new();
    let required = T::add_keys(&mut keys);
    let (mut object, mut seen) = (T::unset(), Vec::new());
    for (name, value) in table {
        let key = known(&keys, name)?;
        object.read_key(key, value).map_err(|error| error.or_at(value.span()))?;
        seen.push(key);
    }
    match keys[..required].iter().find(|key| !seen.contains(key)) {
        Some(key) => Err(ReadError::missing_field(key).or_at(node.span())),
        None => Ok(object),
    }
}

/// Finds the key of this name.
fn known(
    keys: &[&'static str],
    name: &Spanned<toml::de::DeString<'_>>,
) -> Result<&'static str, ReadError> {
    keys.iter().find(|key| **key == *name.get_ref()).copied().ok_or_else(|| {
        let keys: Vec<_> = keys.iter().map(|key| format!("`{key}`")).collect();
        let (name, span) = (name.get_ref(), name.span());
        let known = keys.join(", ");
        ReadError::custom(format_args!("unknown field `{name}`, expected one of {known}"))
            .or_at(span)
    })
}

/// What stands below a key that is no setting: an object, or several.
pub(crate) trait Part: Sized {
    /// Reads it.
    ///
    /// # Errors
    /// If it has another form, or something in it is no setting.
    fn read(node: &Node<'_>) -> Result<Self, ReadError>;
}

impl<T: Settings> Part for T {
    fn read(node: &Node<'_>) -> Result<Self, ReadError> {
        object(node)
    }
}

impl<T: Settings> Part for Option<T> {
    fn read(node: &Node<'_>) -> Result<Self, ReadError> {
        object(node).map(Some)
    }
}

impl<T: Settings> Part for Vec<T> {
    fn read(node: &Node<'_>) -> Result<Self, ReadError> {
        list(node)?.iter().map(object).collect()
    }
}

/// Returns the values of a list.
pub(crate) fn list<'a, 'b>(node: &'a Node<'b>) -> Result<&'a [Node<'b>], ReadError> {
    match node.get_ref() {
        DeValue::Array(values) => Ok(values),
        _ => Err(unlike(node, &"a sequence")),
    }
}

/// The error of a value that is of another type.
pub(crate) fn unlike(node: &Node<'_>, expected: &dyn Expected) -> ReadError {
    let text;
    let found = match node.get_ref() {
        DeValue::String(text) => Unexpected::Str(text),
        DeValue::Integer(number) => {
            let digits = |as_type: &str| format!("integer `{number}` as {as_type}");
            match whole(number) {
                Some(Whole::Signed(number)) => Unexpected::Signed(number),
                Some(Whole::Unsigned(number)) => Unexpected::Unsigned(number),
                None => {
                    text = digits("i128");
                    Unexpected::Other(&text)
                }
            }
        }
        DeValue::Float(number) => Unexpected::Float(number.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Boolean(value) => Unexpected::Bool(*value),
        DeValue::Array(_) => Unexpected::Seq,
        DeValue::Datetime(_) | DeValue::Table(_) => Unexpected::Map,
    };
    ReadError::invalid_type(found, expected).or_at(node.span())
}

/// A whole number of 64 bits.
pub(crate) enum Whole {
    Signed(i64),
    Unsigned(u64),
}

/// Returns a whole number, unless it is beyond 64 bits.
pub(crate) fn whole(number: &toml::de::DeInteger<'_>) -> Option<Whole> {
    let (digits, radix) = (number.as_str(), number.radix());
    let signed = i64::from_str_radix(digits, radix).ok().map(Whole::Signed);
    signed.or_else(|| u64::from_str_radix(digits, radix).ok().map(Whole::Unsigned))
}

/// Returns a number with a fraction, unless it is too great.
pub(crate) fn fraction(node: &Node<'_>, number: &toml::de::DeFloat<'_>) -> Result<f64, ReadError> {
    let value: Option<f64> = number.as_str().parse().ok();
    let fits = |value: &f64| !value.is_infinite() || number.as_str().contains("inf");
    value
        .filter(fits)
        .ok_or_else(|| ReadError::custom("floating-point number overflowed").or_at(node.span()))
}

/// Reads a value by the form that serde gives its type.
pub(crate) fn by_serde<T: for<'de> Deserialize<'de>>(node: &Node<'_>) -> Result<T, ReadError> {
    T::deserialize(Leaf(node))
}

/// A value that holds no table.
#[derive(Clone, Copy)]
struct Leaf<'a, 'b>(&'a Node<'b>);

impl<'de> IntoDeserializer<'de, ReadError> for Leaf<'_, '_> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Leaf<'_, '_> {
    type Error = ReadError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        let read = match self.0.get_ref() {
            DeValue::String(text) => visitor.visit_str(text),
            DeValue::Integer(number) => match whole(number) {
                Some(Whole::Signed(number)) => visitor.visit_i64(number),
                Some(Whole::Unsigned(number)) => visitor.visit_u64(number),
                None => Err(unlike(self.0, &visitor)),
            },
            DeValue::Float(number) => visitor.visit_f64(fraction(self.0, number)?),
            DeValue::Boolean(value) => visitor.visit_bool(*value),
            DeValue::Array(values) => {
                visitor.visit_seq(SeqDeserializer::new(values.iter().map(Leaf)))
            }
            DeValue::Datetime(_) | DeValue::Table(_) => Err(unlike(self.0, &visitor)),
        };
        read.map_err(|error| error.or_at(self.0.span()))
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        visitor.visit_newtype_struct(self).map_err(|error| error.or_at(self.0.span()))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_some(self).map_err(|error| error.or_at(self.0.span()))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}
