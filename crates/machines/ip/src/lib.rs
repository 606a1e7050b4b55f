//! The internet layer of a station: forwarding, fragments, ICMP and path MTU, for both families.
//!
//! [`Layer`] is the machine; it takes packets from interfaces and from the host above it, and emits
//! packets for interfaces and [`Upward`] items for the host. The other modules are its parts, each
//! without side effects and testable by itself.

mod event;
pub mod fragment;
mod layer;
mod limiter;
mod path_mtu;
mod reassembly;
mod report;
mod route;
mod route_metric;

pub use event::{IpEvent, IpEventKind};
pub use layer::{IpConfig, IpDatagram, IpInterfaceConfig, IpSendError, Layer, Outbound, Upward};
pub use report::{ErrorReport, HeaderFault, Problem};
pub use route::{RouteEntry, RouteSource, RoutingTable, SharedRoutes, is_group};
pub use route_metric::RouteMetric;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
