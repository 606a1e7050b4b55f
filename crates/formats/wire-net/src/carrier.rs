//! UDP-Lite inside UDP: the carrier of programs that may open no raw socket.
//!
//! The outer UDP header keeps the ports and has a checksum of zero, so that no layer below refuses
//! damaged data. Behind it stand eight bytes, then the data:
//!
//! | bytes | field |
//! |---|---|
//! | 0..4 | mark, [`PARTIAL`], [`UNBOUND`] or [`WHOLE`] |
//! | 4..6 | coverage, as in the UDP-Lite header that this one stands for |
//! | 6..8 | checksum, the one that this UDP-Lite header would have |
//!
//! So a datagram of protocol 136 and its carried form turn into each other without any memory, and
//! the coverage counts as RFC 3828 counts it: 8 means the header, `8 + n` the first `n` bytes of
//! data too. The checksum covers the addresses, the ports and the length of the datagram that it
//! stands for, which a zero UDP checksum leaves open to damage (RFC 6936, section 4). A translator
//! that rewrites addresses breaks it, as it breaks UDP-Lite.
//!
//! [`UNBOUND`] is for what crosses such a translator and names its connection itself: the checksum
//! is the one for addresses and ports of zero.
//!
//! [`WHOLE`] is for exact bulk data: the outer checksum is a real one that covers everything, so
//! that segmentation offload works, and coverage and checksum inside are zero. Two marks differ in
//! 16 bits or more; damage does not turn one into another.

use core::net::Ipv4Addr;

use crate::addresses::Addresses;
use crate::error::WireError;
use crate::field::{put_u16, u16_at};
use crate::protocol::Protocol;
use crate::udplite::{self, Coverage, UdpLitePacket, UdpLiteRepr};

/// The length of the carrier's header, which stands between the UDP header and the data, in bytes.
pub const HEADER_LEN: usize = 8;
/// The mark of a datagram with its partial checksum inside.
pub const PARTIAL: [u8; 4] = [0x57, 0x4c, 0x54, 0xe1];
/// The mark of a datagram whose partial checksum covers neither addresses nor ports.
pub const UNBOUND: [u8; 4] = [0x58, 0x43, 0x5b, 0xee];
/// The mark of a datagram that the outer UDP checksum covers.
pub const WHOLE: [u8; 4] = [0xa8, 0xb3, 0xab, 0x1e];

const NAME: &str = "UDP-Lite in UDP";
/// The addresses and ports that the checksum of an unbound datagram counts.
const NOWHERE: Addresses = Addresses::V4 { src: Ipv4Addr::UNSPECIFIED, dst: Ipv4Addr::UNSPECIFIED };
const NO_PORTS: Ports = Ports { src: 0, dst: 0 };

/// Source and destination port, as the outer UDP header states them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ports {
    /// The source port.
    pub src: u16,
    /// The destination port.
    pub dst: u16,
}

/// A view over what UDP carries, with a legal mark and a legal coverage.
#[derive(Clone, Copy, Debug)]
pub struct CarrierPacket<'a> {
    bytes: &'a [u8],
    len: usize,
    whole: bool,
    unbound: bool,
}

impl<'a> CarrierPacket<'a> {
    /// Looks at `bytes`, the payload of a UDP datagram of which all is there.
    ///
    /// # Errors
    /// As [`CarrierPacket::truncated`].
    pub fn new(bytes: &'a [u8]) -> Result<Self, WireError> {
        Self::truncated(bytes, bytes.len())
    }

