//! What every program does with the operating system.
//!
//! - [`files`]: files that are written whole or not at all.
//! - [`as_caller`], [`caller`], [`caller_home`]: the user behind sudo.
//! - [`interrupt`]: requests to end, for programs that sum up before they do.

#![expect(unsafe_code, reason = "handlers of signals, and groups of a single thread")]

pub mod files;
mod identity;
pub mod interrupt;

pub use identity::{CallerError, Identity, as_caller, caller, caller_home};
