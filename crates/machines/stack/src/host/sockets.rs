//! The table of open sockets, by the application's identifier and by the port.

use std::collections::BTreeMap;

use core::net::{IpAddr, SocketAddr};

use crate::socket_api::{SocketError, SocketId, Transport};

/// The first ephemeral port (RFC 6335, section 6).
const FIRST_FREE: u16 = 49_152;

/// An application on a host, numbered by its driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AppId(pub u16);

/// The port space of a socket: one for each transport protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Udp,
    UdpLite,
    Echo,
}

impl Kind {
    fn of(transport: Transport) -> Self {
        match transport {
            Transport::Udp => Self::Udp,
            Transport::UdpLite { .. } | Transport::UdpLiteUnchecked => Self::UdpLite,
            // Streams have a table of their own and never come here.
            Transport::Echo | Transport::Tcp => Self::Echo,
        }
    }
}

type Name = (AppId, SocketId);

#[derive(Debug)]
struct Socket {
    transport: Transport,
    local: SocketAddr,
    /// Bytes that wait for the application.
    waiting: usize,
    /// The number of the next echo request.
    next_echo: u16,
}

/// The parameters for sending by a socket.
pub(super) struct Sender {
    pub(super) transport: Transport,
    pub(super) local: SocketAddr,
    pub(super) echo: u16,
    /// Bytes that the checksum of UDP-Lite covers, header included; 0 for all.
    pub(super) coverage: u16,
}

/// The part of a datagram that its checksum covered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Covered {
    All,
    First(u16),
}

/// The open sockets of a host.
#[derive(Debug, Default)]
pub(super) struct Sockets {
    open: BTreeMap<Name, Socket>,
    /// The sockets on each port; several only if each has an address of its own.
    ports: BTreeMap<(Kind, u16), Vec<(IpAddr, Name)>>,
    next_free: u16,
}

impl Sockets {
    /// Opens a socket and returns its local address.
    pub(super) fn open(
        &mut self,
        app: AppId,
        socket: SocketId,
        transport: Transport,
        mut local: SocketAddr,
    ) -> Result<SocketAddr, SocketError> {
        let name = (app, socket);
        let kind = Kind::of(transport);
        if self.open.contains_key(&name) {
            return Err(SocketError::AddressInUse);
        }
        if local.port() == 0 {
            local.set_port(self.free_port(kind).ok_or(SocketError::AddressInUse)?);
        }
        let there = self.ports.entry((kind, local.port())).or_default();
        let address = local.ip();
        let clashes = |other: &IpAddr| {
            *other == address || other.is_unspecified() && address.is_unspecified()
        };
        if there.iter().any(|(other, _)| clashes(other)) {
            return Err(SocketError::AddressInUse);
        }
        there.push((address, name));
        self.open.insert(name, Socket { transport, local, waiting: 0, next_echo: 0 });
        Ok(local)
    }

    /// Closes a socket; returns whether it was open.
    pub(super) fn close(&mut self, app: AppId, socket: SocketId) -> bool {
        let name = (app, socket);
        let Some(closed) = self.open.remove(&name) else { return false };
        let key = (Kind::of(closed.transport), closed.local.port());
        if let Some(there) = self.ports.get_mut(&key) {
            there.retain(|(_, other)| *other != name);
            if there.is_empty() {
                self.ports.remove(&key);
            }
        }
        true
    }

    /// Returns the parameters for sending by a socket; counts the echo request.
    pub(super) fn sender(&mut self, app: AppId, socket: SocketId) -> Option<Sender> {
        let socket = self.open.get_mut(&(app, socket))?;
        let echo = socket.next_echo;
        socket.next_echo = echo.wrapping_add(1);
        let coverage = match socket.transport {
            Transport::UdpLite { send_coverage, .. } => send_coverage,
            _ => 0,
        };
        Some(Sender { transport: socket.transport, local: socket.local, echo, coverage })
    }

    /// Returns the socket for a datagram to `address` and `port`: one bound to that address before
    /// one bound to the unspecified address.
    pub(super) fn find(&self, kind: Kind, address: IpAddr, port: u16) -> Option<Name> {
        let there = self.ports.get(&(kind, port))?;
        let exact = there.iter().find(|(local, _)| *local == address);
        let found = exact.or_else(|| there.iter().find(|(local, _)| local.is_unspecified()));
        found.map(|(_, name)| *name)
    }

    //= S1.10
    /// Returns whether the checksum coverage of a datagram is at least the minimum of the socket.
    pub(super) fn accepts(&self, app: AppId, socket: SocketId, covered: Covered) -> bool {
        let transport = self.open.get(&(app, socket)).map(|socket| socket.transport);
        match (transport, covered) {
            (Some(Transport::UdpLite { min_coverage: Some(least), .. }), Covered::First(n)) => {
                least > 0 && n >= least
            }
            _ => true,
        }
    }

    /// Returns whether a socket accepts datagrams whose covered bytes are damaged.
    pub(super) fn is_unchecked(&self, app: AppId, socket: SocketId) -> bool {
        let transport = self.open.get(&(app, socket)).map(|socket| socket.transport);
        transport == Some(Transport::UdpLiteUnchecked)
    }

    /// Charges `bytes` to a socket's buffer, if they stay within `limit`.
    pub(super) fn reserve(
        &mut self,
        app: AppId,
        socket: SocketId,
        bytes: usize,
        limit: usize,
    ) -> bool {
        let Some(socket) = self.open.get_mut(&(app, socket)) else { return false };
        // An empty buffer accepts a datagram of any length. Otherwise a datagram longer than the
        // limit could never arrive.
        let fits = socket.waiting == 0 || socket.waiting + bytes <= limit;
        if fits {
            socket.waiting += bytes;
        }
        fits
    }

    /// Releases bytes that were charged to a socket's buffer.
    pub(super) fn release(&mut self, app: AppId, socket: SocketId, bytes: usize) {
        if let Some(socket) = self.open.get_mut(&(app, socket)) {
            socket.waiting = socket.waiting.saturating_sub(bytes);
        }
    }

    fn free_port(&mut self, kind: Kind) -> Option<u16> {
        for _ in FIRST_FREE..=u16::MAX {
            let port = self.next_free.max(FIRST_FREE);
            self.next_free = port.checked_add(1).unwrap_or(FIRST_FREE);
            if !self.ports.contains_key(&(kind, port)) {
                return Some(port);
            }
        }
        None
    }
}
