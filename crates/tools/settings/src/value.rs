//! Types of settings: their text on the command line, and their form in a scenario file.

use core::fmt::Display;
use core::net::{IpAddr, Ipv4Addr};
use core::num::{NonZeroU8, NonZeroU16};

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use toml::Spanned;
use toml::de::DeValue;
use windfall_base::{ByteCount, Dbm, Duration, LineRate, Metres, Probability, Rate, Seed};
use windfall_channel::{
    Bucket, BurstWindow, ByteRange, Cell, Chance, GilbertElliott, Jitter, LossPattern, OnOff,
    Reorder, Slotting, Surroundings,
};
use windfall_link::{Arq, RepairConfig};

use crate::document::{self, DocumentNode, FormError, abbreviated, from_text};
use crate::units;

/// The words of a switch in text; as a key of a scenario it is a boolean of TOML.
const SWITCH: [(&str, bool); 2] = [("on", true), ("off", false)];

/// Returns the value of a switch in text.
pub(crate) fn switch_of(text: &str) -> Option<bool> {
    SWITCH.iter().find(|(word, _)| *word == text).map(|(_, value)| *value)
}

/// A type of values that settings can have.
pub trait Value: Clone + PartialEq + 'static {
    /// The name of the type in messages and in the reference.
    const KIND: &'static str;

    /// Returns the words that stand for the values, with their meanings, if the type is a choice.
    #[must_use]
    fn words() -> Vec<(&'static str, &'static str)> {
        Vec::new()
    }

    /// Reads the text of the command line.
    ///
    /// # Errors
    /// The advice what to write instead; empty if the name of the type says it all.
    fn parse(text: &str) -> Result<Self, String>;

    /// Checks that the times in a text of the command line have their units.
    ///
    /// # Errors
    /// The advice what to write instead.
    fn check_units(_text: &str) -> Result<(), String> {
        Ok(())
    }

    /// Returns the text, which reads back as the same value.
    #[must_use]
    fn text(&self) -> String;

    /// Tells whether the value takes a part of a link away, and so excludes no other setting.
    #[must_use]
    fn is_taken_away(&self) -> bool {
        false
    }

    /// Reads the form that the value has in a scenario file.
    ///
    /// # Errors
    /// If it has another form, or is no such value.
    #[doc(hidden)]
    fn read(node: &DocumentNode<'_>) -> Result<Self, FormError>;

    /// Writes the form that the value has in a scenario file.
    ///
    /// # Errors
    /// Those of the serializer.
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error>;
}

/// Access to the value of a setting, wherever in a file it stands.
pub trait Get {
    /// The type of the value.
    type Value;

    /// Returns the value, if it is set.
    fn value(&self) -> Option<Self::Value>;
}

impl<T: Clone> Get for Option<Spanned<T>> {
    type Value = T;

    fn value(&self) -> Option<T> {
        self.as_ref().map(|value| value.get_ref().clone())
    }
}

/// Returns a value of those that may be taken away, if it is set and not taken away.
pub fn value_if_set<T: Clone>(value: &Option<Spanned<Option<T>>>) -> Option<T> {
    value.value().flatten()
}

/// Returns the same with its place in the file.
pub fn placed<T: Clone>(value: &Option<Spanned<Option<T>>>) -> Option<Spanned<T>> {
    let value = value.as_ref()?;
    Some(Spanned::new(value.span(), value.get_ref().clone()?))
}

/// A choice among words: for each its value and its meaning.
pub trait Choice: Copy + PartialEq + 'static {
    /// The words, in the order of the reference.
    const CHOICES: &'static [(&'static str, Self, &'static str)];
}

/// Lists words of which one is to be written: `a, b or c`.
pub(crate) fn alternatives(words: impl Iterator<Item = &'static str>) -> String {
    let words: Vec<_> = words.collect();
    match words.split_last() {
        Some((last, [])) => (*last).to_owned(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => String::new(),
    }
}

/// A value of a key that cannot be left out, which stands in an object until the key is read.
#[doc(hidden)]
pub trait Placeholder {
    /// Returns the value.
    fn blank() -> Self;
}

impl Placeholder for String {
    fn blank() -> Self {
        Self::new()
    }
}

impl Placeholder for Duration {
    fn blank() -> Self {
        Self::ZERO
    }
}

impl Placeholder for u32 {
    fn blank() -> Self {
        0
    }
}

impl<T> Placeholder for Vec<T> {
    fn blank() -> Self {
        Self::new()
    }
}

impl Placeholder for IpAddr {
    fn blank() -> Self {
        Self::V4(Ipv4Addr::UNSPECIFIED)
    }
}

/// The text of a [`Value`] that the type has itself.
#[doc(hidden)]
#[macro_export]
macro_rules! own_text {
    () => {
        fn parse(text: &str) -> Result<Self, String> {
            let refused = |error: <Self as core::str::FromStr>::Err| error.to_string();
            text.parse().map_err(refused)
        }

        fn text(&self) -> String {
            self.to_string()
        }
    };
}

/// The form in files of a [`Value`] that serde gives the type.
macro_rules! own_form {
    () => {
        fn read(node: &DocumentNode<'_>) -> Result<Self, FormError> {
            document::by_serde(node)
        }

        fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            self.serialize(serializer)
        }
    };
}

