//! SAP datagrams (docs/reference/sap.md): a header that is always exact, then a body whose first
//! bytes are.
//!
//! | bytes | field |
//! |---|---|
//! | 0 | version in the upper four bits, [`SapKind`] in the lower |
//! | 1 | flags |
//! | 2..4 | number of exact bytes of the body |
//! | 4..8 | connection id of the receiver; 0 where there is none yet |
//! | 8..12 | packet number, its low 32 bits |
//! | 12..16 | CRC-32C of the exact bytes of the body |
//! | 16..20 | CRC-32C of bytes 0..16 |
//!
//! The checksum of UDP-Lite covers the same bytes, but it misses one in 32 pairs of bit errors. The
//! CRC in two parts lets a receiver believe the header of a datagram whose body is damaged, and
//! tell its sender which one to retransmit.

use bytes::Bytes;

use crate::error::WireError;
use crate::field::{put_u16, put_u32, u16_at, u32_at};

pub mod ack;
pub mod data;
mod handshake;

pub use ack::SapAck;
pub use data::{Part, SapData, SapRepair, Span};
pub use handshake::{MAX_HANDSHAKE, MAX_TOKEN, SapAccept, SapPing};

/// The version of the protocol that this module writes.
pub const VERSION: u8 = 1;
/// The length of the header, in bytes.
pub const HEADER_LEN: usize = 20;

const NAME: &str = "SAP";

/// The kinds of datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum SapKind {
    /// Asks for a connection.
    Ping = 1,
    /// Acknowledges a ping: the connection stands.
    Accept = 2,
    /// Answers a ping with a token that must come back, which proves the sender's address.
    Retry = 3,
    /// Answers a ping with no.
    Refuse = 4,
    /// Carries a message, or the repaired part of one.
    Data = 5,
    /// Says which packets have arrived.
    Ack = 6,
    /// Asks for ranges of an approximate message again.
    Repair = 7,
    /// Asks for nothing but an acknowledgement: keeps alive, and tries the size of the path.
    Probe = 8,
    /// Ends one direction.
    Fin = 9,
    /// Ends the connection at once.
    Reset = 10,
    /// Asks whether its receiver has the address that it was sent to.
    Challenge = 11,
    /// Answers a challenge.
    Response = 12,
}

impl SapKind {
    const ALL: [Self; 12] = [
        Self::Ping,
        Self::Accept,
        Self::Retry,
        Self::Refuse,
        Self::Data,
        Self::Ack,
        Self::Repair,
        Self::Probe,
        Self::Fin,
        Self::Reset,
        Self::Challenge,
        Self::Response,
    ];

    fn from_bits(bits: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| *kind as u8 == bits)
    }
}

/// The flags of a header.
pub mod flags {
    /// Data: delivered at once, never retransmitted.
    pub const APPROXIMATE: u8 = 1;
    /// Data: ranges of a message that was sent before.
    pub const REPAIRED: u8 = 2;
    /// Data: checks of the approximate blocks stand in the exact part.
    pub const CHECKED: u8 = 4;
    /// The body is encrypted.
    pub const SEALED: u8 = 8;
    /// Data: the sender wants word at once, since its window is full or this is its last message.
    pub const URGENT: u8 = 16;
    /// Data, and a request for repair: the head holds the place of a part in a longer message.
    pub const PART: u8 = 32;
    /// Data: approximate, and sent before, since its sender believes that it was lost.
    pub const AGAIN: u8 = 64;
}

/// Abilities of an end, in the ping and the accept; an end that predates them writes 0.
pub mod features {
    /// Messages in parts.
    pub const PARTS: u8 = 1;
}

/// The reasons why a ping is refused, or a connection reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Reason {
    /// The peer has closed.
    Closed = 0,
    /// The peer speaks another version.
    Version = 1,
    /// The peer has as many connections as it allows.
    Busy = 2,
    /// The keys do not agree.
    Key = 3,
    /// No listener accepts connections at this port.
    NotListening = 4,
    /// The receiver of this reset has broken the protocol.
    Violation = 5,
    /// The receiver of this reset has opened more streams than the peer accepts.
    StreamLimit = 6,
}

