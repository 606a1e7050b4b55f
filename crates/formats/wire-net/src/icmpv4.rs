//! ICMP for IPv4 (RFC 792, 1122, 1191).

use crate::checksum;
use crate::error::WireError;
use crate::field::{put_u16, u16_at};

/// The length of every header treated here, in bytes.
pub const HEADER_LEN: usize = 8;

const NAME: &str = "ICMP";

/// A view over a message whose header is there in full.
#[derive(Clone, Copy, Debug)]
pub struct Icmpv4Packet<'a> {
    bytes: &'a [u8],
}

impl<'a> Icmpv4Packet<'a> {
    /// Looks at `bytes`, a message or the beginning of one.
    ///
    /// # Errors
    /// If the header is not there in full.
    pub fn new(bytes: &'a [u8]) -> Result<Self, WireError> {
        WireError::check_len(NAME, bytes, HEADER_LEN)?;
        Ok(Self { bytes })
    }

    /// Returns the type of the message.
    #[must_use]
    pub fn kind(&self) -> u8 {
        self.bytes[0]
    }

    /// Returns the code within the type.
    #[must_use]
    pub fn code(&self) -> u8 {
        self.bytes[1]
    }

    /// Returns whether the checksum over all bytes holds.
    #[must_use]
    pub fn checksum_holds(&self) -> bool {
        checksum::checksum(self.bytes) == 0
    }

    /// Returns whether the message reports an error; no error may be reported about such a message
    /// (RFC 1122, section 3.2.2).
    #[must_use]
    pub fn is_error(&self) -> bool {
        matches!(self.kind(), 3 | 4 | 5 | 11 | 12)
    }

    /// Returns the data after the header: echo data, or the beginning of the packet that caused an
    /// error.
    #[must_use]
    pub fn data(&self) -> &'a [u8] {
        &self.bytes[HEADER_LEN..]
    }
}

/// The reasons why a destination cannot be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreachable {
    /// Code 0: no route to the network.
    Network,
    /// Code 1: no route to the host.
    Host,
    /// Code 2: the host does not speak the protocol.
    Protocol,
    /// Code 3: no socket listens on the port.
    Port,
    /// Code 4: it needs cutting and may not be cut; the next link carries `mtu` bytes, 0 if unsaid.
    FragmentationNeeded {
        /// The MTU of the next link, in bytes (RFC 1191).
        mtu: u16,
    },
    /// Another code, from 5 up.
    Other(OtherCode),
}

/// A code of a message that has no name here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OtherCode(u8);

impl Unreachable {
    fn new(code: u8, mtu: u16) -> Self {
        match code {
            0 => Self::Network,
            1 => Self::Host,
            2 => Self::Protocol,
            3 => Self::Port,
            4 => Self::FragmentationNeeded { mtu },
            other => Self::Other(OtherCode(other)),
        }
    }

    /// Returns the code on the wire.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Network => 0,
            Self::Host => 1,
            Self::Protocol => 2,
            Self::Port => 3,
            Self::FragmentationNeeded { .. } => 4,
            Self::Other(code) => code.0,
        }
    }
}

/// A message of legal values; its data are separate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Icmpv4Repr {
    /// Asks for the data back.
    EchoRequest {
        /// Whose request it is.
        id: u16,
        /// Which of them.
        seq: u16,
    },
    /// Gives the data back.
    EchoReply {
        /// Whose request it was.
        id: u16,
        /// Which of them.
        seq: u16,
    },
    /// The packet did not reach its destination.
    Unreachable(Unreachable),
    /// The hop limit ran out on the way.
    HopLimitExceeded,
    /// Not all fragments came in time.
    ReassemblyTimeExceeded,
    /// A header field made no sense.
    ParameterProblem {
        /// The byte of the packet at which the field stands.
        pointer: u8,
    },
}

impl Icmpv4Repr {
    /// Reads `packet`; `None` for types that are not supported.
    #[must_use]
    pub fn parse(packet: &Icmpv4Packet<'_>) -> Option<Self> {
        let first = u16_at(packet.bytes, 4);
        let second = u16_at(packet.bytes, 6);
        Some(match (packet.kind(), packet.code()) {
            (0, 0) => Self::EchoReply { id: first, seq: second },
            (3, code) => Self::Unreachable(Unreachable::new(code, second)),
            (8, 0) => Self::EchoRequest { id: first, seq: second },
            (11, 0) => Self::HopLimitExceeded,
            (11, 1) => Self::ReassemblyTimeExceeded,
            (12, 0) => Self::ParameterProblem { pointer: packet.bytes[4] },
            _ => return None,
        })
    }

    /// Writes the header for `data` to the beginning of `buffer`, checksum included.
    ///
    /// # Panics
    /// If `buffer` is shorter than [`HEADER_LEN`].
    pub fn emit(&self, buffer: &mut [u8], data: &[u8]) {
        let (kind, code, first, second) = match *self {
            Self::EchoReply { id, seq } => (0, 0, id, seq),
            Self::EchoRequest { id, seq } => (8, 0, id, seq),
            Self::Unreachable(why) => match why {
                Unreachable::FragmentationNeeded { mtu } => (3, why.code(), 0, mtu),
                _ => (3, why.code(), 0, 0),
            },
            Self::HopLimitExceeded => (11, 0, 0, 0),
            Self::ReassemblyTimeExceeded => (11, 1, 0, 0),
            Self::ParameterProblem { pointer } => (12, 0, u16::from(pointer) << 8, 0),
        };
        let header = &mut buffer[..HEADER_LEN];
        header[0] = kind;
        header[1] = code;
        put_u16(header, 2, 0);
        put_u16(header, 4, first);
        put_u16(header, 6, second);
        let checksum = checksum::checksum_of([header, data]);
        put_u16(header, 2, checksum);
    }
}

#[cfg(test)]
mod tests;