/// Implements [`Value`] for types that have a text form.
#[macro_export]
macro_rules! by_text {
    ($($type:ty: $kind:literal $([$units:path])?),* $(,)?) => {$(
        impl $crate::value::Value for $type {
            const KIND: &'static str = $kind;

            $(fn check_units(text: &str) -> Result<(), String> {
                $units(text)
            })?

            $crate::own_text!();

            fn read(
                node: &$crate::document::DocumentNode<'_>,
            ) -> Result<Self, $crate::document::FormError> {
                $crate::document::from_text(node)
            }

            fn write<S: $crate::serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.collect_str(self)
            }
        }
    )*};
}

/// Implements [`Value`] for types that have a text form, and a form in files of their own.
macro_rules! by_serde {
    ($($type:ty: $kind:literal $([$units:path])?, $advice:expr;)*) => {$(
        impl Value for $type {
            const KIND: &'static str = $kind;

            $(fn check_units(text: &str) -> Result<(), String> {
                $units(text)
            })?

            fn parse(text: &str) -> Result<Self, String> {
                text.trim().parse().map_err($advice)
            }

            fn text(&self) -> String {
                self.to_string()
            }

            own_form!();
        }
    )*};
}

by_text! {
    Arq: "limit of retransmissions",
    Bucket: "token bucket",
    ByteRange: "range of bytes",
    Cell: "cell",
    Chance: "chance" [units::of_chance],
    GilbertElliott: "chain",
    IpAddr: "address",
    Jitter: "jitter" [units::of_jitter],
    LineRate: "rate",
    LossPattern: "pattern",
    OnOff: "interruption" [units::of_interruption],
    Reorder: "reordering",
    Slotting: "slot" [units::of_slots],
    RepairConfig: "code",
    Surroundings: "place",
    BurstWindow: "window",
}

by_serde! {
    ByteCount: "size", advice_of;
    Dbm: "power", advice_of;
    Duration: "time" [units::check_unit], advice_of;
    Metres: "distance", advice_of;
    Probability: "probability" [units::of_chance], advice_of;
    Rate: "rate", advice_of;
    String: "text", advice_of;
    f64: "number", no_advice;
    u8: "whole number", no_advice;
    u16: "whole number", no_advice;
    u32: "whole number", no_advice;
    u64: "whole number", no_advice;
    usize: "whole number", no_advice;
    NonZeroU8: "whole number", no_advice;
    NonZeroU16: "whole number", no_advice;
}

fn advice_of(error: impl Display) -> String {
    error.to_string()
}

/// Drops the error: the words of the standard library on a number help no user.
fn no_advice<E>(_: E) -> String {
    String::new()
}

impl Value for bool {
    const KIND: &'static str = "switch";

    fn words() -> Vec<(&'static str, &'static str)> {
        SWITCH.map(|(word, _)| (word, "")).into()
    }

    fn parse(text: &str) -> Result<Self, String> {
        // The words of a scenario file serve too.
        switch_of(text).or_else(|| text.parse().ok()).ok_or_else(|| "use on or off".to_owned())
    }

    fn text(&self) -> String {
        let found = SWITCH.iter().find(|(_, value)| value == self);
        found.map_or_else(String::new, |(word, _)| (*word).to_owned())
    }

    own_form!();
}

impl<T: Choice> Value for T {
    const KIND: &'static str = "word";

    fn words() -> Vec<(&'static str, &'static str)> {
        T::CHOICES.iter().map(|(word, _, meaning)| (*word, *meaning)).collect()
    }

    fn parse(text: &str) -> Result<Self, String> {
        let found = T::CHOICES.iter().find(|(word, ..)| *word == text.trim());
        found.map(|(_, value, _)| *value).ok_or_else(|| {
            format!("use {}", alternatives(T::CHOICES.iter().map(|(word, ..)| *word)))
        })
    }

    fn text(&self) -> String {
        let found = T::CHOICES.iter().find(|(_, value, _)| value == self);
        found.map_or("", |(word, ..)| word).to_owned()
    }

    fn read(node: &DocumentNode<'_>) -> Result<Self, FormError> {
        let DeValue::String(text) = node.get_ref() else {
            return Err(document::unlike(node, "text in quotes"));
        };
        let found = T::CHOICES.iter().find(|(word, ..)| word == text);
        found.map(|(_, value, _)| *value).ok_or_else(|| {
            let words: Vec<_> = T::CHOICES.iter().map(|(word, ..)| format!("`{word}`")).collect();
            let words = words.join(", ");
            FormError::new(format_args!("unknown variant `{text}`, expected one of {words}"))
        })
    }

    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text())
    }
}

