//! The listener, which accepts connections.

use std::net::{SocketAddr, ToSocketAddrs};
use std::os::fd::OwnedFd;

use windfall_base::{Duration, Instant};
use windfall_sap::CloseReason;

use super::options::connect_from;
use super::{SapOptions, SapSocket};
use crate::driver::Handle;
use crate::error::SapError;
use crate::udplite::UdpLiteSocket;
use crate::waiting::Awaited;

/// A listener that accepts connections.
pub struct SapListener {
    pub(super) core: Handle,
}

impl SapOptions {
    /// Listens on the first of the addresses.
    ///
    /// # Errors
    /// If the address is in use or not of this host.
    pub fn listen(&self, on: impl ToSocketAddrs) -> Result<SapListener, SapError> {
        let mut on = on.to_socket_addrs().map_err(SapError::Name)?;
        let on = on.next().ok_or_else(|| SapError::Address("nothing".to_owned()))?;
        self.listen_on(self.bind(on)?)
    }

    pub(super) fn listen_on(&self, socket: UdpLiteSocket) -> Result<SapListener, SapError> {
        Ok(SapListener { core: self.start(socket, true)? })
    }
}

impl SapListener {
    /// Listens with the standard profile.
    ///
    /// # Errors
    /// As [`SapOptions::listen`].
    pub fn bind(on: impl ToSocketAddrs) -> Result<Self, SapError> {
        SapOptions::default().listen(on)
    }

    /// Returns the local address with its port.
    ///
    /// # Errors
    /// It never fails.
    pub fn local_addr(&self) -> Result<SocketAddr, SapError> {
        Ok(self.core.socket.local_addr())
    }

    /// Waits for the next connection.
    ///
    /// # Errors
    /// If the listener is closed, or the operating system reports an error.
    pub fn accept(&self) -> Result<(SapSocket, SocketAddr), SapError> {
        self.accept_until(None)
    }

    /// Connects to a peer from the listener's own port, with its options, so that many connections
    /// take one descriptor.
    ///
    /// # Errors
    /// If the peer does not answer in time or refuses, or its address is of another family.
    pub fn connect(&self, to: SocketAddr) -> Result<SapSocket, SapError> {
        if to.port() == 0 || to.is_ipv4() != self.core.socket.local_addr().is_ipv4() {
            return Err(SapError::Address(format!("{to} from {}", self.core.socket.local_addr())));
        }
        self.core.socket.learn_of_refusals();
        connect_from(self.core.clone(), to)
    }

    /// Accepts a connection without waiting, if there is one.
    pub fn try_accept(&self) -> Option<(SapSocket, SocketAddr)> {
        let mut state = self.core.lock();
        let accepted = state.accept();
        drop(state);
        accepted.map(|(id, from)| (SapSocket::new(self.core.clone(), id, from), from))
    }

    /// Returns a descriptor that is readable while a connection can be accepted; only for polling.
    ///
    /// # Errors
    /// If the process has no descriptors left.
    pub fn readiness(&self) -> Result<OwnedFd, SapError> {
        let mut state = self.core.lock();
        let waits = !state.accepted.is_empty();
        state.acceptable.share(waits)
    }

    /// Waits for the next connection, at most for `span`.
    ///
    /// # Errors
    /// [`SapError::TimedOut`] if none came, or if the operating system reports an error.
    pub fn accept_timeout(&self, span: Duration) -> Result<(SapSocket, SocketAddr), SapError> {
        self.accept_until(Some(self.core.clock.now() + span))
    }

    fn accept_until(&self, deadline: Option<Instant>) -> Result<(SapSocket, SocketAddr), SapError> {
        let accepted =
            self.core.wait(Awaited::Accepted, deadline, |state, _| match state.accept() {
                None if state.endpoint.is_listening() => None,
                accepted => Some(accepted.ok_or(CloseReason::Closed)),
            })?;
        let (id, from) = accepted?;
        Ok((SapSocket::new(self.core.clone(), id, from), from))
    }

    /// Refuses connections from now on, closes those that were not accepted, and ends waiting calls
    /// of [`accept`](Self::accept). Accepted ones live on, and so does the port as long as they do.
    pub fn close(&self) {
        let mut state = self.core.lock();
        state.endpoint.listen(false);
        while let Some((id, _)) = state.accept() {
            state.endpoint.close(self.core.clock.now(), id);
            state.connections.remove(&id);
        }
        // A program that polls the descriptor is woken, and learns that the listener is closed.
        state.acceptable.raise();
        self.core.flush(&mut state);
        self.core.notify(&state, Awaited::Accepted);
    }
}

impl Drop for SapListener {
    fn drop(&mut self) {
        self.close();
    }
}
