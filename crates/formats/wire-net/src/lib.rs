//! Wire formats above the link: IP, ICMP, UDP, UDP-Lite and TCP over any bytes.
//!
//! Two levels, the same in every module:
//!
//! - `Packet` is a view over any bytes. Its constructor checks that the header is there and that
//!   its
//!   own lengths make sense; afterwards no getter panics, whatever the bytes say. A view over the
//!   beginning of a packet works too: `payload` gives what is there.
//! - `Repr` holds legal values only; `emit` writes them, checksum included. What it cannot hold
//!   cannot be sent.
//!
//! Multi-byte numbers are in network order on the wire and plain integers here. Lengths are in
//! bytes.

mod addresses;
pub mod carrier;
pub mod checksum;
mod ecn;
mod error;
pub mod icmpv4;
pub mod icmpv6;
mod ip;
pub mod ipv4;
pub mod ipv6;
mod protocol;
pub mod sap;
pub mod segment;
pub mod tcp;
pub mod transport;
pub mod udp;
pub mod udplite;

mod field;

pub use addresses::Addresses;
pub use carrier::CarrierPacket;
pub use ecn::Ecn;
pub use error::WireError;
pub use icmpv4::{Icmpv4Packet, Icmpv4Repr};
pub use icmpv6::{Icmpv6Packet, Icmpv6Repr};
pub use ip::{Carried, IpPacket, mark_congestion};
pub use ipv4::{Ipv4Options, Ipv4Packet, Ipv4Repr};
pub use ipv6::{Ipv6Packet, Ipv6Repr};
pub use protocol::Protocol;
pub use tcp::{TcpFlags, TcpHeaderBytes, TcpOptions, TcpPacket, TcpRepr};
pub use udp::{UdpPacket, UdpRepr};
pub use udplite::{UdpLitePacket, UdpLiteRepr};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