/// A seed: in a file a number, or text for those that TOML's numbers cannot hold.
impl Value for Seed {
    const KIND: &'static str = "whole number";

    own_text!();

    fn read(node: &DocumentNode<'_>) -> Result<Self, FormError> {
        from_text(node)
    }

    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match i64::try_from(self.0) {
            Ok(number) => serializer.serialize_i64(number),
            Err(_) => serializer.collect_str(self),
        }
    }
}

/// A list: text with commas on the command line.
impl<T: Value> Value for Vec<T> {
    const KIND: &'static str = "list";

    fn parse(text: &str) -> Result<Self, String> {
        text.split(',').filter(|part| !part.trim().is_empty()).map(T::parse).collect()
    }

    fn text(&self) -> String {
        self.iter().map(T::text).collect::<Vec<_>>().join(",")
    }

    fn read(node: &DocumentNode<'_>) -> Result<Self, FormError> {
        let read =
            |value: &DocumentNode<'_>| T::read(value).map_err(|error| error.or_at(value.span()));
        document::list(node)?.iter().map(read).collect()
    }

    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter().map(InFileRef))
    }
}

/// A part that a link may have, or the word `none`, by which a change takes it away.
impl<T: Value> Value for Option<T> {
    const KIND: &'static str = T::KIND;

    fn parse(text: &str) -> Result<Self, String> {
        if text.trim() == "none" { Ok(None) } else { T::parse(text).map(Some) }
    }

    fn check_units(text: &str) -> Result<(), String> {
        T::check_units(text)
    }

    fn text(&self) -> String {
        self.as_ref().map_or_else(|| "none".to_owned(), T::text)
    }

    fn is_taken_away(&self) -> bool {
        self.is_none()
    }

    fn read(node: &DocumentNode<'_>) -> Result<Self, FormError> {
        match node.get_ref() {
            DeValue::String(text) if text.trim() == "none" => Ok(None),
            _ => T::read(node).map(Some),
        }
    }

    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text())
    }
}

/// A value that keeps its own place in the file.
impl<T: Value> Value for Spanned<T> {
    const KIND: &'static str = T::KIND;

    fn parse(text: &str) -> Result<Self, String> {
        T::parse(text).map(|value| Self::new(0..0, value))
    }

    fn check_units(text: &str) -> Result<(), String> {
        T::check_units(text)
    }

    fn text(&self) -> String {
        self.get_ref().text()
    }

    fn read(node: &DocumentNode<'_>) -> Result<Self, FormError> {
        T::read(node).map(|value| Self::new(node.span(), value))
    }

    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.get_ref().write(serializer)
    }
}

/// The numbers of a list: metres, seconds, decibels.
const IN_LISTS: core::ops::RangeInclusive<f64> = -1e6..=1e6;

/// Returns the range of the numbers of a list, in words.
fn range_in_lists() -> String {
    format!("from {} to {}", IN_LISTS.start(), IN_LISTS.end())
}

/// Numbers that belong together: text with blanks on the command line.
impl<const N: usize> Value for [f64; N] {
    const KIND: &'static str = "list of numbers";

    fn parse(text: &str) -> Result<Self, String> {
        let numbers = text.split_whitespace().map(str::parse).collect::<Result<Vec<f64>, _>>();
        let fits = |numbers: &Self| numbers.iter().all(|number| IN_LISTS.contains(number));
        let numbers = numbers.ok().and_then(|numbers| numbers.try_into().ok()).filter(fits);
        let range = range_in_lists();
        numbers.ok_or_else(|| format!("use {N} numbers {range} with blanks between them"))
    }

    fn text(&self) -> String {
        self.each_ref().map(ToString::to_string).join(" ")
    }

    fn read(node: &DocumentNode<'_>) -> Result<Self, FormError> {
        let numbers: Vec<f64> = document::by_serde(node)?;
        if let Some(number) = numbers.iter().find(|number| !IN_LISTS.contains(number)) {
            let number = abbreviated(number.to_string());
            let range = range_in_lists();
            let message = format_args!("{number} is out of range: use numbers {range}");
            return Err(FormError::new(message));
        }
        let count = numbers.len();
        numbers.try_into().map_err(|_| {
            FormError::new(format_args!("{count} numbers are not {N}: write a list of {N}"))
        })
    }

    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self)
    }
}

/// A value in the form that it has in a file.
struct InFileRef<'a, T>(&'a T);

impl<T: Value> Serialize for InFileRef<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.write(serializer)
    }
}

/// Writes a key and its value, if there is one.
#[doc(hidden)]
pub fn write_value<T: Value, S: SerializeMap>(
    map: &mut S,
    key: &'static str,
    value: Option<&Spanned<T>>,
) -> Result<(), S::Error> {
    match value {
        Some(value) => map.serialize_entry(key, &InFileRef(value.get_ref())),
        None => Ok(()),
    }
}
