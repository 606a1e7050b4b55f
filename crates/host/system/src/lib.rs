//! What every program does with the operating system.
//!
//! - [`files`]: files that are written whole or not at all.
//! - [`as_caller`], [`caller`], [`caller_home`]: the user behind sudo.
//! - [`interrupt`]: requests to end, for programs that sum up before they do.
//! - [`relay`]: ports that lead into a run and out of it.
//! - [`standard_output_was_closed`]: the standard output as the process got it.

#![expect(
    unsafe_code,
    reason = "handlers of signals, groups of a single thread, and code before the runtime"
)]

pub mod files;
mod identity;
pub mod interrupt;
pub mod relay;
mod standard_output;

pub use identity::{CallerError, Identity, as_caller, caller, caller_home};
pub use standard_output::standard_output_was_closed;
