//! The interface between an application and its simulated host: commands down, events up.
//!
//! A host takes the [`SocketCommand`]s of an [`Application`] and answers by [`SocketEvent`]s.

use core::net::SocketAddr;

use bytes::Bytes;
use windfall_base::{Damage, Duration, Instant};

/// A socket's name, chosen by the application that opens it; unique within the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SocketId(pub u32);

/// Which transport a socket speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// UDP (RFC 768, 8200).
    Udp,
    /// UDP-Lite (RFC 3828).
    UdpLite {
        /// Bytes covered by the checksum of sent datagrams, header included; 0 means all.
        send_coverage: u16,
        /// The least coverage that is accepted; 0 means full coverage only, `None` any.
        min_coverage: Option<u16>,
    },
    /// UDP-Lite for a protocol with checks of its own, such as SAP: datagrams whose covered bytes
    /// are damaged arrive too, and [`SocketCommand::SendCovered`] gives each its own coverage.
    UdpLiteUnchecked,
    /// ICMP echo: the port is the identifier, the data the echo payload.
    Echo,
    /// TCP (RFC 9293): a stream, not datagrams.
    Tcp,
}

/// A command of an application to its host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SocketCommand {
    /// Opens a socket on a local address; port 0 asks for any free one.
    Open {
        /// The name to use from now on.
        socket: SocketId,
        /// The transport of the socket.
        transport: Transport,
        /// The local address; an unspecified one takes packets to every address of the host.
        local: SocketAddr,
    },
    /// Opens a connection from a stream socket; [`SocketEvent::Connected`] reports that it is
    /// established.
    Connect {
        /// The socket to connect.
        socket: SocketId,
        /// The destination of the connection.
        to: SocketAddr,
    },
    /// Takes connections on a stream socket; [`SocketEvent::Accepted`] names each.
    Listen {
        /// The socket to listen on.
        socket: SocketId,
    },
    /// Sends one datagram, or the next bytes of a stream, where `to` means nothing.
    Send {
        /// The socket to send from.
        socket: SocketId,
        /// The destination of the datagram.
        to: SocketAddr,
        /// The payload to send.
        data: Bytes,
    },
    /// Sends one datagram of UDP-Lite.
    SendCovered {
        /// The socket to send from.
        socket: SocketId,
        /// The destination of the datagram.
        to: SocketAddr,
        /// The payload to send.
        data: Bytes,
        /// Bytes covered by its checksum, header included; 0 means all.
        coverage: u16,
    },
    /// Ends the stream after the data sent so far; receiving continues.
    Finish {
        /// The socket to write to.
        socket: SocketId,
    },
    /// Takes no more of a stream until [`Resume`](Self::Resume); its window closes as it fills.
    Pause {
        /// The socket to read from.
        socket: SocketId,
    },
    /// Delivers the data of a stream that have arrived in the meantime, and all that follow.
    Resume {
        /// The socket to finish.
        socket: SocketId,
    },
    /// Closes a socket; data that it has not received are dropped and counted.
    Close {
        /// The socket to close.
        socket: SocketId,
    },
    /// Ends a stream at once, and tells the peer.
    Abort {
        /// The socket to abort.
        socket: SocketId,
    },
}

/// An event that a host reports to an application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SocketEvent {
    /// The socket is open, at this address.
    Opened {
        /// The socket of the event.
        socket: SocketId,
        /// The address it got.
        local: SocketAddr,
    },
    /// A datagram arrived.
    Received {
        /// The socket that received it.
        socket: SocketId,
        /// The address of the sender.
        from: SocketAddr,
        /// The payload, perhaps damaged.
        data: Bytes,
        /// The known damage of the payload.
        damage: Damage,
    },
    /// A stream is connected.
    Connected {
        /// The socket of the event.
        socket: SocketId,
    },
    /// A peer has connected to a listening socket.
    Accepted {
        /// The socket that listens.
        listener: SocketId,
        /// The new stream's name; the host counts such names down from the greatest.
        socket: SocketId,
        /// The address of the peer.
        from: SocketAddr,
    },
    /// The next bytes of a stream.
    Stream {
        /// The socket that received them.
        socket: SocketId,
        /// The bytes that arrived.
        data: Bytes,
    },
    /// Everything sent so far has found room, and there is more of it.
    Writable {
        /// The socket of the event.
        socket: SocketId,
    },
    /// The peer of a stream has finished.
    Finished {
        /// The socket of the event.
        socket: SocketId,
    },
    /// A stream has ended on both sides.
    Closed {
        /// The socket of the event.
        socket: SocketId,
    },
    /// A socket has failed.
    Failed {
        /// The socket that failed.
        socket: SocketId,
        /// The cause of the failure.
        error: SocketError,
    },
}

/// Why a command failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SocketError {
    /// Another socket has the address.
    #[error("the address is in use")]
    AddressInUse,
    /// No such socket is open.
    #[error("the socket is not open")]
    NotOpen,
    /// The datagram is longer than the transport can carry.
    #[error("the message is too long")]
    TooLong,
    /// No route, or a router said so.
    #[error("the destination is unreachable")]
    Unreachable,
    /// The peer has reset the connection.
    #[error("the connection was reset")]
    Reset,
    /// The peer no longer answers.
    #[error("the connection timed out")]
    TimedOut,
    /// The peer has no such port.
    #[error("the port is closed at the peer")]
    PortClosed,
}

/// An application: a machine like every other, that speaks socket commands instead of frames.
pub trait Application {
    /// Takes an event of one of its sockets.
    fn handle_event(&mut self, now: Instant, event: SocketEvent);

    /// Fires every timer due at `now`; a spurious call changes nothing.
    fn handle_timeout(&mut self, now: Instant);

    /// Yields the next command; call until `None`.
    fn poll_command(&mut self, now: Instant) -> Option<SocketCommand>;

    /// Says when to call `handle_timeout` next, and why.
    fn poll_timeout(&self) -> Option<(Instant, &'static str)>;

    /// Yields the next message that it has received, for the record; call until `None`.
    fn poll_message(&mut self) -> Option<MessageArrival> {
        None
    }

    /// Returns the measurements at `now`, as names and values, for the summary of the run.
    fn report(&self, now: Instant) -> Vec<(&'static str, Measured)>;
}

/// A message that reached an application, as far as the application knows what was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageArrival {
    /// Its number among the messages of its kind on its connection.
    pub number: u64,
    /// It is precise, not approximate.
    pub precise: bool,
    /// Bytes of the message, those that are missing included.
    pub len: usize,
    /// The time since it was due; `None` if its damage hides that.
    pub age: Option<Duration>,
    /// Bytes that arrived and are wrong.
    pub wrong_bytes: u64,
    /// Bytes that did not arrive.
    pub missing: u64,
    /// The transport knew that it may be damaged.
    pub marked: bool,
}

/// A measurement of an application.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Measured {
    /// A number of things.
    Count(u64),
    /// A quantity, in the unit that its name ends with.
    Value(f64),
    /// There was nothing to measure.
    Absent,
}

impl Measured {
    /// The number; 0 if there was nothing to measure.
    #[must_use]
    pub const fn number(self) -> f64 {
        match self {
            Self::Count(count) => count as f64,
            Self::Value(value) => value,
            Self::Absent => 0.0,
        }
    }
}

impl From<u64> for Measured {
    fn from(count: u64) -> Self {
        Self::Count(count)
    }
}

impl From<Option<f64>> for Measured {
    fn from(value: Option<f64>) -> Self {
        value.map_or(Self::Absent, Self::Value)
    }
}
