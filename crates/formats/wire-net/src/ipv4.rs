//! IPv4 headers (RFC 791), options and fragments included.

use core::net::Ipv4Addr;

use arrayvec::ArrayVec;

use crate::addresses::Addresses;
use crate::checksum;
use crate::ecn::Ecn;
use crate::error::WireError;
use crate::field::{array_at, put_u16, u16_at};
use crate::protocol::Protocol;

/// The length of a header without options, in bytes.
pub const HEADER_LEN: usize = 20;
/// The longest header, in bytes.
pub const MAX_HEADER_LEN: usize = 60;
/// The longest packet, header included, in bytes.
pub const MAX_LEN: usize = 65_535;
/// The least MTU of a link that carries IPv4, in bytes (RFC 791, section 3.2).
pub const MIN_MTU: usize = 68;

const NAME: &str = "IPv4";
const DONT_FRAGMENT: u16 = 0x4000;
const MORE_FRAGMENTS: u16 = 0x2000;
const OFFSET: u16 = 0x1fff;

/// A view over a packet whose header is there in full and whose lengths do not contradict it.
#[derive(Clone, Copy, Debug)]
pub struct Ipv4Packet<'a> {
    bytes: &'a [u8],
}

impl<'a> Ipv4Packet<'a> {
    /// Looks at `bytes`, a packet or the beginning of one; bytes beyond its length are ignored.
    ///
    /// The header checksum is not looked at: see [`Ipv4Packet::checksum_holds`].
    ///
    /// # Errors
    /// If the header is not there in full, is not IPv4, or contradicts itself.
    pub fn new(bytes: &'a [u8]) -> Result<Self, WireError> {
        WireError::check_len(NAME, bytes, HEADER_LEN)?;
        let packet = Self { bytes };
        let version = bytes[0] >> 4;
        if version != 4 {
            return Err(WireError::Version { header: NAME, expected: 4, found: version });
        }
        let header = packet.header_len();
        if header < HEADER_LEN {
            return Err(WireError::Length {
                header: NAME,
                found: header,
                least: HEADER_LEN,
                most: MAX_HEADER_LEN,
            });
        }
        WireError::check_len(NAME, bytes, header)?;
        let found = packet.total_len();
        if found < header {
            return Err(WireError::Length { header: NAME, found, least: header, most: MAX_LEN });
        }
        Ok(packet)
    }

    /// Returns the length of the header with its options, in bytes.
    #[must_use]
    pub fn header_len(&self) -> usize {
        usize::from(self.bytes[0] & 0x0f) * 4
    }

    /// Returns the type of service, called differentiated services and ECN today.
    #[must_use]
    pub fn tos(&self) -> u8 {
        self.bytes[1]
    }

    /// Returns the length of the whole packet as its header states it, in bytes.
    #[must_use]
    pub fn total_len(&self) -> usize {
        usize::from(u16_at(self.bytes, 2))
    }

    /// Returns the name that the fragments of one packet share.
    #[must_use]
    pub fn identification(&self) -> u16 {
        u16_at(self.bytes, 4)
    }

    /// Returns whether fragmentation is forbidden.
    #[must_use]
    pub fn dont_fragment(&self) -> bool {
        u16_at(self.bytes, 6) & DONT_FRAGMENT != 0
    }

    /// Returns whether more fragments follow.
    #[must_use]
    pub fn more_fragments(&self) -> bool {
        u16_at(self.bytes, 6) & MORE_FRAGMENTS != 0
    }

    /// Returns the offset of this fragment's data in the data of the whole packet, in bytes.
    #[must_use]
    pub fn fragment_offset(&self) -> usize {
        usize::from(u16_at(self.bytes, 6) & OFFSET) * 8
    }

    /// Returns whether this is one of several fragments.
    #[must_use]
    pub fn is_fragment(&self) -> bool {
        u16_at(self.bytes, 6) & (MORE_FRAGMENTS | OFFSET) != 0
    }

    /// Returns the remaining hop limit.
    #[must_use]
    pub fn hop_limit(&self) -> u8 {
        self.bytes[8]
    }

    /// Returns the protocol of the payload.
    #[must_use]
    pub fn protocol(&self) -> Protocol {
        Protocol(self.bytes[9])
    }

    /// Returns the source address.
    #[must_use]
    pub fn src(&self) -> Ipv4Addr {
        Ipv4Addr::from(array_at(self.bytes, 12))
    }

    /// Returns the destination address.
    #[must_use]
    pub fn dst(&self) -> Ipv4Addr {
        Ipv4Addr::from(array_at(self.bytes, 16))
    }

    /// Returns the source and destination addresses.
    #[must_use]
    pub fn addresses(&self) -> Addresses {
        Addresses::V4 { src: self.src(), dst: self.dst() }
    }

    /// Returns whether the header's checksum holds (S0.71).
    #[must_use]
    pub fn checksum_holds(&self) -> bool {
        checksum::checksum(self.header()) == 0
    }

