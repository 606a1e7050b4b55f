//! The reports of a link, and the packets that it delivers.

use core::net::Ipv4Addr;

/// An event of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PppEvent {
    /// LCP is open: the line carries frames both ways.
    Up,
    /// IPv4 packets can be sent and received.
    Ipv4Up {
        /// The address of this end.
        local: Ipv4Addr,
        /// The address of the peer, if it told one.
        peer: Option<Ipv4Addr>,
    },
    /// IPv6 packets can be sent and received.
    Ipv6Up {
        /// The interface identifier of this end.
        local: u64,
        /// The interface identifier of the peer.
        peer: u64,
    },
    /// IPv4 is closed.
    Ipv4Down,
    /// IPv6 is closed.
    Ipv6Down,
    /// LCP is closed.
    Down,
    /// LCP came to an end: the peer refused, or did not answer, or one end closed the link.
    Finished,
    /// The peer sends what this end has sent: the line is a loop.
    Looped,
}

/// A packet of the network layer that arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PppPacket {
    /// The protocol field.
    pub protocol: u16,
    /// The bytes of the packet.
    pub bytes: Vec<u8>,
    /// The frame check failed, and was overlooked.
    pub damaged: bool,
}
