//! Rows of a table that are made from a list.

use serde::ser::SerializeMap;

use super::{Setting, Settings};
use crate::document::{DocumentNode, FormError};

/// Settings of an object of type `T` whose rows are made from a list, such as that of error models.
#[doc(hidden)]
pub trait Listed<T: Settings> {
    /// The rows of the settings, one for each entry of the list.
    const ROWS: &'static [Setting<T>];

    /// Returns the keys.
    fn names() -> impl Iterator<Item = &'static str> {
        Self::ROWS.iter().map(|row| row.name)
    }

    /// Reads the value of a key; `None` if it is of another setting.
    fn read(&mut self, key: &str, node: &DocumentNode<'_>) -> Option<Result<(), FormError>>;

    /// Writes the keys that are set.
    fn write<S: SerializeMap>(&self, map: &mut S) -> Result<(), S::Error>;
}

/// Joins three tables of one object.
#[doc(hidden)]
pub const fn joined<T: Settings, const N: usize>(parts: [&[Setting<T>]; 3]) -> [Setting<T>; N] {
    let mut rows = [parts[0][0]; N];
    let mut part = 0;
    let mut count = 0;
    while part < parts.len() {
        let mut at = 0;
        while at < parts[part].len() {
            rows[count] = parts[part][at];
            (at, count) = (at + 1, count + 1);
        }
        part += 1;
    }
    rows
}
