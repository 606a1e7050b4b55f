//! UDP (RFC 768, and RFC 8200, section 8.1).

use crate::addresses::Addresses;
use crate::error::WireError;
use crate::field::{put_u16, u16_at};
use crate::protocol::Protocol;

/// The length of the header, in bytes.
pub const HEADER_LEN: usize = 8;
/// The greatest length, header included, in bytes.
pub const MAX_LEN: usize = 65_535;

const NAME: &str = "UDP";

/// A view over a datagram whose header is there in full.
#[derive(Clone, Copy, Debug)]
pub struct UdpPacket<'a> {
    bytes: &'a [u8],
}

impl<'a> UdpPacket<'a> {
    /// Looks at `bytes`, a datagram or the beginning of one.
    ///
    /// # Errors
    /// If the header is not there in full or states less than its own length.
    pub fn new(bytes: &'a [u8]) -> Result<Self, WireError> {
        WireError::check_len(NAME, bytes, HEADER_LEN)?;
        let packet = Self { bytes };
        let found = packet.len();
        if found < HEADER_LEN {
            return Err(WireError::Length {
                header: NAME,
                found,
                least: HEADER_LEN,
                most: MAX_LEN,
            });
        }
        Ok(packet)
    }

    /// Returns the sender's port.
    #[must_use]
    pub fn src_port(&self) -> u16 {
        u16_at(self.bytes, 0)
    }

    /// Returns the receiver's port.
    #[must_use]
    pub fn dst_port(&self) -> u16 {
        u16_at(self.bytes, 2)
    }

    /// Returns the length of header and data as the header states it, in bytes.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "a datagram has its header at least")]
    pub fn len(&self) -> usize {
        usize::from(u16_at(self.bytes, 4))
    }

    /// Returns the checksum as it stands there; 0 means that the sender made none.
    #[must_use]
    pub fn checksum(&self) -> u16 {
        u16_at(self.bytes, 6)
    }

    /// Returns the number of bytes that the header states and that are not there.
    #[must_use]
    pub fn missing(&self) -> usize {
        self.len().saturating_sub(self.bytes.len())
    }

    /// Returns whether the checksum holds, or is absent where it may be (S0.5).
    ///
    /// A datagram that is cut short never holds. Over IPv6 there must be a checksum.
    #[must_use]
    pub fn checksum_holds(&self, addresses: &Addresses) -> bool {
        self.checksum_holds_with(addresses, &[])
    }

    /// As [`UdpPacket::checksum_holds`], where the datagram goes on in `tail`.
    #[must_use]
    pub fn checksum_holds_with(&self, addresses: &Addresses, tail: &[u8]) -> bool {
        if self.checksum() == 0 {
            return matches!(addresses, Addresses::V4 { .. });
        }
        let here = &self.bytes[..self.len().min(self.bytes.len())];
        let Some(there) = tail.get(..self.len() - here.len()) else { return false };
        let mut sum = addresses.pseudo_header(Protocol::UDP, self.len() as u32);
        sum.add(here);
        sum.add(there);
        sum.holds()
    }

    /// Returns the data: as many as the header states, or fewer if fewer are there.
    #[must_use]
    pub fn payload(&self) -> &'a [u8] {
        &self.bytes[HEADER_LEN..self.len().min(self.bytes.len())]
    }
}

/// A header of legal values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UdpRepr {
    /// The sender's port.
    pub src_port: u16,
    /// The receiver's port.
    pub dst_port: u16,
}

impl UdpRepr {
    /// Returns the ports of `packet`.
    #[must_use]
    pub fn parse(packet: &UdpPacket<'_>) -> Self {
        Self { src_port: packet.src_port(), dst_port: packet.dst_port() }
    }

    /// Writes the header for `data` to the beginning of `buffer`, checksum included.
    ///
    /// # Errors
    /// If header and data are longer than [`MAX_LEN`].
    ///
    /// # Panics
    /// If `buffer` is shorter than [`HEADER_LEN`].
    pub fn emit(
        &self,
        buffer: &mut [u8],
        addresses: &Addresses,
        data: &[u8],
    ) -> Result<(), WireError> {
        let len = HEADER_LEN + data.len();
        if len > MAX_LEN {
            let most = MAX_LEN - HEADER_LEN;
            return Err(WireError::TooLong { header: NAME, len: data.len(), most });
        }
        let header = &mut buffer[..HEADER_LEN];
        put_u16(header, 0, self.src_port);
        put_u16(header, 2, self.dst_port);
        put_u16(header, 4, len as u16);
        put_u16(header, 6, 0);
        let mut sum = addresses.pseudo_header(Protocol::UDP, len as u32);
        sum.add(header);
        sum.add(data);
        put_u16(header, 6, sum.nonzero_checksum());
        Ok(())
    }
}

#[cfg(test)]
mod tests;
