//! The bytes of a packet that bit errors can hit.

use core::fmt;
use core::ops::Range;
use core::str::FromStr;

use windfall_base::{Frame, ParseUnitError};
use windfall_wire_net::transport;

/// The word for the data behind the headers of a packet.
const PAYLOAD: &str = "payload";

/// Bytes of a packet, first to last but one, counted from 0: `0..40`, `28..`, `payload 12..`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ByteRange {
    /// The byte that is counted as 0.
    pub origin: RangeOrigin,
    /// The bytes; [`u32::MAX`] ends a range that has no end.
    pub bytes: Range<u32>,
}

/// The byte of a packet that is counted as 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RangeOrigin {
    /// The first byte of the IP header.
    Packet,
    /// The first byte behind the headers of IP and of UDP, UDP-Lite, TCP or ICMP.
    Payload,
}

impl ByteRange {
    /// All that follows the headers.
    pub const PAYLOAD: Self = Self { origin: RangeOrigin::Payload, bytes: 0..u32::MAX };

    /// Bytes that are counted from the beginning of the packet.
    #[must_use]
    pub const fn of_packet(bytes: Range<u32>) -> Self {
        Self { origin: RangeOrigin::Packet, bytes }
    }

    /// Returns the bits of the payload of `frame` that it names, and those of headers that it
    /// spares whatever the error model.
    ///
    /// A frame whose headers cannot be read, such as a repair of some packets, has none.
    pub(super) fn bits_of(&self, frame: &Frame) -> BitRange {
        let len = frame.payload.len() as u32;
        let headers = match self.origin {
            RangeOrigin::Packet => 0,
            RangeOrigin::Payload => transport::data_offset(&frame.payload).unwrap_or(0) as u32,
        };
        let end = headers.saturating_add(self.bytes.end).min(len);
        let start = headers.saturating_add(self.bytes.start).min(end);
        BitRange { open: start * 8..end * 8, headers: headers * 8 }
    }
}

/// The bits of a payload that may be hit.
pub(super) struct BitRange {
    pub(super) open: Range<u32>,
    /// The number of bits at the beginning that belong to headers and are spared.
    pub(super) headers: u32,
}

impl fmt::Display for ByteRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::PAYLOAD {
            return f.write_str(PAYLOAD);
        }
        if self.origin == RangeOrigin::Payload {
            write!(f, "{PAYLOAD} ")?;
        }
        match self.bytes.end {
            u32::MAX => write!(f, "{}..", self.bytes.start),
            end => write!(f, "{}..{end}", self.bytes.start),
        }
    }
}

impl FromStr for ByteRange {
    type Err = ParseUnitError;

    fn from_str(text: &str) -> Result<Self, ParseUnitError> {
        let text = text.trim();
        let (origin, bytes) = match text.strip_prefix(PAYLOAD) {
            Some("") => return Ok(Self::PAYLOAD),
            Some(bytes) => (RangeOrigin::Payload, bytes),
            None => (RangeOrigin::Packet, text),
        };
        let number = |text: &str, unset: u32| match text.trim() {
            "" => Some(unset),
            digits => digits.parse().ok(),
        };
        let range = bytes.split_once("..").and_then(|(start, end)| {
            let range = number(start, 0)?..number(end, u32::MAX)?;
            (range.start < range.end).then_some(range)
        });
        range.map(|bytes| Self { origin, bytes }).ok_or_else(|| {
            let fix = "write the first byte and the first byte after it, such as 28..1500 or 28.., \
                       or payload for what follows the headers, or payload 12..";
            ParseUnitError::new("range of bytes", text, fix)
        })
    }
}

#[cfg(test)]
mod tests;
