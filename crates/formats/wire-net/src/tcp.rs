//! TCP segments (RFC 9293, section 3.1): a view over any bytes, legal values, options.
//!
//! [`TcpPacket::new`] checks that the fixed header is there and that the data offset makes sense;
//! afterwards no getter panics. Options are read in one of two ways: strictly, where one malformed
//! option refuses the segment, or leniently, where reading stops before it.

pub mod corruption;
pub mod data_check;
mod flags;
mod kinds;
mod options;

use arrayvec::ArrayVec;
use windfall_base::seq::Seq32;

pub use self::corruption::Packing;
pub use self::flags::TcpFlags;
pub use self::kinds::{CorruptionKinds, DataCheck, Notification};
pub use self::options::{
    FastOpenCookie, MAX_OPTIONS, MAX_SACK_BLOCKS, OptionBytes, OptionError, SackBlock, TcpOptions,
    Timestamps,
};
use crate::addresses::Addresses;
use crate::checksum::Sum;
use crate::error::WireError;
use crate::field::{put_u16, put_u32, u16_at, u32_at};
use crate::protocol::Protocol;

/// Length of the header without options, in bytes.
pub const HEADER_LEN: usize = 20;
/// The longest header, options included, in bytes.
pub const MAX_HEADER_LEN: usize = 60;
/// The offset of the sequence number in the header, in bytes.
pub const SEQ_AT: usize = 4;
/// The offset of the acknowledgment number, in bytes.
pub const ACK_AT: usize = 8;
/// The offset of the data offset, in the upper half of its byte; the lowest bit is a flag.
pub const DATA_OFFSET_AT: usize = 12;
/// The offset of the flags, in bytes.
pub const FLAGS_AT: usize = 13;
/// The offset of the window, in bytes.
pub const WINDOW_AT: usize = 14;
/// The offset of the checksum, in bytes.
pub const CHECKSUM_AT: usize = 16;

/// A header as it is written, options included.
pub type TcpHeaderBytes = ArrayVec<u8, MAX_HEADER_LEN>;

/// A view over a TCP segment, or over the beginning of one that holds the whole header.
#[derive(Clone, Copy, Debug)]
pub struct TcpPacket<'a> {
    bytes: &'a [u8],
}

impl<'a> TcpPacket<'a> {
    /// Creates a view, if the header is there.
    ///
    /// # Errors
    /// The bytes are shorter than the header, or the data offset points into the fixed header or
    /// beyond the bytes.
    pub fn new(bytes: &'a [u8]) -> Result<Self, WireError> {
        WireError::check_len("TCP", bytes, HEADER_LEN)?;
        let found = usize::from(bytes[DATA_OFFSET_AT] >> 4) * 4;
        if found < HEADER_LEN || found > bytes.len() {
            let most = bytes.len().min(MAX_HEADER_LEN);
            return Err(WireError::Length { header: "TCP", found, least: HEADER_LEN, most });
        }
        Ok(Self { bytes })
    }

    /// Returns the port of the sender.
    #[must_use]
    pub fn src_port(&self) -> u16 {
        u16_at(self.bytes, 0)
    }

    /// Returns the port of the receiver.
    #[must_use]
    pub fn dst_port(&self) -> u16 {
        u16_at(self.bytes, 2)
    }

    /// Returns the sequence number of the first byte of data, or of SYN.
    #[must_use]
    pub fn seq(&self) -> Seq32 {
        Seq32(u32_at(self.bytes, SEQ_AT))
    }

    /// Returns the next sequence number expected, where [`TcpFlags::ACK`] is set.
    #[must_use]
    pub fn ack(&self) -> Seq32 {
        Seq32(u32_at(self.bytes, ACK_AT))
    }

    /// Returns the header's length in bytes, 20..=60.
    #[must_use]
    pub fn header_len(&self) -> usize {
        usize::from(self.bytes[DATA_OFFSET_AT] >> 4) * 4
    }

    /// Returns the control bits.
    #[must_use]
    pub fn flags(&self) -> TcpFlags {
        TcpFlags::from_header(self.bytes[DATA_OFFSET_AT], self.bytes[FLAGS_AT])
    }

    /// Returns the receive window, unscaled.
    #[must_use]
    pub fn window(&self) -> u16 {
        u16_at(self.bytes, WINDOW_AT)
    }

    /// Returns the checksum as it stands in the header.
    #[must_use]
    pub fn checksum(&self) -> u16 {
        u16_at(self.bytes, CHECKSUM_AT)
    }

    /// Returns the urgent pointer, where [`TcpFlags::URG`] is set.
    #[must_use]
    pub fn urgent(&self) -> u16 {
        u16_at(self.bytes, 18)
    }

