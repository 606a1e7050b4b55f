//! The value of a setting within its object.

use core::ops::Range;

use toml::Spanned;

use crate::value::Value;

/// The field of a setting, whatever the type of its value.
#[doc(hidden)]
pub trait SettingField {
    /// Sets the value; an error is the advice, empty where the type has none.
    fn set(&mut self, text: &str) -> Result<(), String>;
    /// The value as text.
    fn text(&self) -> Option<String>;
    /// The place of the value in the text of a file.
    fn span(&self) -> Option<Range<usize>>;
    /// Tells whether the value takes a part of a link away.
    fn is_taken_away(&self) -> bool {
        false
    }
    /// Unsets the value.
    fn clear(&mut self);
}

impl<V: Value> SettingField for Option<Spanned<V>> {
    fn set(&mut self, text: &str) -> Result<(), String> {
        *self = Some(Spanned::new(0..0, V::parse(text)?));
        Ok(())
    }

    fn text(&self) -> Option<String> {
        self.as_ref().map(|value| value.get_ref().text())
    }

    fn span(&self) -> Option<Range<usize>> {
        self.as_ref().map(Spanned::span)
    }

    fn is_taken_away(&self) -> bool {
        self.as_ref().is_some_and(|value| value.get_ref().is_taken_away())
    }

    fn clear(&mut self) {
        *self = None;
    }
}

/// The field of a setting that cannot be left out.
impl<V: Value> SettingField for Spanned<V> {
    fn set(&mut self, text: &str) -> Result<(), String> {
        *self = Self::new(0..0, V::parse(text)?);
        Ok(())
    }

    fn text(&self) -> Option<String> {
        Some(self.get_ref().text())
    }

    fn span(&self) -> Option<Range<usize>> {
        Some(Self::span(self))
    }

    fn clear(&mut self) {}
}
