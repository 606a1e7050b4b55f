//! Builds interfaces and hosts from layers; alone sees all layers of a station.
//!
//! - [`Interface`]: one network interface: classifies, queues, and pulls packets into its link.

pub mod event;
pub mod interface;

pub use event::{Event, EventKind};
pub use interface::classify::{Block, Classifier, Rule};
pub use interface::{Counters, DEVICE, Interface, InterfaceConfig, LinkConfig, MEDIUM};