    /// Returns the header with its options.
    #[must_use]
    pub fn header(&self) -> &'a [u8] {
        &self.bytes[..self.header_len()]
    }

    /// Returns the options as they stand in the header.
    #[must_use]
    pub fn options(&self) -> &'a [u8] {
        &self.header()[HEADER_LEN..]
    }

    /// Returns the data after the header: as many as the header states, or fewer if fewer are
    /// there.
    #[must_use]
    pub fn payload(&self) -> &'a [u8] {
        let end = self.total_len().min(self.bytes.len());
        &self.bytes[self.header_len()..end]
    }

    /// Returns the number of bytes that the header states and that are not there.
    #[must_use]
    pub fn missing(&self) -> usize {
        self.total_len().saturating_sub(self.bytes.len())
    }
}

/// The options of a header: whole, padded to a multiple of four, 40 bytes at most.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ipv4Options(ArrayVec<u8, { MAX_HEADER_LEN - HEADER_LEN }>);

impl Ipv4Options {
    /// Creates the options in `bytes`, padded with "end of options"; `None` if they do not fit or
    /// are not well formed (RFC 791, section 3.1).
    #[must_use]
    pub fn new(bytes: &[u8]) -> Option<Self> {
        let mut options = ArrayVec::new();
        options.try_extend_from_slice(bytes).ok()?;
        while options.len() % 4 != 0 {
            options.push(0);
        }
        well_formed(&options).then_some(Self(options))
    }

    /// Returns the bytes, padding included.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns the options that every fragment must carry: those whose "copied" bit is set.
    #[must_use]
    pub fn copied(&self) -> Self {
        let mut bytes = ArrayVec::<u8, { MAX_HEADER_LEN - HEADER_LEN }>::new();
        for option in each_option(&self.0) {
            if option[0] & 0x80 != 0 {
                bytes.extend(option.iter().copied());
            }
        }
        Self::new(&bytes).unwrap_or_default()
    }
}

/// Returns the options in `bytes` in order, up to the end or the first malformed one.
fn each_option(mut bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    core::iter::from_fn(move || {
        let len = match *bytes.first()? {
            0 => return None,
            1 => 1,
            _ => usize::from(*bytes.get(1)?).max(2),
        };
        let (option, rest) = bytes.split_at_checked(len)?;
        bytes = rest;
        Some(option)
    })
}

/// Returns whether well-formed options fill `bytes` up to their end or an "end of options".
fn well_formed(bytes: &[u8]) -> bool {
    let mut at = 0;
    while let Some(&kind) = bytes.get(at) {
        at += match kind {
            0 => return true,
            1 => 1,
            _ => match bytes.get(at + 1) {
                Some(&len) if len >= 2 => usize::from(len),
                _ => return false,
            },
        };
    }
    at == bytes.len()
}

/// The place of a fragment in its packet; only legal offsets can be expressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fragment {
    units: u16,
    more: bool,
}

impl Fragment {
    /// A packet in one piece.
    pub const WHOLE: Self = Self { units: 0, more: false };

    /// Creates the fragment that begins `offset` bytes into the data; `None` unless a multiple of 8
    /// below 65536.
    #[must_use]
    pub const fn new(offset: usize, more: bool) -> Option<Self> {
        if offset.is_multiple_of(8) && offset <= 65_528 {
            Some(Self { units: (offset / 8) as u16, more })
        } else {
            None
        }
    }

    /// Returns the offset of its data, in bytes.
    #[must_use]
    pub const fn offset(&self) -> usize {
        self.units as usize * 8
    }

    /// Returns whether more fragments follow.
    #[must_use]
    pub const fn more(&self) -> bool {
        self.more
    }
}

/// A header of legal values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ipv4Repr {
    /// The source address.
    pub src: Ipv4Addr,
    /// The destination address.
    pub dst: Ipv4Addr,
    /// The protocol of the payload.
    pub protocol: Protocol,
    /// The number of routers that it may pass.
    pub hop_limit: u8,
    /// The type of service.
    pub tos: u8,
    /// The name that its fragments share.
    pub identification: u16,
    /// Fragmentation is forbidden.
    pub dont_fragment: bool,
    /// Which fragment it is.
    pub fragment: Fragment,
    options: Ipv4Options,
    payload_len: u16,
}

impl Ipv4Repr {
    /// Creates a header without options for `payload_len` bytes of data, in one piece, hop limit
    /// 64.
    ///
    /// # Errors
    /// If the packet would be longer than [`MAX_LEN`].
    pub fn new(
        src: Ipv4Addr,
        dst: Ipv4Addr,
        protocol: Protocol,
        payload_len: usize,
    ) -> Result<Self, WireError> {
        Ok(Self {
            src,
            dst,
            protocol,
            hop_limit: 64,
            tos: 0,
            identification: 0,
            dont_fragment: false,
            fragment: Fragment::WHOLE,
            options: Ipv4Options::default(),
            payload_len: checked_len(HEADER_LEN, payload_len)?,
        })
    }

