//! How an application speaks to its host: commands down, events up, no sockets of a system.

use core::net::SocketAddr;

use bytes::Bytes;

use crate::damage::Damage;
use crate::time::Instant;

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
        /// Bytes covered by the checksum of what is sent, header included; 0 means all.
        send_coverage: u16,
        /// The least coverage that is accepted; 0 means full coverage only, `None` any.
        min_coverage: Option<u16>,
    },
    /// ICMP echo: the port is the identifier, the data the echo payload.
    Echo,
    /// TCP (RFC 9293): a stream, not datagrams.
    Tcp,
}

/// What an application asks of its host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SocketCommand {
    /// Opens a socket on a local address; port 0 asks for any free one.
    Open {
        /// The name to use from now on.
        socket: SocketId,
        /// The transport.
        transport: Transport,
        /// The local address; an unspecified one takes packets to every address of the host.
        local: SocketAddr,
    },
    /// Opens a connection from a stream socket; [`SocketEvent::Connected`] says when it stands.
    Connect {
        /// The socket.
        socket: SocketId,
        /// Whereto.
        to: SocketAddr,
    },
    /// Takes connections on a stream socket; [`SocketEvent::Accepted`] names each.
    Listen {
        /// The socket.
        socket: SocketId,
    },
    /// Sends one datagram, or the next bytes of a stream, where `to` means nothing.
    Send {
        /// The socket.
        socket: SocketId,
        /// Whereto.
        to: SocketAddr,
        /// The payload.
        data: Bytes,
    },
    /// Ends the stream after what was sent; receiving goes on.
    Finish {
        /// The socket.
        socket: SocketId,
    },
    /// Takes no more of a stream until [`Resume`](Self::Resume); its window closes as it fills.
    Pause {
        /// The socket.
        socket: SocketId,
    },
    /// Takes what has come of a stream in the meantime, and all that follows.
    Resume {
        /// The socket.
        socket: SocketId,
    },
    /// Closes a socket; what it still had to receive is dropped and counted.
    Close {
        /// The socket.
        socket: SocketId,
    },
    /// Ends a stream at once, and tells the other end.
    Abort {
        /// The socket.
        socket: SocketId,
    },
}

/// What a host tells an application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SocketEvent {
    /// The socket is open, at this address.
    Opened {
        /// The socket.
        socket: SocketId,
        /// The address it got.
        local: SocketAddr,
    },
    /// A datagram arrived.
    Received {
        /// The socket.
        socket: SocketId,
        /// From whom.
        from: SocketAddr,
        /// The payload, perhaps damaged.
        data: Bytes,
        /// What is known of its damage.
        damage: Damage,
    },
    /// A stream is connected.
    Connected {
        /// The socket.
        socket: SocketId,
    },
    /// Somebody has connected to a listening socket.
    Accepted {
        /// The socket that listens.
        listener: SocketId,
        /// The new stream's name; the host counts such names down from the greatest.
        socket: SocketId,
        /// Who.
        from: SocketAddr,
    },
    /// The next bytes of a stream.
    Stream {
        /// The socket.
        socket: SocketId,
        /// The bytes.
        data: Bytes,
    },
    /// Everything sent so far has found room, and there is more of it.
    Writable {
        /// The socket.
        socket: SocketId,
    },
    /// The other end of a stream has finished.
    Finished {
        /// The socket.
        socket: SocketId,
    },
    /// A stream has ended on both sides.
    Closed {
        /// The socket.
        socket: SocketId,
    },
    /// Something failed.
    Failed {
        /// The socket.
        socket: SocketId,
        /// What failed.
        error: SocketError,
    },
}

/// Why a command failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
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
    /// The other end has reset the connection.
    #[error("the connection was reset")]
    Reset,
    /// The other end no longer answers.
    #[error("the connection timed out")]
    TimedOut,
    /// The other end has no such port.
    #[error("the port is closed at the peer")]
    PortClosed,
}

/// An application: a machine like every other, that speaks socket commands instead of frames.
pub trait App {
    /// Takes an event of one of its sockets.
    fn handle_event(&mut self, now: Instant, event: SocketEvent);

    /// Fires every timer due at `now`; a spurious call changes nothing.
    fn handle_timeout(&mut self, now: Instant);

    /// Yields the next command; call until `None`.
    fn poll_command(&mut self, now: Instant) -> Option<SocketCommand>;

    /// Says when to call `handle_timeout` next, and why.
    fn poll_timeout(&self) -> Option<(Instant, &'static str)>;

    /// What the application measured, as names and values, for the summary of the run.
    fn report(&self) -> Vec<(&'static str, f64)>;
}
