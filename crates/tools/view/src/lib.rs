//! Views of a run.
//!
//! - [`terminal`]: a run on the terminal.
//! - [`browser`]: a live run on a page.
//! - [`layers`]: a run's log, layer by layer, on a page.

pub mod browser;
pub mod layers;
pub mod terminal;
