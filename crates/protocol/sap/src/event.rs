//! Output of an endpoint: events, datagrams to send, and reasons for drops.

use core::net::SocketAddr;

use bytes::Bytes;

use crate::error::CloseReason;

/// An event of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SapEvent {
    /// The peer has accepted the connection.
    Connected,
    /// A peer has connected to this endpoint.
    Accepted {
        /// The address of the peer.
        from: SocketAddr,
    },
    /// A message can be read, and none could before.
    Readable,
    /// The send buffer has room again after a message was rejected.
    Writable,
    /// The path carries longer messages than before.
    PathSize,
    /// The peer has finished sending.
    Finished {
        /// The number of approximate messages that it sent, which reveals the loss of the last
        /// ones.
        approximate: u32,
    },
    /// The connection has ended.
    Closed(CloseReason),
}

/// Messages that have not reached the peer as far as is known: precise ones without
/// acknowledgement, and approximate ones that were not sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Undelivered {
    /// The number of messages.
    pub messages: u64,
    /// The size of their data in bytes.
    pub bytes: u64,
}

/// The longest datagram in a frame of 802.11 (the MSDU of IEEE 802.11-2016, 9.2.4.7.1).
const LONGEST_FRAME: usize = 2304;

/// A datagram to send: the payload of a UDP-Lite datagram, in consecutive slices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutgoingDatagram {
    /// The destination of the datagram.
    pub to: SocketAddr,
    /// The bytes of the payload.
    pub parts: [Bytes; 3],
    /// The number of bytes that must be exact; the checksum coverage is 8 more. All bytes: full
    /// coverage.
    pub exact: usize,
}

impl OutgoingDatagram {
    /// Returns the length in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.parts.iter().map(Bytes::len).sum()
    }

    /// Returns whether it has no bytes, which never happens.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the bytes in one slice.
    #[must_use]
    pub fn to_bytes(&self) -> Bytes {
        self.parts.concat().into()
    }

    /// Returns the UDP-Lite coverage; 0 means full coverage (S0.3).
    #[must_use]
    pub fn coverage(&self) -> u16 {
        let covered = windfall_wire_net::udplite::HEADER_LEN + self.exact;
        if self.exact == self.len() { 0 } else { u16::try_from(covered).unwrap_or(0) }
    }

    /// Returns whether all of it is exact and it is longer than any radio frame.
    ///
    /// No link passes up such a datagram damaged, so the system's own checksum, which hardware
    /// computes, may cover it without any loss.
    #[must_use]
    pub fn is_bulk(&self) -> bool {
        self.exact == self.len() && self.len() > LONGEST_FRAME
    }
}

/// The reason for which a datagram was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Dropped {
    /// The header is damaged, or it is no SAP datagram.
    Header,
    /// The sender speaks another version of SAP.
    Version,
    /// No connection has this id and this sender.
    NoConnection,
    /// The connection has ended.
    Closed,
    /// The exact bytes are damaged; the sender is notified.
    Damaged,
    /// It fails to decrypt, or should be encrypted and is not.
    Forged,
    /// It has arrived before.
    Duplicate,
    /// The body is malformed for its kind.
    Malformed,
    /// It is not valid in this state.
    Unexpected,
    /// The receive buffer is full.
    NoRoom,
    /// It asks for a connection while the endpoint does not listen or has too many connections.
    Refused,
}
