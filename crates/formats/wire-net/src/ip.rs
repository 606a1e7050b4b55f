//! Packets of either address family.

use bytes::BytesMut;
use windfall_base::Payload;

use crate::addresses::Addresses;
use crate::error::WireError;
use crate::ipv4::{self, Ipv4Packet};
use crate::ipv6::{self, Ipv6Packet, WalkError};
use crate::protocol::Protocol;

/// A view over an IPv4 or IPv6 packet.
#[derive(Clone, Copy, Debug)]
pub enum IpPacket<'a> {
    /// An IPv4 packet.
    V4(Ipv4Packet<'a>),
    /// An IPv6 packet.
    V6(Ipv6Packet<'a>),
}

/// The transport data of an IP packet, after all extension headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carried<'a> {
    /// The protocol of the data.
    pub protocol: Protocol,
    /// Its bytes: as many as the IP header states, or fewer if fewer are there.
    pub bytes: &'a [u8],
    /// Their number as the IP header states it.
    pub len: usize,
    /// Set if the packet is a fragment; all but the first begin without a transport header.
    pub fragment: bool,
    /// The offset of a fragment's data in the data of the whole packet, in bytes.
    pub fragment_offset: usize,
}

impl<'a> IpPacket<'a> {
    /// Looks at `bytes`, a packet or the beginning of one.
    ///
    /// # Errors
    /// If the version is neither 4 nor 6 or the header is faulty.
    pub fn new(bytes: &'a [u8]) -> Result<Self, WireError> {
        WireError::check_len("IP", bytes, 1)?;
        match bytes[0] >> 4 {
            4 => Ipv4Packet::new(bytes).map(Self::V4),
            6 => Ipv6Packet::new(bytes).map(Self::V6),
            version => {
                Err(WireError::Illegal { header: "IP", field: "version", found: version.into() })
            }
        }
    }

    /// Returns the source and destination addresses.
    #[must_use]
    pub fn addresses(&self) -> Addresses {
        match self {
            Self::V4(packet) => packet.addresses(),
            Self::V6(packet) => packet.addresses(),
        }
    }

    /// Returns the traffic class: six bits of DSCP, two of ECN (RFC 2474, 3168).
    #[must_use]
    pub fn traffic_class(&self) -> u8 {
        match self {
            Self::V4(packet) => packet.tos(),
            Self::V6(packet) => packet.traffic_class(),
        }
    }

    /// Returns the remaining hop limit.
    #[must_use]
    pub fn hop_limit(&self) -> u8 {
        match self {
            Self::V4(packet) => packet.hop_limit(),
            Self::V6(packet) => packet.hop_limit(),
        }
    }

    /// Returns the length of the whole packet as its header states it, in bytes.
    #[must_use]
    pub fn total_len(&self) -> usize {
        match self {
            Self::V4(packet) => packet.total_len(),
            Self::V6(packet) => packet.total_len(),
        }
    }

    /// Returns the number of bytes that the header states and that are not there.
    #[must_use]
    pub fn missing(&self) -> usize {
        match self {
            Self::V4(packet) => packet.missing(),
            Self::V6(packet) => packet.missing(),
        }
    }

    /// Returns the data that the packet carries.
    ///
    /// # Errors
    /// If the walk over IPv6 extension headers fails.
    pub fn carried(&self) -> Result<Carried<'a>, WalkError> {
        match self {
            Self::V4(packet) => Ok(Carried {
                protocol: packet.protocol(),
                bytes: packet.payload(),
                len: packet.total_len() - packet.header_len(),
                fragment: packet.is_fragment(),
                fragment_offset: packet.fragment_offset(),
            }),
            Self::V6(packet) => {
                let upper = packet.upper()?;
                let fragment = upper.fragment.filter(|fragment| !fragment.is_atomic());
                Ok(Carried {
                    protocol: upper.protocol,
                    bytes: &packet.payload()[upper.offset..],
                    len: packet.payload_len() - upper.offset,
                    fragment: fragment.is_some(),
                    fragment_offset: fragment.map_or(0, |fragment| fragment.offset()),
                })
            }
        }
    }
}

/// Marks an IP packet as having met congestion (RFC 3168, section 5): `None` if its sender does not
/// understand ECN, if it is marked already, or if it is no IP packet.
///
/// The slice that begins with the header is copied. Its checksum stays as right or wrong as it was.
#[must_use]
pub fn mark_congestion(packet: &Payload) -> Option<Payload> {
    let (head, body) = packet.clone().into_parts();
    let mut head = BytesMut::from(&head[..]);
    let is_marked = match head.first()? >> 4 {
        4 if head.len() >= ipv4::HEADER_LEN => ipv4::mark(&mut head),
        6 if head.len() >= ipv6::HEADER_LEN => ipv6::mark(&mut head),
        _ => false,
    };
    is_marked.then(|| Payload::new(head.freeze(), body))
}

#[cfg(test)]
mod tests;
