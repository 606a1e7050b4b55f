//! Tables of settings: one row describes an option for every face that shows it.
//!
//! `settings!` makes of the rows a struct, its form in a scenario file, and a table from which the
//! options of the command line and the pages of `docs/reference` are made.

use core::fmt;

use serde::ser::{SerializeMap, Serializer};
use toml::de::{DeTable, DeValue};

use crate::document::{DocumentNode, FormError, abbreviated, list, unlike};
use crate::fault::SettingFault;
use crate::policy::{POLICY_SUFFIX, PolicyName};
use crate::value::Value;

mod field;
mod list;

pub use field::SettingField;
pub use list::{Listed, joined};

/// An object that a table of settings describes.
pub trait Settings: Clone + fmt::Debug + PartialEq + Sized + 'static {
    /// Particulars that rows of this table may have beside those of every row.
    type RowMetadata: RowMetadata;

    /// The settings, in the order of the reference and of what is written.
    const TABLE: &'static [Setting<Self>];

    /// Returns the object without any setting.
    fn unset() -> Self;

    /// Adds the keys of the object; those that cannot be left out come first, and are counted.
    #[doc(hidden)]
    fn add_keys(keys: &mut Vec<&'static str>) -> usize;

    /// Reads the value of a key.
    #[doc(hidden)]
    fn read_key(&mut self, key: &str, node: &DocumentNode<'_>) -> Result<(), FormError>;

    /// Writes the keys that are set.
    #[doc(hidden)]
    fn write_keys<S: SerializeMap>(&self, map: &mut S) -> Result<(), S::Error>;

    /// Returns the row of a field, such as `|it| &it.rate`.
    ///
    /// # Panics
    /// If the field is none that a row describes.
    #[must_use]
    fn row<F: SettingField>(field: fn(&Self) -> &F) -> &'static Setting<Self> {
        let object = Self::unset();
        let place = core::ptr::from_ref(field(&object)).cast::<()>();
        let is_own =
            |row: &&Setting<Self>| core::ptr::from_ref(row.field(&object)).cast::<()>() == place;
        Self::TABLE.iter().find(is_own).expect("a field that a row describes")
    }

    /// Tells whether nothing is set.
    #[must_use]
    fn is_unset(&self) -> bool {
        *self == Self::unset()
    }

    /// Takes over every setting that `other` has.
    fn overlay(&mut self, other: &Self) {
        self.clear(other);
        for setting in Self::TABLE.iter().filter(|it| !it.is_required && it.is_set(other)) {
            (setting.accessors.copy)(self, other, setting.index);
        }
    }

    /// Unsets every setting that `other` has, and those that they exclude.
    fn clear(&mut self, other: &Self) {
        for setting in Self::TABLE.iter().filter(|it| it.is_set(other)) {
            let is_taken_away = setting.field(other).is_taken_away();
            let excluded = setting.excluded().filter(|_| !is_taken_away);
            for each in [setting].into_iter().chain(excluded) {
                each.field_mut(self).clear();
            }
        }
    }
}

/// Particulars of a setting beside those of every row.
pub trait RowMetadata: Copy + Send + Sync + 'static {
    /// Returns what the help adds to the description; empty if nothing.
    #[must_use]
    fn remark(&self) -> &'static str {
        ""
    }
}

impl RowMetadata for () {}

/// The kinds of objects that have the setting.
impl<K: Sync + 'static> RowMetadata for &'static [K] {}

/// Finds the first value that is out of its range, or excludes another one that is set.
#[doc(hidden)]
pub fn check<T: Settings>(object: &T) -> Result<(), SettingFault> {
    T::TABLE.iter().try_for_each(|setting| setting.check(object))
}

