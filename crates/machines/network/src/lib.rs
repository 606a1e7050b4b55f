//! Stations connected by media: one node whose ports are devices.
//!
//! - [`Network`]: connected interfaces, media and stations, with the event queue ([`Agenda`]) that
//!   wakes them; built from a [`NetworkConfig`].
//! - [`LinkLedger`]: the outcome of each packet that entered at a device.
//! - [`NetworkEvent`]: the events of the elements, recorded on request.

pub mod addresses;
mod agenda;
mod config;
mod event;
mod ledger;
mod network;
mod station;
mod watchdog;

pub use agenda::Agenda;
pub use config::{
    AppConfig, BuildError, EndConfig, HostSetup, LinkConfig, NetworkConfig, StationConfig,
};
pub use event::{EventKind, NetworkEvent, Passage, Recording};
pub use ledger::{FlowLedger, LinkLedger, direction_of, tag_of};
pub use network::Network;
pub use station::SimulatedStation;
pub use watchdog::Stall;

/// An element of a network: an interface, a medium or a station, numbered in that order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ElementId(pub u32);

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
