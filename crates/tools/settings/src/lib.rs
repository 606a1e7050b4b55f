//! Settings as text.
//!
//! - [`tcp`]: the settings of TCP.
//! - [`policy`]: the files of policies for coded frames.

pub mod policy;
pub mod tcp;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