/// A setting of an object: a row of its table. Texts that do not apply are empty.
pub struct Setting<T: Settings> {
    /// The key in a scenario, and the name of the option unless `option` has another.
    pub name: &'static str,
    /// The name of the option, where it differs from the key.
    pub option: &'static str,
    /// The word that stands for the value in the help, such as `RATE`.
    pub value: &'static str,
    /// The type of the value, such as "rate".
    pub kind: &'static str,
    /// The words that the value is one of, with their meanings; none for other types.
    pub words: fn() -> Vec<(&'static str, &'static str)>,
    /// A value that is allowed.
    pub example: &'static str,
    #[doc(hidden)]
    pub doc: &'static str,
    /// Further sentences of the reference.
    pub detail: &'static str,
    /// The value by default, as it could be written.
    pub default: &'static str,
    /// The effect of leaving it out, where no value has the same.
    pub unset: &'static str,
    /// The setting that cannot be given at the same time.
    pub excludes: &'static str,
    /// The setting without which this one changes nothing.
    pub needs: &'static str,
    /// The words for what else gives this one an effect, if there is such a thing: then the whole
    /// scenario decides.
    pub needs_or: &'static str,
    /// The condition without which it changes nothing, where no setting alone is that.
    pub requires: Option<Requirement<T>>,
    /// It may change while a scenario runs, even if the table does not say it of all of its kind.
    pub is_live: bool,
    /// The requirement that asks for it.
    pub requirement: &'static str,
    /// The value is the name of a file.
    pub is_file: bool,
    /// The option may stand several times, each with a line of the value.
    pub is_repeated: bool,
    /// The setting cannot be left out; it is no option.
    pub is_required: bool,
    /// The setting is no option.
    pub is_key_only: bool,
    /// The description in the short help, which leaves the option out if there is none.
    pub short: &'static str,
    /// Particulars of the table.
    pub metadata: Option<T::RowMetadata>,
    #[doc(hidden)]
    pub limits: Option<SettingRange>,
    #[doc(hidden)]
    pub units: fn(&str) -> Result<(), String>,
    #[doc(hidden)]
    pub accessors: Accessors<T>,
    /// The place in the list that the row is made from, if it is from one.
    #[doc(hidden)]
    pub index: usize,
}

impl<T: Settings> Clone for Setting<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Settings> Copy for Setting<T> {}

/// A condition without which a setting changes nothing.
pub struct Requirement<T> {
    /// Tells whether an object fulfils it.
    pub is_met: fn(&T) -> bool,
    /// The keys to add so that an object does, as they are written in a scenario.
    pub by: &'static str,
}

impl<T> Requirement<T> {
    /// The condition that `is_met` checks, and what to add.
    pub const fn new(is_met: fn(&T) -> bool, by: &'static str) -> Self {
        Self { is_met, by }
    }
}

impl<T> Clone for Requirement<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Requirement<T> {}

/// Ways to the value of a setting; the number is the index of the row.
#[doc(hidden)]
pub struct Accessors<T> {
    pub field: fn(&T, usize) -> &dyn SettingField,
    pub field_mut: fn(&mut T, usize) -> &mut dyn SettingField,
    pub copy: fn(&mut T, &T, usize),
}

impl<T> Clone for Accessors<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Accessors<T> {}

/// The range of a setting.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub struct SettingRange {
    pub ends: fn() -> [String; 2],
    pub hold: fn(&str) -> bool,
}

/// The advice where the name of a file is empty.
const NAME_A_FILE: &str = "name a file";

impl<T: Settings> Setting<T> {
    /// A row for a field of this type that has no texts yet.
    pub const fn of_field<V: Value>(
        name: &'static str,
        doc: &'static str,
        accessors: Accessors<T>,
        limits: Option<SettingRange>,
    ) -> Self {
        Self {
            name,
            option: "",
            value: "",
            kind: V::KIND,
            words: V::words,
            example: "",
            doc,
            detail: "",
            default: "",
            unset: "",
            excludes: "",
            needs: "",
            needs_or: "",
            requires: None,
            is_live: false,
            requirement: "",
            is_file: false,
            is_repeated: false,
            is_required: false,
            is_key_only: false,
            short: "",
            metadata: None,
            limits,
            units: V::check_units,
            accessors,
            index: 0,
        }
    }