    /// Looks at `bytes`, the beginning of a UDP payload of `len` bytes.
    ///
    /// # Errors
    /// If the eight bytes are not there in full, the mark is another, or coverage and checksum are
    /// not what [`UdpLitePacket::new`] takes; for a whole one, if they are not zero.
    pub fn truncated(bytes: &'a [u8], len: usize) -> Result<Self, WireError> {
        WireError::check_len(NAME, bytes, HEADER_LEN)?;
        let len = len.max(bytes.len());
        let whole = bytes[..4] == WHOLE;
        let unbound = bytes[..4] == UNBOUND;
        if whole {
            let refuse = |field, found: u16| {
                Err(WireError::Illegal { header: NAME, field, found: found.into() })
            };
            match (u16_at(bytes, 4), u16_at(bytes, 6)) {
                (0, 0) => {}
                (0, found) => return refuse("checksum", found),
                (found, _) => return refuse("coverage", found),
            }
        } else if unbound || bytes[..4] == PARTIAL {
            // The last four bytes mean the same in both headers, and the lengths agree.
            UdpLitePacket::truncated(bytes, len)?;
        } else {
            let found = u32::from(u16_at(bytes, 0));
            return Err(WireError::Illegal { header: NAME, field: "mark", found });
        }
        Ok(Self { bytes, len, whole, unbound })
    }

    /// Returns whether the outer UDP checksum covers everything, and no inner checksum exists.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.whole
    }

    /// Returns whether the inner checksum covers neither addresses nor ports.
    #[must_use]
    pub fn is_unbound(&self) -> bool {
        self.unbound
    }

    /// Returns the coverage of the checksum, the inner or the outer one.
    #[must_use]
    pub fn coverage(&self) -> Coverage {
        Coverage::from_field(u16_at(self.bytes, 4)).unwrap_or_default()
    }

    /// Returns whether some data are covered by no checksum, and so may arrive damaged.
    #[must_use]
    pub fn is_partly_covered(&self) -> bool {
        self.coverage().bytes_of(self.len) < self.len
    }

    /// Returns whether the inner checksum holds over what it covers; `false` if some of that is
    /// missing.
    ///
    /// A whole datagram has none inside: the outer one must have held for it to arrive at all.
    #[must_use]
    pub fn checksum_holds(&self, addresses: &Addresses, ports: Ports) -> bool {
        if self.whole {
            return true;
        }
        let covered = self.coverage().bytes_of(self.len);
        let Some(data) = self.bytes.get(HEADER_LEN..covered) else { return false };
        let (addresses, ports) =
            if self.unbound { (&NOWHERE, NO_PORTS) } else { (addresses, ports) };
        let mut sum = addresses.pseudo_header(Protocol::UDP_LITE, self.len as u32);
        sum.add(&ports.src.to_be_bytes());
        sum.add(&ports.dst.to_be_bytes());
        sum.add(&self.bytes[4..HEADER_LEN]);
        sum.add(data);
        sum.holds()
    }

    /// Returns the data that are there, covered or not.
    #[must_use]
    pub fn payload(&self) -> &'a [u8] {
        &self.bytes[HEADER_LEN..]
    }
}

//= S0.3
/// Writes the eight bytes for `data`, whose slices follow each other, to the front of `buffer`.
///
/// A coverage beyond the end is written as full.
///
/// # Panics
/// If `buffer` is shorter than [`HEADER_LEN`].
pub fn emit(
    buffer: &mut [u8],
    addresses: &Addresses,
    ports: Ports,
    coverage: Coverage,
    data: [&[u8]; 2],
) {
    let mut lite = [0; udplite::HEADER_LEN];
    let repr = UdpLiteRepr { src_port: ports.src, dst_port: ports.dst, coverage };
    repr.emit_parts(&mut lite, addresses, data);
    buffer[..4].copy_from_slice(&PARTIAL);
    buffer[4..HEADER_LEN].copy_from_slice(&lite[4..]);
}

/// Writes the eight bytes for `data` to the front of `buffer` as [`emit`] does, but so that
/// addresses and ports may change on the way.
///
/// # Panics
/// As [`emit`].
pub fn emit_unbound(buffer: &mut [u8], coverage: Coverage, data: [&[u8]; 2]) {
    emit(buffer, &NOWHERE, NO_PORTS, coverage, data);
    buffer[..4].copy_from_slice(&UNBOUND);
}

/// Writes the eight bytes of a datagram that the outer UDP checksum covers.
///
/// # Panics
/// If `buffer` is shorter than [`HEADER_LEN`].
pub fn emit_whole(buffer: &mut [u8]) {
    buffer[..4].copy_from_slice(&WHOLE);
    put_u16(buffer, 4, 0);
    put_u16(buffer, 6, 0);
}

#[cfg(test)]
mod tests;
