//! Settings as text.
//!
//! - [`table`]: one row describes a setting for every face that shows it.
//! - [`value`]: the types of values, in options and in files.
//! - [`tcp`]: the settings of TCP.
//! - [`policy`]: the files of policies for coded frames.
//! - [`text`]: help that names what a table has.

pub mod document;
mod fault;
pub mod policy;
pub mod table;
pub mod tcp;
pub mod text;
mod units;
pub mod value;
mod words;

pub use fault::SettingFault;
#[doc(hidden)]
pub use serde;
pub use table::{Requirement, RowMetadata, Setting, Settings};
pub use toml::Spanned;
pub use units::check_unit;
#[doc(hidden)]
pub use value::Placeholder;
pub use value::{Choice, Get, Value, placed, value_if_set};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