    /// Returns the header of `packet`, checksum and reserved bit aside.
    ///
    /// # Errors
    /// If its options are not well formed.
    pub fn parse(packet: &Ipv4Packet<'_>) -> Result<Self, WireError> {
        let payload_len = packet.total_len() - packet.header_len();
        let options = Ipv4Options::new(packet.options()).ok_or(WireError::Illegal {
            header: NAME,
            field: "first option",
            found: packet.options().first().copied().unwrap_or(0).into(),
        })?;
        let fragment = Fragment::new(packet.fragment_offset(), packet.more_fragments());
        let repr = Self {
            hop_limit: packet.hop_limit(),
            tos: packet.tos(),
            identification: packet.identification(),
            dont_fragment: packet.dont_fragment(),
            fragment: fragment.unwrap_or_default(),
            ..Self::new(packet.src(), packet.dst(), packet.protocol(), payload_len)?
        };
        repr.with_options(options)
    }

    /// Returns the same header with `options` instead of its own.
    ///
    /// # Errors
    /// If the packet would be longer than [`MAX_LEN`].
    pub fn with_options(mut self, options: Ipv4Options) -> Result<Self, WireError> {
        self.options = options;
        checked_len(self.header_len(), self.payload_len())?;
        Ok(self)
    }

    /// Returns the same header for `payload_len` bytes of data.
    ///
    /// # Errors
    /// If the packet would be longer than [`MAX_LEN`].
    pub fn with_payload_len(mut self, payload_len: usize) -> Result<Self, WireError> {
        self.payload_len = checked_len(self.header_len(), payload_len)?;
        Ok(self)
    }

    /// Returns the options of the header.
    #[must_use]
    pub fn options(&self) -> &Ipv4Options {
        &self.options
    }

    /// Returns the length of the header with its options, in bytes.
    #[must_use]
    pub fn header_len(&self) -> usize {
        HEADER_LEN + self.options.0.len()
    }

    /// Returns the length of the data, in bytes.
    #[must_use]
    pub fn payload_len(&self) -> usize {
        usize::from(self.payload_len)
    }

    /// Returns the source and destination addresses.
    #[must_use]
    pub fn addresses(&self) -> Addresses {
        Addresses::V4 { src: self.src, dst: self.dst }
    }

    /// Writes the header, checksum included, to the beginning of `buffer`.
    ///
    /// # Panics
    /// If `buffer` is shorter than [`Ipv4Repr::header_len`].
    pub fn emit(&self, buffer: &mut [u8]) {
        let header = &mut buffer[..self.header_len()];
        header[0] = 0x40 | (header.len() / 4) as u8;
        header[1] = self.tos;
        put_u16(header, 2, header.len() as u16 + self.payload_len);
        put_u16(header, 4, self.identification);
        let dont_fragment = if self.dont_fragment { DONT_FRAGMENT } else { 0 };
        let more = if self.fragment.more { MORE_FRAGMENTS } else { 0 };
        put_u16(header, 6, dont_fragment | more | self.fragment.units);
        header[8] = self.hop_limit;
        header[9] = self.protocol.0;
        put_u16(header, 10, 0);
        header[12..16].copy_from_slice(&self.src.octets());
        header[16..20].copy_from_slice(&self.dst.octets());
        header[20..].copy_from_slice(&self.options.0);
        let checksum = checksum::checksum(header);
        put_u16(header, 10, checksum);
    }
}

/// Adds up the total length, if header and data fit into one packet.
fn checked_len(header: usize, payload: usize) -> Result<u16, WireError> {
    let most = MAX_LEN - header;
    if payload > most {
        return Err(WireError::TooLong { header: NAME, len: payload, most });
    }
    Ok(payload as u16)
}

/// Takes one hop from the hop limit in a header and puts its checksum right (RFC 1624).
///
/// Returns the hop limit that is left; `None`, and nothing changed, if it was zero already.
///
/// # Panics
/// If `header` is shorter than [`HEADER_LEN`].
pub fn take_hop(header: &mut [u8]) -> Option<u8> {
    let left = header[8].checked_sub(1)?;
    let old = u16_at(header, 8);
    header[8] = left;
    let checksum = checksum::update(u16_at(header, 10), old, u16_at(header, 8));
    put_u16(header, 10, checksum);
    Some(left)
}

/// Marks the packet of a header as having met congestion and puts its checksum right (RFC 1624);
/// false, and nothing changed, if it is not ECN-capable or marked already.
///
/// # Panics
/// If `header` is shorter than [`HEADER_LEN`].
pub fn mark(header: &mut [u8]) -> bool {
    if !Ecn::from_bits(header[1]).can_be_marked() {
        return false;
    }
    let old = u16_at(header, 0);
    header[1] |= Ecn::Congested.bits();
    let checksum = checksum::update(u16_at(header, 10), old, u16_at(header, 0));
    put_u16(header, 10, checksum);
    true
}

#[cfg(test)]
mod tests;