    /// Returns the field of the setting.
    pub fn field<'a>(&self, object: &'a T) -> &'a dyn SettingField {
        (self.accessors.field)(object, self.index)
    }

    /// Returns the field of the setting, to change it.
    pub fn field_mut<'a>(&self, object: &'a mut T) -> &'a mut dyn SettingField {
        (self.accessors.field_mut)(object, self.index)
    }

    /// Returns the name of the option.
    #[must_use]
    pub const fn option(&self) -> &'static str {
        if self.option.is_empty() { self.name } else { self.option }
    }

    /// Returns the description, a sentence without its full stop.
    #[must_use]
    pub fn help(&self) -> &'static str {
        self.doc.trim_start()
    }

    /// Returns what is to be said beside the description; empty if nothing.
    #[must_use]
    pub fn remark(&self) -> &'static str {
        self.metadata.as_ref().map_or("", RowMetadata::remark)
    }

    /// Tells whether the value is on or off, and on where the option has none.
    #[must_use]
    pub fn is_switch(&self) -> bool {
        (self.words)().first().is_some_and(|(word, _)| *word == "on")
    }

    /// Tells whether `object` has this setting.
    #[must_use]
    pub fn is_set(&self, object: &T) -> bool {
        self.field(object).text().is_some()
    }

    /// Returns the value of the setting as text, if it is set.
    #[must_use]
    pub fn text(&self, object: &T) -> Option<String> {
        self.field(object).text()
    }

    /// Sets the value that `text` stands for.
    ///
    /// # Errors
    /// Says what to write instead, with the range where there is one.
    pub fn set(&self, object: &mut T, text: &str) -> Result<(), String> {
        if self.is_file && text.is_empty() {
            return Err(NAME_A_FILE.to_owned());
        }
        let holds = |limits: &SettingRange| (limits.hold)(text);
        match self.field_mut(object).set(text) {
            // A number that cannot be read has no better advice than its range.
            Err(advice) if advice.is_empty() => Err(self.advice()),
            Ok(()) if !self.limits.as_ref().is_none_or(holds) => Err(self.advice()),
            other => other,
        }
    }

    /// Tells whether a value is the name of a file.
    #[must_use]
    pub fn names_file(&self, value: &str) -> bool {
        self.is_file || self.kind == <PolicyName as Value>::KIND && value.ends_with(POLICY_SUFFIX)
    }

    /// Sets the value that `text` stands for on a command line, where a time needs its unit.
    ///
    /// # Errors
    /// As [`set`](Self::set), and if a time has no unit.
    pub fn set_by_option(&self, object: &mut T, text: &str) -> Result<(), String> {
        (self.units)(text)?;
        self.set(object, text)
    }

    /// Returns the range of the value in words, if it has one.
    #[must_use]
    pub fn range(&self) -> Option<String> {
        let [least, most] = (self.limits.as_ref()?.ends)();
        Some(format!("{least} to {most}"))
    }

    /// The settings that cannot be given beside this one.
    pub fn excluded(&self) -> impl Iterator<Item = &'static Self> {
        T::TABLE.iter().filter(move |it| it.name == self.excludes)
    }

    /// Returns the setting without which this one changes nothing, if there is one.
    #[must_use]
    pub fn needed(&self) -> Option<&'static Self> {
        T::TABLE.iter().find(|it| !self.needs.is_empty() && it.name == self.needs)
    }

    /// Returns the setting with its example, as it stands in a scenario.
    fn as_key(&self) -> String {
        let value = match self.kind {
            _ if self.is_switch() => "true".to_owned(),
            "whole number" | "number" => self.example.to_owned(),
            _ => format!("\"{}\"", self.example),
        };
        format!("{} = {value}", self.name)
    }

    fn advice(&self) -> String {
        match self.range() {
            Some(range) => format!("use a {} from {range}", self.kind),
            None => format!("use a {}", self.kind),
        }
    }

    /// Returns the value to write in a file, in words, where the type alone does not say it.
    pub fn in_file(&self) -> Option<String> {
        match self.range() {
            _ if self.is_switch() => Some("true or false".to_owned()),
            Some(range) => Some(format!("a {} from {range}", self.kind)),
            None => None,
        }
    }

    fn check(&self, object: &T) -> Result<(), SettingFault> {
        let field = self.field(object);
        let (Some(text), Some(span)) = (field.text(), field.span()) else { return Ok(()) };
        let name = self.name;
        if self.is_file && text.is_empty() {
            return Err(SettingFault::at(span, format!("{name} is empty: {NAME_A_FILE}")));
        }
        if self.limits.as_ref().is_some_and(|limits| !(limits.hold)(&text)) {
            let text = abbreviated(text);
            let message = format!("{name} of {text} is out of range: {}", self.advice());
            return Err(SettingFault::at(span, message));
        }
        let is_there = |it: &&Self| it.is_set(object) && !it.field(object).is_taken_away();
        if let Some(other) = self.excluded().find(is_there).filter(|_| !field.is_taken_away()) {
            let message = format!("{name} and {} exclude each other: remove one", other.name);
            return Err(SettingFault::at(span, message));
        }
        match self.lacking(object).filter(|_| text != "off" && self.needs_or.is_empty()) {
            Some(other) => Err(SettingFault::at(span, self.idle_without(other, ""))),
            None => Ok(()),
        }
    }

    /// Returns the setting that this one needs, if `object` has it not.
    pub fn lacking(&self, object: &T) -> Option<&'static Self> {
        let has = |other: &Self| other.text(object).is_some_and(|text| text != "off");
        self.needed().filter(|other| !has(other))
    }

    /// Says that this setting changes nothing without `needed`, with `or` for what serves as well.
    pub fn idle_without(&self, needed: &Self, or: &str) -> String {
        let (name, needed, key) = (self.name, needed.name, needed.as_key());
        format!("{name} changes nothing without {needed}: add {key}{or}")
    }
}

