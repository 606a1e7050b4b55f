//! Runs a network in real time under real programs.
//!
//! - [`Loop`]: drives a node by a [`Clock`] and its ports by [`Device`]s. With faked ones it prints
//!   the same timeline as the simulator.

pub mod driver;

pub use driver::{Clock, Device, Lateness, Loop};
