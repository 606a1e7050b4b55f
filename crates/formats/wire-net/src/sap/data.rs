//! Messages: the head of the body of [`SapKind::Data`](super::SapKind::Data), and the body of
//! [`SapKind::Repair`](super::SapKind::Repair).

use core::ops::Range;

use arrayvec::ArrayVec;
use bytes::{BufMut, Bytes, BytesMut};

use super::NAME;
use crate::error::WireError;
use crate::field::{u16_at, u32_at};

/// The most ranges that a message may name.
pub const MAX_SPANS: usize = 8;
/// Bytes of approximate data under one check.
pub const BLOCK: usize = 256;
/// The length of the head without spans, in bytes.
pub const FIXED_LEN: usize = 8;

/// A range of bytes of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// The offset of its first byte.
    pub start: u16,
    /// Its length in bytes.
    pub len: u16,
}

impl Span {
    /// Returns the range as numbers.
    #[must_use]
    pub fn range(self) -> Range<usize> {
        usize::from(self.start)..usize::from(self.start) + usize::from(self.len)
    }
}

/// The place of a part in a message that is longer than a datagram.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// The offset of its first byte.
    pub offset: u32,
    /// The length of the message in bytes.
    pub total: u32,
}

/// The length of a part's place in a head, in bytes.
const PART_LEN: usize = 8;

/// The head of a message's body.
///
/// | bytes | field |
/// |---|---|
/// | 0..2 | stream |
/// | 2 | number of spans, 8 at most |
/// | 3 | zero |
/// | 4..8 | number of the message among those of its stream and its kind |
/// | with the flag [`PART`](super::flags::PART) alone, 4 + 4 | offset of the part, length of the message |
/// | then, for each span, 2 + 2 | where it begins in the message or the part, its length |
///
/// In a message with spans their bytes are gathered at the front, where they are exact; the others
/// follow in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SapData {
    /// The stream of the message.
    pub stream: u16,
    /// The number of the message among those of its stream and its kind.
    pub number: u32,
    /// The place of the part; none if the message is in one datagram.
    pub part: Option<Part>,
    /// The ranges that are gathered at the front; none if the message stands as it is.
    pub spans: ArrayVec<Span, MAX_SPANS>,
}

/// The longest head, in bytes.
pub const MAX_HEAD: usize = FIXED_LEN + PART_LEN + 4 * MAX_SPANS;

impl SapData {
    /// Its length, in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        FIXED_LEN + self.part.map_or(0, |_| PART_LEN) + 4 * self.spans.len()
    }

    /// Returns whether it names no spans.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// Reads the head at the front of `body`, of a datagram with these [`flags`](super::flags).
    ///
    /// # Errors
    /// If it is shorter than it says, or names more spans than it may.
    pub fn parse(body: &[u8], flags: u8) -> Result<Self, WireError> {
        WireError::check_len(NAME, body, FIXED_LEN)?;
        let count = usize::from(body[2]);
        if count > MAX_SPANS {
            let found = count as u32;
            return Err(WireError::Illegal { header: NAME, field: "number of spans", found });
        }
        let in_parts = flags & super::flags::PART != 0;
        let first = FIXED_LEN + if in_parts { PART_LEN } else { 0 };
        WireError::check_len(NAME, body, first + 4 * count)?;
        let read_span = |index: usize| {
            let at = first + 4 * index;
            Span { start: u16_at(body, at), len: u16_at(body, at + 2) }
        };
        let read_part = || Part { offset: u32_at(body, 8), total: u32_at(body, 12) };
        Ok(Self {
            stream: u16_at(body, 0),
            number: u32_at(body, 4),
            part: in_parts.then(read_part),
            spans: (0..count).map(read_span).collect(),
        })
    }

    /// Writes the head.
    #[must_use]
    pub fn emit(&self) -> ArrayVec<u8, MAX_HEAD> {
        let mut head = ArrayVec::new();
        let mut put = |bytes: &[u8]| head.extend(bytes.iter().copied());
        put(&self.stream.to_be_bytes());
        put(&[self.spans.len() as u8, 0]);
        put(&self.number.to_be_bytes());
        if let Some(part) = self.part {
            put(&part.offset.to_be_bytes());
            put(&part.total.to_be_bytes());
        }
        for span in &self.spans {
            put(&span.start.to_be_bytes());
            put(&span.len.to_be_bytes());
        }
        head
    }
}

/// Returns the check of a block of approximate data: the low half of its CRC-32C.
#[must_use]
pub fn block_check(block: &[u8]) -> u16 {
    crc32c::crc32c(block) as u16
}

/// A request for parts of a message: the same head, whose spans are the missing ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SapRepair(pub SapData);

impl SapRepair {
    /// Reads the body.
    ///
    /// # Errors
    /// As [`SapData::parse`].
    pub fn parse(body: &[u8], flags: u8) -> Result<Self, WireError> {
        SapData::parse(body, flags).map(Self)
    }

    /// Writes the body.
    #[must_use]
    pub fn emit(&self) -> Bytes {
        let mut body = BytesMut::new();
        body.put_slice(&self.0.emit());
        body.freeze()
    }
}
