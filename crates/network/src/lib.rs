//! Stations joined by air: one node whose ports are devices.

mod agenda;
mod event;
mod ledger;

pub use agenda::Agenda;
pub use event::{Event, Passage, What};
pub use ledger::{LinkLedger, direction_of, tag_of};

/// An element of a network: an interface, a medium or a station. Numbered in that order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ElementId(pub u32);