impl Reason {
    /// Returns the reason with this number; unknown ones count as [`Reason::Closed`].
    #[must_use]
    pub const fn from_byte(byte: u8) -> Self {
        match byte {
            1 => Self::Version,
            2 => Self::Busy,
            3 => Self::Key,
            4 => Self::NotListening,
            5 => Self::Violation,
            6 => Self::StreamLimit,
            _ => Self::Closed,
        }
    }
}

/// A header of legal values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SapHeader {
    /// The kind of the datagram.
    pub kind: SapKind,
    /// A combination of [`flags`].
    pub flags: u8,
    /// The number of exact bytes of the body.
    pub exact: u16,
    /// Connection id of the receiver.
    pub connection: u32,
    /// The low 32 bits of the packet number.
    pub number: u32,
}

/// A datagram whose header is intact.
#[derive(Clone, Debug)]
pub struct SapPacket {
    /// The header of the datagram.
    pub header: SapHeader,
    /// Set if the exact bytes of the body are intact too.
    pub intact: bool,
    /// The bytes after the header.
    pub body: Bytes,
}

impl SapPacket {
    /// Reads a datagram.
    ///
    /// # Errors
    /// If it is too short, its header is damaged, or of another version or an unknown kind.
    pub fn parse(bytes: &Bytes) -> Result<Self, WireError> {
        WireError::check_len(NAME, bytes, HEADER_LEN)?;
        let found = u32_at(bytes, 16);
        if found != crc32c::crc32c(&bytes[..16]) {
            return Err(WireError::Illegal { header: NAME, field: "header check", found });
        }
        let version = bytes[0] >> 4;
        if version != VERSION {
            return Err(WireError::Version { header: NAME, expected: VERSION, found: version });
        }
        let Some(kind) = SapKind::from_bits(bytes[0] & 15) else {
            let found = u32::from(bytes[0] & 15);
            return Err(WireError::Illegal { header: NAME, field: "kind", found });
        };
        let exact = u16_at(bytes, 2);
        let body = bytes.slice(HEADER_LEN..);
        let check = u32_at(bytes, 12);
        let intact = body.get(..exact.into()).is_some_and(|part| crc32c::crc32c(part) == check);
        let connection = u32_at(bytes, 4);
        let number = u32_at(bytes, 8);
        Ok(Self {
            header: SapHeader { kind, flags: bytes[1], exact, connection, number },
            intact,
            body,
        })
    }
}

impl SapPacket {
    /// Returns the exact bytes of the body, or what is there of them.
    #[must_use]
    pub fn exact(&self) -> Bytes {
        self.body.slice(..self.body.len().min(self.header.exact.into()))
    }
}

/// Returns the CRC-32C of two slices in a row.
fn check_of(slices: [&[u8]; 2]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(slices[0]), slices[1])
}

impl SapHeader {
    /// Writes the header for a body whose exact bytes are the slices of `exact` in a row.
    ///
    /// # Panics
    /// If the slices are longer together than 65535 bytes.
    #[must_use]
    pub fn emit(&self, exact: [&[u8]; 2]) -> [u8; HEADER_LEN] {
        let len = exact[0].len() + exact[1].len();
        let mut bytes = [0; HEADER_LEN];
        bytes[0] = VERSION << 4 | self.kind as u8;
        bytes[1] = self.flags;
        put_u16(&mut bytes, 2, u16::try_from(len).expect("no datagram is longer"));
        put_u32(&mut bytes, 4, self.connection);
        put_u32(&mut bytes, 8, self.number);
        put_u32(&mut bytes, 12, check_of(exact));
        let check = crc32c::crc32c(&bytes[..16]);
        put_u32(&mut bytes, 16, check);
        bytes
    }
}

#[cfg(test)]
mod tests;
