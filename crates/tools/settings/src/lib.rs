//! Settings as text.
//!
//! - [`tcp`]: the settings of TCP.
//! - [`policy`]: the files of policies for coded frames.
//! - [`text`]: help that names what a table has.

pub mod policy;
pub mod tcp;
pub mod text;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
