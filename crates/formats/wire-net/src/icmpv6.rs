//! ICMP for IPv6 (RFC 4443).

use crate::addresses::Addresses;
use crate::error::WireError;
use crate::field::{put_u16, put_u32, u16_at, u32_at};
use crate::protocol::Protocol;

/// The length of every header treated here, in bytes.
pub const HEADER_LEN: usize = 8;

const NAME: &str = "ICMPv6";

/// A view over a message whose header is there in full.
#[derive(Clone, Copy, Debug)]
pub struct Icmpv6Packet<'a> {
    bytes: &'a [u8],
}

impl<'a> Icmpv6Packet<'a> {
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

    /// Returns whether the checksum over the pseudo header and all bytes holds.
    #[must_use]
    pub fn checksum_holds(&self, addresses: &Addresses) -> bool {
        let mut sum = addresses.pseudo_header(Protocol::ICMPV6, self.bytes.len() as u32);
        sum.add(self.bytes);
        sum.holds()
    }

    /// Returns whether the message reports an error: types below 128 (RFC 4443, section 2.1).
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.kind() < 128
    }

    /// Returns the data after the header: echo data, or the beginning of the packet that caused an
    /// error.
    #[must_use]
    pub fn data(&self) -> &'a [u8] {
        &self.bytes[HEADER_LEN..]
    }
}

macro_rules! codes {
    ($(#[$doc:meta])* $name:ident { $($(#[$what:meta])* $variant:ident = $code:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $($(#[$what])* $variant = $code,)* }

        impl $name {
            const fn new(code: u8) -> Option<Self> {
                match code { $($code => Some(Self::$variant),)* _ => None }
            }
        }
    };
}

codes! {
    /// Why a destination cannot be reached (RFC 4443, section 3.1).
    Unreachable {
        /// No route leads there.
        NoRoute = 0,
        /// An administrator forbids it.
        Prohibited = 1,
        /// The source address belongs to a smaller scope.
        Scope = 2,
        /// The address does not answer.
        Address = 3,
        /// No socket listens on the port.
        Port = 4,
        /// A policy forbids the source address.
        SourcePolicy = 5,
        /// The route says to refuse.
        Rejected = 6,
    }
}

codes! {
    /// The kinds of parameter problem (RFC 4443, section 3.4).
    Problem {
        /// A header field.
        Field = 0,
        /// The next header is unknown.
        NextHeader = 1,
        /// An option is unknown and must not be ignored.
        Option = 2,
    }
}

/// A message of legal values; its data are separate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Icmpv6Repr {
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
    /// The packet is longer than the next link carries.
    PacketTooBig {
        /// The MTU of the next link, in bytes.
        mtu: u32,
    },
    /// The hop limit ran out on the way.
    HopLimitExceeded,
    /// Not all fragments came in time.
    ReassemblyTimeExceeded,
    /// Something in the packet made no sense.
    ParameterProblem {
        /// The kind of the problem.
        problem: Problem,
        /// The byte of the packet at which it stands.
        pointer: u32,
    },
}

impl Icmpv6Repr {
    /// Reads `packet`; `None` for types and codes that are not supported.
    #[must_use]
    pub fn parse(packet: &Icmpv6Packet<'_>) -> Option<Self> {
        let id = u16_at(packet.bytes, 4);
        let seq = u16_at(packet.bytes, 6);
        let word = u32_at(packet.bytes, 4);
        Some(match (packet.kind(), packet.code()) {
            (1, code) => Self::Unreachable(Unreachable::new(code)?),
            // Receivers ignore the code (RFC 4443, section 3.2).
            (2, _) => Self::PacketTooBig { mtu: word },
            (3, 0) => Self::HopLimitExceeded,
            (3, 1) => Self::ReassemblyTimeExceeded,
            (4, code) => Self::ParameterProblem { problem: Problem::new(code)?, pointer: word },
            (128, 0) => Self::EchoRequest { id, seq },
            (129, 0) => Self::EchoReply { id, seq },
            _ => return None,
        })
    }

    /// Writes the header for `data` to the beginning of `buffer`, checksum included.
    ///
    /// # Panics
    /// If `buffer` is shorter than [`HEADER_LEN`].
    pub fn emit(&self, buffer: &mut [u8], addresses: &Addresses, data: &[u8]) {
        let echo_word = |id, seq| u32::from(id) << 16 | u32::from(seq);
        let (kind, code, word) = match *self {
            Self::Unreachable(why) => (1, why as u8, 0),
            Self::PacketTooBig { mtu } => (2, 0, mtu),
            Self::HopLimitExceeded => (3, 0, 0),
            Self::ReassemblyTimeExceeded => (3, 1, 0),
            Self::ParameterProblem { problem, pointer } => (4, problem as u8, pointer),
            Self::EchoRequest { id, seq } => (128, 0, echo_word(id, seq)),
            Self::EchoReply { id, seq } => (129, 0, echo_word(id, seq)),
        };
        let header = &mut buffer[..HEADER_LEN];
        header[0] = kind;
        header[1] = code;
        put_u16(header, 2, 0);
        put_u32(header, 4, word);
        let len = (header.len() + data.len()) as u32;
        let mut sum = addresses.pseudo_header(Protocol::ICMPV6, len);
        sum.add(header);
        sum.add(data);
        put_u16(header, 2, sum.checksum());
    }
}

#[cfg(test)]
mod tests;
