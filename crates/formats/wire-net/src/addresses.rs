//! Source and destination of a packet, both of one family.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::checksum::Sum;
use crate::protocol::Protocol;

/// The source and destination of a packet; the type rules out a mixture of families.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Addresses {
    /// Of an IPv4 packet.
    V4 {
        /// The source address.
        src: Ipv4Addr,
        /// The destination address.
        dst: Ipv4Addr,
    },
    /// Of an IPv6 packet.
    V6 {
        /// The source address.
        src: Ipv6Addr,
        /// The destination address.
        dst: Ipv6Addr,
    },
}

impl Addresses {
    /// Creates the pair, if both are of one family.
    #[must_use]
    pub const fn new(src: IpAddr, dst: IpAddr) -> Option<Self> {
        match (src, dst) {
            (IpAddr::V4(src), IpAddr::V4(dst)) => Some(Self::V4 { src, dst }),
            (IpAddr::V6(src), IpAddr::V6(dst)) => Some(Self::V6 { src, dst }),
            _ => None,
        }
    }

    /// Returns the source address.
    #[must_use]
    pub const fn src(&self) -> IpAddr {
        match *self {
            Self::V4 { src, .. } => IpAddr::V4(src),
            Self::V6 { src, .. } => IpAddr::V6(src),
        }
    }

    /// Returns the destination address.
    #[must_use]
    pub const fn dst(&self) -> IpAddr {
        match *self {
            Self::V4 { dst, .. } => IpAddr::V4(dst),
            Self::V6 { dst, .. } => IpAddr::V6(dst),
        }
    }

    /// Returns the pair with source and destination exchanged.
    #[must_use]
    pub const fn reversed(&self) -> Self {
        match *self {
            Self::V4 { src, dst } => Self::V4 { src: dst, dst: src },
            Self::V6 { src, dst } => Self::V6 { src: dst, dst: src },
        }
    }

    /// Returns the sum over the pseudo header, to which the upper layer adds its own bytes.
    ///
    /// `len` is the real length of the upper layer's header and data in bytes, also where its
    /// checksum covers only part of them (RFC 3828, section 3.2). RFC 768; RFC 8200, section 8.1.
    #[must_use]
    #[inline]
    pub fn pseudo_header(&self, protocol: Protocol, len: u32) -> Sum {
        let mut sum = Sum::new();
        match self {
            Self::V4 { src, dst } => {
                sum.add(&src.octets());
                sum.add(&dst.octets());
            }
            Self::V6 { src, dst } => {
                sum.add(&src.octets());
                sum.add(&dst.octets());
            }
        }
        sum.add(&len.to_be_bytes());
        sum.add(&[0, protocol.0]);
        sum
    }
}