impl<T: Settings> fmt::Debug for Setting<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Setting").field(&self.name).finish()
    }
}

/// Reads an object from the text of a file.
#[doc(hidden)]
pub fn parse<T: Settings>(text: &str) -> Result<T, FormError> {
    let root = DeTable::parse(text)?;
    let span = root.span();
    object(&DocumentNode::new(span, DeValue::Table(root.into_inner())))
}

/// Reads an object from a table of a scenario file.
fn object<T: Settings>(node: &DocumentNode<'_>) -> Result<T, FormError> {
    let DeValue::Table(table) = node.get_ref() else { return Err(unlike(node, "a table")) };
    let mut keys = Vec::new();
    let required = T::add_keys(&mut keys);
    let mut object = T::unset();
    let mut seen = Vec::new();
    for (name, value) in table {
        let key = keys.iter().copied().find(|key| *key == *name.get_ref()).ok_or_else(|| {
            let (keys, name, span) = (keys.join("`, `"), name.get_ref(), name.span());
            FormError::new(format_args!("unknown field `{name}`, expected one of `{keys}`"))
                .or_at(span)
        })?;
        object.read_key(key, value).map_err(|error| error.or_at(value.span()))?;
        seen.push(key);
    }
    let missing = keys[..required].iter().find(|key| !seen.contains(key));
    missing.map_or(Ok(object), |key| {
        Err(FormError::new(format_args!("missing field `{key}`")).or_at(node.span()))
    })
}

