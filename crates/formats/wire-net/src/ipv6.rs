//! IPv6 headers (RFC 8200): the fixed header, the walk over extension headers, the fragment header.

mod extension;

use core::net::Ipv6Addr;

use crate::addresses::Addresses;
use crate::ecn::Ecn;
use crate::error::WireError;
use crate::field::{array_at, put_u16, put_u32, u16_at, u32_at};
use crate::protocol::Protocol;

pub use extension::{FRAGMENT_HEADER_LEN, FragmentHeader, Upper, WalkError};

/// The length of the fixed header, in bytes.
pub const HEADER_LEN: usize = 40;
/// The greatest payload length, extension headers included, in bytes.
pub const MAX_PAYLOAD_LEN: usize = 65_535;
/// The least MTU of a link that carries IPv6, in bytes (RFC 8200, section 5).
pub const MIN_MTU: usize = 1280;

const NAME: &str = "IPv6";

/// A view over a packet whose fixed header is there in full.
#[derive(Clone, Copy, Debug)]
pub struct Ipv6Packet<'a> {
    bytes: &'a [u8],
}

impl<'a> Ipv6Packet<'a> {
    /// Looks at `bytes`, a packet or the beginning of one; bytes beyond its length are ignored.
    ///
    /// # Errors
    /// If the fixed header is not there in full or is not IPv6.
    pub fn new(bytes: &'a [u8]) -> Result<Self, WireError> {
        WireError::check_len(NAME, bytes, HEADER_LEN)?;
        let version = bytes[0] >> 4;
        if version != 6 {
            return Err(WireError::Version { header: NAME, expected: 6, found: version });
        }
        Ok(Self { bytes })
    }

    /// Returns the traffic class.
    #[must_use]
    pub fn traffic_class(&self) -> u8 {
        (u16_at(self.bytes, 0) >> 4) as u8
    }

    /// Returns the flow label, 20 bits.
    #[must_use]
    pub fn flow_label(&self) -> u32 {
        u32_at(self.bytes, 0) & 0x000f_ffff
    }

    /// Returns the length of what follows the fixed header, as it states it, in bytes.
    #[must_use]
    pub fn payload_len(&self) -> usize {
        usize::from(u16_at(self.bytes, 4))
    }

    /// Returns the length of the whole packet as its header states it, in bytes.
    #[must_use]
    pub fn total_len(&self) -> usize {
        HEADER_LEN + self.payload_len()
    }

    /// Returns the protocol after the fixed header, possibly an extension header.
    #[must_use]
    pub fn next_header(&self) -> Protocol {
        Protocol(self.bytes[6])
    }

    /// Returns the remaining hop limit.
    #[must_use]
    pub fn hop_limit(&self) -> u8 {
        self.bytes[7]
    }

    /// Returns the source address.
    #[must_use]
    pub fn src(&self) -> Ipv6Addr {
        Ipv6Addr::from(array_at(self.bytes, 8))
    }

    /// Returns the destination address.
    #[must_use]
    pub fn dst(&self) -> Ipv6Addr {
        Ipv6Addr::from(array_at(self.bytes, 24))
    }

    /// Returns the source and destination addresses.
    #[must_use]
    pub fn addresses(&self) -> Addresses {
        Addresses::V6 { src: self.src(), dst: self.dst() }
    }

    /// Returns the bytes after the fixed header, as many as it states or fewer if the packet is
    /// truncated.
    #[must_use]
    pub fn payload(&self) -> &'a [u8] {
        let end = self.total_len().min(self.bytes.len());
        &self.bytes[HEADER_LEN..end]
    }

    /// Returns the number of bytes that the header states and that are not there.
    #[must_use]
    pub fn missing(&self) -> usize {
        self.total_len().saturating_sub(self.bytes.len())
    }

    /// Walks over the extension headers to what the packet carries.
    ///
    /// # Errors
    /// If an extension header is cut short, stands where it may not, or holds an option that must
    /// be understood and is not.
    pub fn upper(&self) -> Result<Upper, WalkError> {
        extension::walk(self.next_header(), self.payload())
    }
}

