//! UDP-Lite (RFC 3828): a checksum over as much of the datagram as the sender asks.

use crate::addresses::Addresses;
use crate::error::WireError;
use crate::field::{put_u16, u16_at};
use crate::protocol::Protocol;

/// The length of the header, in bytes, and the least coverage.
pub const HEADER_LEN: usize = 8;

const NAME: &str = "UDP-Lite";

/// The part of a datagram that its checksum covers; only legal values can be expressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Coverage {
    /// All of it.
    #[default]
    Full,
    /// The first *n* bytes, header included; 8 at least.
    First(CoveredBytes),
}

/// A number of covered bytes: 8 at least, since the header is always covered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CoveredBytes(u16);

impl CoveredBytes {
    /// Returns `bytes` covered bytes; `None` below 8.
    #[must_use]
    pub const fn new(bytes: u16) -> Option<Self> {
        if bytes < HEADER_LEN as u16 { None } else { Some(Self(bytes)) }
    }

    /// Returns the number, in bytes.
    #[must_use]
    pub const fn get(self) -> u16 {
        self.0
    }
}

impl Coverage {
    /// Returns the meaning of the field of a header (RFC 3828, section 3.1); `None` for 1 to 7.
    #[must_use]
    pub const fn from_field(field: u16) -> Option<Self> {
        match (field, CoveredBytes::new(field)) {
            (0, _) => Some(Self::Full),
            (_, Some(bytes)) => Some(Self::First(bytes)),
            (_, None) => None,
        }
    }

    /// Returns the coverage that a sender requests by Linux's convention: 0 means all, 1 to 7 mean
    /// the header.
    #[must_use]
    pub const fn requested(bytes: u16) -> Self {
        match bytes {
            0 => Self::Full,
            1..8 => Self::First(CoveredBytes(HEADER_LEN as u16)),
            _ => Self::First(CoveredBytes(bytes)),
        }
    }

    /// Returns the covered bytes of a datagram of `len` bytes; a coverage beyond its end covers
    /// all.
    #[must_use]
    pub fn bytes_of(self, len: usize) -> usize {
        match self {
            Self::Full => len,
            Self::First(bytes) => usize::from(bytes.0).min(len),
        }
    }
}

/// A view over a datagram whose header is there in full and whose coverage is legal.
#[derive(Clone, Copy, Debug)]
pub struct UdpLitePacket<'a> {
    bytes: &'a [u8],
    len: usize,
}

impl<'a> UdpLitePacket<'a> {
    /// Looks at `bytes`, a datagram of which all is there.
    ///
    /// # Errors
    /// If the header is not there in full, the coverage is 1 to 7 or longer than the datagram, or
    /// the checksum is zero (RFC 3828, section 3.1).
    pub fn new(bytes: &'a [u8]) -> Result<Self, WireError> {
        Self::truncated(bytes, bytes.len())
    }

    /// Looks at `bytes`, the beginning of a datagram of `len` bytes as the IP header states it.
    ///
    /// # Errors
    /// As [`UdpLitePacket::new`].
    pub fn truncated(bytes: &'a [u8], len: usize) -> Result<Self, WireError> {
        WireError::check_len(NAME, bytes, HEADER_LEN)?;
        let len = len.max(bytes.len());
        let field = u16_at(bytes, 4);
        let covered = usize::from(field);
        if Coverage::from_field(field).is_none() || covered > len {
            return Err(WireError::Length {
                header: NAME,
                found: covered,
                least: HEADER_LEN,
                most: len,
            });
        }
        if u16_at(bytes, 6) == 0 {
            return Err(WireError::Illegal { header: NAME, field: "checksum", found: 0 });
        }
        Ok(Self { bytes, len })
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

    /// Returns the coverage of the checksum.
    #[must_use]
    pub fn coverage(&self) -> Coverage {
        Coverage::from_field(u16_at(self.bytes, 4)).unwrap_or_default()
    }

    /// Returns the covered bytes, header included.
    #[must_use]
    pub fn covered(&self) -> usize {
        self.coverage().bytes_of(self.len)
    }

    /// Returns the checksum as it stands there.
    #[must_use]
    pub fn checksum(&self) -> u16 {
        u16_at(self.bytes, 6)
    }

    /// Returns whether the checksum holds over what it covers; `false` if some of that is missing.
    ///
    /// The pseudo header counts the whole datagram, covered or not (RFC 3828, section 3.2).
    #[must_use]
    pub fn checksum_holds(&self, addresses: &Addresses) -> bool {
        self.checksum_holds_with(addresses, &[])
    }

    /// As [`UdpLitePacket::checksum_holds`], where the datagram goes on in `tail`.
    #[must_use]
    pub fn checksum_holds_with(&self, addresses: &Addresses, tail: &[u8]) -> bool {
        let covered = self.covered();
        let here = &self.bytes[..covered.min(self.bytes.len())];
        let Some(there) = tail.get(..covered - here.len()) else { return false };
        let mut sum = addresses.pseudo_header(Protocol::UDP_LITE, self.len as u32);
        sum.add(here);
        sum.add(there);
        sum.holds()
    }

    /// Returns the data that are there, covered or not.
    #[must_use]
    pub fn payload(&self) -> &'a [u8] {
        &self.bytes[HEADER_LEN..]
    }
}

/// A header of legal values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UdpLiteRepr {
    /// The sender's port.
    pub src_port: u16,
    /// The receiver's port.
    pub dst_port: u16,
    /// The coverage of the checksum; one beyond the end is written as full.
    pub coverage: Coverage,
}

impl UdpLiteRepr {
    /// Returns the header of `packet`.
    #[must_use]
    pub fn parse(packet: &UdpLitePacket<'_>) -> Self {
        Self {
            src_port: packet.src_port(),
            dst_port: packet.dst_port(),
            coverage: packet.coverage(),
        }
    }

    /// Writes the header for `data` to the beginning of `buffer`, checksum included.
    ///
    /// # Panics
    /// If `buffer` is shorter than [`HEADER_LEN`].
    pub fn emit(&self, buffer: &mut [u8], addresses: &Addresses, data: &[u8]) {
        self.emit_parts(buffer, addresses, [data, &[]]);
    }

    /// As [`UdpLiteRepr::emit`], for data in two slices that follow each other.
    ///
    /// # Panics
    /// If `buffer` is shorter than [`HEADER_LEN`].
    pub fn emit_parts(&self, buffer: &mut [u8], addresses: &Addresses, data: [&[u8]; 2]) {
        let [head, tail] = data;
        let len = HEADER_LEN + head.len() + tail.len();
        let covered = self.coverage.bytes_of(len);
        let field = match self.coverage {
            Coverage::First(bytes) if covered == usize::from(bytes.0) => bytes.0,
            _ => 0,
        };
        let header = &mut buffer[..HEADER_LEN];
        put_u16(header, 0, self.src_port);
        put_u16(header, 2, self.dst_port);
        put_u16(header, 4, field);
        put_u16(header, 6, 0);
        let mut sum = addresses.pseudo_header(Protocol::UDP_LITE, len as u32);
        sum.add(header);
        let covered = covered - HEADER_LEN;
        sum.add(&head[..covered.min(head.len())]);
        sum.add(&tail[..covered.saturating_sub(head.len())]);
        put_u16(header, 6, sum.nonzero_checksum());
    }
}

#[cfg(test)]
mod tests;
