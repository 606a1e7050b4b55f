//! Builds interfaces and hosts from layers; the only crate that depends on all layers of a station.
//!
//! - [`Interface`]: one network interface: classifies, queues, and pulls packets into its link.
//! - [`SerialEnd`]: one end of a line that carries bytes: PPP, or the frames of a link.
//! - [`Host`]: the internet layer of a station and the sockets of its applications.

pub mod event;
pub mod host;
pub mod interface;
pub mod serial;
pub mod socket_api;

pub use event::{InterfaceEvent, RlpSight};
pub use host::{AppId, Host, HostConfig, HostEvent, ProcessorConfig};
pub use interface::assist::{AssistConfig, CorruptionFilter, SnoopConfig};
pub use interface::classify::{Classifier, Rule};
pub use interface::flows::{FlowAccount, ScheduledFlow};
pub use interface::gsm::{GsmLinkConfig, GsmService, GsmTunnel};
pub use interface::picks::{PacketList, Picks};
pub use interface::wavelan::{WavelanConfig, WavelanPeer, WavelanRole};
pub use interface::wifi::{Neighbour, WifiConfig};
pub use interface::{
    ChecksumConfig, Counters, DEVICE, Interface, InterfaceConfig, LinkLayerConfig, MEDIUM,
    RepairsConfig,
};
pub use serial::{SerialConfig, SerialCounters, SerialEnd, SerialEvent, SerialFraming};
pub use windfall_mac::wifi::radio::{Airtime, Period};
pub use windfall_mac::wifi::{Contention, Rest};
pub use windfall_wire_net::Protocol;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