    /// Returns the option area, as many bytes as the data offset says.
    #[must_use]
    pub fn option_bytes(&self) -> &'a [u8] {
        &self.bytes[HEADER_LEN..self.header_len()]
    }

    /// Returns the header, options included.
    #[must_use]
    pub fn header(&self) -> &'a [u8] {
        &self.bytes[..self.header_len()]
    }

    /// Returns the data that the view holds.
    #[must_use]
    pub fn payload(&self) -> &'a [u8] {
        &self.bytes[self.header_len()..]
    }
}

/// Returns whether the checksum over a whole segment, in two slices, holds (RFC 9293, section 3.1).
#[must_use]
pub fn checksum_holds(addresses: &Addresses, segment: [&[u8]; 2]) -> bool {
    let len = segment[0].len() + segment[1].len();
    let mut sum = addresses.pseudo_header(Protocol::TCP, len as u32);
    sum.add(segment[0]);
    sum.add(segment[1]);
    sum.holds()
}

/// Writes the checksum over the pseudo header, `header` and `data` into `header`.
///
/// # Panics
/// If `header` is shorter than [`HEADER_LEN`].
pub fn fill_checksum(addresses: &Addresses, header: &mut [u8], data: &[u8]) {
    let len = header.len() + data.len();
    fill_checksum_with(addresses.pseudo_header(Protocol::TCP, len as u32), header, data);
}

/// As [`fill_checksum`], on top of the sum over a pseudo header.
pub fn fill_checksum_with(mut sum: Sum, header: &mut [u8], data: &[u8]) {
    put_u16(header, CHECKSUM_AT, 0);
    sum.add(header);
    sum.add(data);
    put_u16(header, CHECKSUM_AT, sum.checksum());
}

/// Writes `flags` into a header whose data offset stands already.
///
/// # Panics
/// If `header` is shorter than [`HEADER_LEN`].
pub fn put_flags(header: &mut [u8], flags: TcpFlags) {
    let [high, low] = flags.0.to_be_bytes();
    header[DATA_OFFSET_AT] = header[DATA_OFFSET_AT] & 0xf0 | high & 1;
    header[FLAGS_AT] = low;
}

/// The values of a TCP header.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TcpRepr {
    /// The port of the sender.
    pub src_port: u16,
    /// The port of the receiver.
    pub dst_port: u16,
    /// The sequence number of the first byte of data, or of SYN.
    pub seq: Seq32,
    /// The next sequence number expected; without [`TcpFlags::ACK`] it means nothing.
    pub ack: Seq32,
    /// The control bits.
    pub flags: TcpFlags,
    /// The receive window, unscaled.
    pub window: u16,
    /// The urgent pointer; without [`TcpFlags::URG`] it means nothing.
    pub urgent: u16,
    /// The options of the segment.
    pub options: TcpOptions,
}

impl TcpRepr {
    /// Reads a header; a malformed option refuses it.
    ///
    /// # Errors
    /// An option is malformed.
    pub fn parse(packet: &TcpPacket<'_>, kinds: &CorruptionKinds) -> Result<Self, OptionError> {
        let options = TcpOptions::parse(packet.option_bytes(), kinds)?;
        Ok(Self::with_options(packet, options))
    }

    /// Reads a header; reading of options stops before a malformed one.
    #[must_use]
    pub fn parse_lenient(packet: &TcpPacket<'_>, kinds: &CorruptionKinds) -> Self {
        let options = TcpOptions::parse_lenient(packet.option_bytes(), kinds);
        Self::with_options(packet, options)
    }

    fn with_options(packet: &TcpPacket<'_>, options: TcpOptions) -> Self {
        Self {
            src_port: packet.src_port(),
            dst_port: packet.dst_port(),
            seq: packet.seq(),
            ack: packet.ack(),
            flags: packet.flags(),
            window: packet.window(),
            urgent: packet.urgent(),
            options,
        }
    }

    /// Writes the header with a checksum of zero; [`fill_checksum`] puts the real one in.
    ///
    /// # Errors
    /// The options are longer than 40 bytes.
    pub fn emit(&self, kinds: &CorruptionKinds) -> Result<TcpHeaderBytes, WireError> {
        let options = self.options.emit(kinds)?;
        let mut header = TcpHeaderBytes::new();
        header.extend([0; HEADER_LEN]);
        put_u16(&mut header, 0, self.src_port);
        put_u16(&mut header, 2, self.dst_port);
        put_u32(&mut header, SEQ_AT, self.seq.0);
        put_u32(&mut header, ACK_AT, self.ack.0);
        header[DATA_OFFSET_AT] = ((HEADER_LEN + options.len()) << 2) as u8;
        put_flags(&mut header, self.flags);
        put_u16(&mut header, WINDOW_AT, self.window);
        put_u16(&mut header, 18, self.urgent);
        header.extend(options);
        Ok(header)
    }
}

#[cfg(test)]
mod tests;
