//! What an endpoint tells its driver: what happened, what to send, and what it dropped.

use core::net::SocketAddr;

use bytes::Bytes;

use crate::error::CloseReason;

/// What happened to a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SapEvent {
    /// The other end has answered: the connection stands.
    Connected,
    /// Somebody has connected to this endpoint.
    Accepted {
        /// Who.
        from: SocketAddr,
    },
    /// A message waits, after none did.
    Readable,
    /// There is room again, after a message was turned away.
    Writable,
    /// The path carries longer messages than before.
    PathSize,
    /// The other end will send nothing more.
    Finished {
        /// How many approximate messages it has sent, so that the last ones can be missed.
        approximate: u32,
    },
    /// The connection has ended.
    Closed(CloseReason),
}

/// What of one direction has not reached the other end, as far as is known: precise messages that
/// are not acknowledged, and approximate ones that were not sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Undelivered {
    /// How many messages.
    pub messages: u64,
    /// Their data, in bytes.
    pub bytes: u64,
}

/// The longest datagram in a frame of 802.11 (the MSDU of IEEE 802.11-2016, 9.2.4.7.1).
const LONGEST_FRAME: usize = 2304;

/// A datagram to send: the data of a UDP-Lite datagram, in slices that follow each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutgoingDatagram {
    /// Whereto.
    pub to: SocketAddr,
    /// The bytes.
    pub parts: [Bytes; 3],
    /// How many of them must be exact: the checksum coverage is 8 more; all means full coverage.
    pub exact: usize,
}

impl OutgoingDatagram {
    /// Its length in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.parts.iter().map(Bytes::len).sum()
    }

    /// Whether it has no bytes; none ever has.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes in one slice.
    #[must_use]
    pub fn to_bytes(&self) -> Bytes {
        self.parts.concat().into()
    }

    /// The coverage to ask of UDP-Lite: 0 for everything (S0.3).
    #[must_use]
    pub fn coverage(&self) -> u16 {
        let covered = windfall_wire_net::udplite::HEADER_LEN + self.exact;
        if self.exact == self.len() { 0 } else { u16::try_from(covered).unwrap_or(0) }
    }

    /// Whether all of it is exact and it is longer than the frames of any radio.
    ///
    /// No link hands such a datagram up damaged, so nothing is lost if the system's own checksum
    /// covers it, which hardware computes.
    #[must_use]
    pub fn is_bulk(&self) -> bool {
        self.exact == self.len() && self.len() > LONGEST_FRAME
    }
}

/// Why a datagram was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Dropped {
    /// The header is damaged, or it is no SAP datagram.
    Header,
    /// The sender speaks another version.
    Version,
    /// No connection has this id and this sender.
    NoConnection,
    /// The connection has ended.
    Closed,
    /// The exact bytes are damaged; the sender was told.
    Damaged,
    /// It does not open with the keys of the connection, or should be sealed and is not.
    Forged,
    /// It had arrived before.
    Duplicate,
    /// The body is not what its kind says.
    Malformed,
    /// It makes no sense in this state.
    Unexpected,
    /// The application has not read what came before.
    NoRoom,
    /// It asks for a connection and nobody listens, or there are too many.
    Refused,
}
