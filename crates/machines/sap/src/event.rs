//! Events of connections, and reasons for drops.

use core::net::SocketAddr;

use crate::error::CloseReason;

/// An event of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
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
    /// The path carries longer messages than before, or only shorter ones.
    PathSize,
    /// The peer has not responded to three consecutive retransmission timeouts.
    Silent,
    /// The peer answers again.
    Answered,
    /// The peer has another address.
    Moved {
        /// The new address.
        to: SocketAddr,
    },
    /// The peer has finished sending.
    Finished {
        /// The number of approximate messages that it sent, which reveals the loss of the last
        /// ones.
        approximate: u32,
    },
    /// The connection was reset in favour of a new one: it was not accepted, or its peer did not
    /// respond.
    Displaced,
    /// The connection has ended.
    Closed(CloseReason),
}

/// Messages that have not reached the peer as far as is known: precise ones without
/// acknowledgement, and approximate ones that were not sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Undelivered {
    /// The number of messages.
    pub messages: u64,
    /// The size of their data in bytes.
    pub bytes: u64,
}

/// The reason for which a datagram was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
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
    /// It is a part of an approximate message that was delivered without it.
    Late,
    /// It is a part of an approximate message of which too little arrived.
    Incomplete,
    /// It comes from an address that has not answered a challenge.
    Unproven,
    /// Its connection was half open, unread or idle, and was dropped in favour of a new one.
    Displaced,
    /// The body is malformed for its kind.
    Malformed,
    /// It is not valid in this state.
    Unexpected,
    /// It answers no request for repair of this end.
    Unrequested,
    /// The receive buffer is full.
    NoRoom,
    /// It asks for a connection while the endpoint does not listen or has too many connections.
    Refused,
}