/// A fixed header of legal values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ipv6Repr {
    /// The source address.
    pub src: Ipv6Addr,
    /// The destination address.
    pub dst: Ipv6Addr,
    /// The protocol after the header.
    pub next_header: Protocol,
    /// The number of routers that it may pass.
    pub hop_limit: u8,
    /// The traffic class.
    pub traffic_class: u8,
    flow_label: u32,
    payload_len: u16,
}

impl Ipv6Repr {
    /// Creates a header for `payload_len` bytes after it, hop limit 64.
    ///
    /// # Errors
    /// If they are more than [`MAX_PAYLOAD_LEN`].
    pub fn new(
        src: Ipv6Addr,
        dst: Ipv6Addr,
        next_header: Protocol,
        payload_len: usize,
    ) -> Result<Self, WireError> {
        Ok(Self {
            src,
            dst,
            next_header,
            hop_limit: 64,
            traffic_class: 0,
            flow_label: 0,
            payload_len: checked_len(payload_len)?,
        })
    }

    /// Returns the header of `packet`.
    #[must_use]
    pub fn parse(packet: &Ipv6Packet<'_>) -> Self {
        Self {
            src: packet.src(),
            dst: packet.dst(),
            next_header: packet.next_header(),
            hop_limit: packet.hop_limit(),
            traffic_class: packet.traffic_class(),
            flow_label: packet.flow_label(),
            payload_len: packet.payload_len() as u16,
        }
    }

    /// Returns the same header for `payload_len` bytes after it.
    ///
    /// # Errors
    /// If they are more than [`MAX_PAYLOAD_LEN`].
    pub fn with_payload_len(mut self, payload_len: usize) -> Result<Self, WireError> {
        self.payload_len = checked_len(payload_len)?;
        Ok(self)
    }

    /// Returns the same header with the low 20 bits of `label` as its flow label.
    #[must_use]
    pub const fn with_flow_label(mut self, label: u32) -> Self {
        self.flow_label = label & 0x000f_ffff;
        self
    }

    /// Returns the flow label, 20 bits.
    #[must_use]
    pub const fn flow_label(&self) -> u32 {
        self.flow_label
    }

    /// Returns the length of what follows the header, in bytes.
    #[must_use]
    pub fn payload_len(&self) -> usize {
        usize::from(self.payload_len)
    }

    /// Returns the source and destination addresses.
    #[must_use]
    pub fn addresses(&self) -> Addresses {
        Addresses::V6 { src: self.src, dst: self.dst }
    }

    /// Writes the header to the beginning of `buffer`.
    ///
    /// # Panics
    /// If `buffer` is shorter than [`HEADER_LEN`].
    pub fn emit(&self, buffer: &mut [u8]) {
        let header = &mut buffer[..HEADER_LEN];
        let first = 0x6000_0000 | u32::from(self.traffic_class) << 20 | self.flow_label;
        put_u32(header, 0, first);
        put_u16(header, 4, self.payload_len);
        header[6] = self.next_header.0;
        header[7] = self.hop_limit;
        header[8..24].copy_from_slice(&self.src.octets());
        header[24..40].copy_from_slice(&self.dst.octets());
    }
}

/// Converts the length of the payload, if it fits into one packet.
fn checked_len(len: usize) -> Result<u16, WireError> {
    let most = MAX_PAYLOAD_LEN;
    u16::try_from(len).map_err(|_| WireError::TooLong { header: NAME, len, most })
}

/// Takes one hop from the hop limit in a header; returns what is left, `None` if it was zero
/// already.
///
/// # Panics
/// If `header` is shorter than [`HEADER_LEN`].
pub fn take_hop(header: &mut [u8]) -> Option<u8> {
    let left = header[7].checked_sub(1)?;
    header[7] = left;
    Some(left)
}

/// Marks the packet of a header as having met congestion; false, and nothing changed, if it is not
/// ECN-capable or marked already.
///
/// # Panics
/// If `header` is shorter than [`HEADER_LEN`].
pub fn mark(header: &mut [u8]) -> bool {
    // The traffic class lies across the first two bytes; ECN are its last bits.
    let can_be_marked = Ecn::from_bits(header[1] >> 4).can_be_marked();
    if can_be_marked {
        header[1] |= Ecn::Congested.bits() << 4;
    }
    can_be_marked
}

#[cfg(test)]
mod tests;