/// The object that stands below a key which is no setting, or several.
#[doc(hidden)]
pub trait SubTable: Sized {
    /// Reads it, unless it has another form or something in it is no setting.
    fn read(node: &DocumentNode<'_>) -> Result<Self, FormError>;
}

impl<T: Settings> SubTable for T {
    fn read(node: &DocumentNode<'_>) -> Result<Self, FormError> {
        object(node)
    }
}

impl<T: Settings> SubTable for Option<T> {
    fn read(node: &DocumentNode<'_>) -> Result<Self, FormError> {
        object(node).map(Some)
    }
}

impl<T: Settings> SubTable for Vec<T> {
    fn read(node: &DocumentNode<'_>) -> Result<Self, FormError> {
        list(node)?.iter().map(object).collect()
    }
}

/// Writes an object as a table of a scenario file.
#[doc(hidden)]
pub fn write<T: Settings, S: Serializer>(object: &T, to: S) -> Result<S::Ok, S::Error> {
    let mut map = to.serialize_map(None)?;
    object.write_keys(&mut map)?;
    map.end()
}

/// Defines an object by the table of its settings.
///
/// A row is `"key" field: Type [least..=most] { property: value, … }` below its description; the
/// properties are the fields of [`Setting`]. A line `listed field: Type,` among the rows stands for
/// those of a list ([`Listed`]). Behind `required` stand keys that cannot be left out,
/// behind `parts` tables and lists, and behind `inline` an object whose keys stand among these.
#[macro_export]
macro_rules! settings {
    (
        $(#[$meta:meta])*
        $visibility:vis struct $name:ident $(with $metadata:ty)? {
            $(
                $(#[doc = $help:literal])+
                $key:literal $field:ident : $type:ty $([$($limits:tt)+])?
                    { $($property:ident : $value:expr),* $(,)? }
            )*
            $(
                listed $listed:ident : $listed_type:ty,
                $(
                    $(#[doc = $later_help:literal])+
                    $later_key:literal $later:ident : $later_type:ty $([$($later_limits:tt)+])?
                        { $($later_property:ident : $later_value:expr),* $(,)? }
                )*
            )?
        }
        $(required {
            $(
                $(#[doc = $required_help:literal])+
                $required_key:literal $required:ident : $required_type:ty
                    { $($required_property:ident : $required_value:expr),* $(,)? }
            )*
        })?
        $(parts { $($(#[$part_meta:meta])* $part_key:literal $part:ident : $part_type:ty)* })?
        $(inline { $(#[$inline_meta:meta])* $inline:ident : $inline_type:ty })?
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        $visibility struct $name {
            $($($(#[doc = $required_help])+ pub $required: $crate::Spanned<$required_type>,)*)?
            $($(#[doc = $help])+ pub $field: Option<$crate::Spanned<$type>>,)*
            $(
                /// The settings of a list.
                pub $listed: $listed_type,
                $($(#[doc = $later_help])+ pub $later: Option<$crate::Spanned<$later_type>>,)*
            )?
            $($(#[$inline_meta])* pub $inline: $inline_type,)?
            $($($(#[$part_meta])* pub $part: $part_type,)*)?
        }

        impl $crate::table::Settings for $name {
            type RowMetadata = $crate::settings!(@or () $(, $metadata)?);

            const TABLE: &'static [$crate::table::Setting<Self>] =
                $crate::settings!(@table $name [$($(
                $crate::table::Setting {
                    is_required: true,
                    $($required_property: $required_value,)*
                    ..$crate::settings!(@row $required_key $required: $required_type,
                        $($required_help)+;)
                },
            )*)? $(
                $crate::table::Setting {
                    $($property: $value,)*
                    ..$crate::settings!(@row $key $field: $type, $($help)+; $($($limits)+)?)
                },
            )*] $($listed_type [$(
                $crate::table::Setting {
                    $($later_property: $later_value,)*
                    ..$crate::settings!(@row $later_key $later: $later_type, $($later_help)+;
                        $($($later_limits)+)?)
                },
            )*])?);

            fn unset() -> Self {
                Self {
                    $($(
                        $required: $crate::Spanned::new(0..0, $crate::value::Placeholder::blank()),
                    )*)?
                    $($field: None,)*
                    $($listed: Default::default(), $($later: None,)*)?
                    $($inline: $crate::table::Settings::unset(),)?
                    $($($part: Default::default(),)*)?
                }
            }

            fn add_keys(keys: &mut Vec<&'static str>) -> usize {
                let required: &[&str] = &[$($($required_key),*)?];
                keys.extend(required);
                let own: &[&str] = &[$($key),*];
                keys.extend(own);
                $(
                    keys.extend(<$listed_type as $crate::table::Listed<Self>>::names());
                    let later: &[&str] = &[$($later_key),*];
                    keys.extend(later);
                )?
                $(<$inline_type as $crate::table::Settings>::add_keys(keys);)?
                let parts: &[&str] = &[$($($part_key),*)?];
                keys.extend(parts);
                required.len()
            }

            fn read_key(
                &mut self,
                key: &str,
                node: &$crate::document::DocumentNode<'_>,
            ) -> Result<(), $crate::document::FormError> {
                match key {
                    $($($required_key => self.$required = $crate::value::Value::read(node)?,)*)?
                    $($key => self.$field = Some($crate::value::Value::read(node)?),)*
                    $($($later_key => {
                        self.$later = Some($crate::value::Value::read(node)?);
                    })*)?
                    $($($part_key => self.$part = $crate::table::SubTable::read(node)?,)*)?
                    _ => {
                        $(
                            let list = &mut self.$listed;
                            if let Some(read) =
                                $crate::table::Listed::<Self>::read(list, key, node)
                            {
                                return read;
                            }
                        )?
                        $crate::settings!(@inline self key node $($inline)?)
                    }
                }
                Ok(())
            }

            fn write_keys<S: $crate::serde::ser::SerializeMap>(
                &self,
                map: &mut S,
            ) -> Result<(), S::Error> {
                $($($crate::value::write_value(map, $required_key, Some(&self.$required))?;)*)?
                $($crate::value::write_value(map, $key, self.$field.as_ref())?;)*
                $(
                    $crate::table::Listed::<Self>::write(&self.$listed, map)?;
                    $($crate::value::write_value(map, $later_key, self.$later.as_ref())?;)*
                )?
                $(self.$inline.write_keys(map)?;)?
                $($(if self.$part != <$part_type>::default() {
                    map.serialize_entry($part_key, &self.$part)?;
                })*)?
                Ok(())
            }
        }

        impl $crate::serde::Serialize for $name {
            fn serialize<S: $crate::serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                $crate::table::write(self, to)
            }
        }

        $crate::settings!(@default $name $($($required)*)?);
    };
    (@table $name:ident [$($row:expr,)*]) => { &[$($row),*] };
    (@table $name:ident [$($row:expr,)*] $listed:ty [$($later:expr,)*]) => {{
        const PARTS: [&[$crate::table::Setting<$name>]; 3] = [
            &[$($row),*],
            <$listed as $crate::table::Listed<$name>>::ROWS,
            &[$($later),*],
        ];
        const COUNT: usize = PARTS[0].len() + PARTS[1].len() + PARTS[2].len();
        const ROWS: [$crate::table::Setting<$name>; COUNT] = $crate::table::joined(PARTS);
        &ROWS
    }};
    (@row $key:literal $field:ident : $type:ty, $($help:literal)+; $($limits:tt)*) => {
        $crate::table::Setting::of_field::<$type>(
            $key,
            concat!($($help),+),
            $crate::table::Accessors {
                field: |object, _| &object.$field,
                field_mut: |object, _| &mut object.$field,
                copy: |to, from, _| to.$field.clone_from(&from.$field),
            },
            $crate::settings!(@limits $type; $($limits)*),
        )
    };
    (@or $default:ty) => { $default };
    (@or $default:ty, $type:ty) => { $type };
    (@limits $type:ty;) => { None };
    (@limits $type:ty; $limits:expr) => {
        Some($crate::table::SettingRange {
            ends: || {
                use $crate::value::Value as _;
                let limits: core::ops::RangeInclusive<$type> = $limits;
                [limits.start().text(), limits.end().text()]
            },
            hold: |text| {
                use $crate::value::Value as _;
                let limits: core::ops::RangeInclusive<$type> = $limits;
                <$type>::parse(text).is_ok_and(|value| limits.contains(&value))
            },
        })
    };
    (@inline $self:ident $key:ident $node:ident) => {{
        let _ = ($key, $node);
    }};
    (@inline $self:ident $key:ident $node:ident $inline:ident) => {
        $crate::table::Settings::read_key(&mut $self.$inline, $key, $node)?
    };
    (@default $name:ident $($required:ident)+) => {};
    (@default $name:ident) => {
        impl Default for $name {
            fn default() -> Self {
                $crate::table::Settings::unset()
            }
        }
    };
}

#[cfg(test)]
mod tests;
