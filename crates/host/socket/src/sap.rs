//! Blocking SAP sockets.
//!
//! `options` connects and listens, `listener` accepts; of a connection, `sending`, `receiving` and
//! `closing` are what their names say, and this module holds its settings and its state.

mod closing;
mod inspection;
mod listener;
mod options;
mod receiving;
mod sending;

use std::net::{SocketAddr, ToSocketAddrs};
use std::os::fd::OwnedFd;
use std::sync::{Mutex, PoisonError};

use windfall_base::{Duration, Instant};
use windfall_sap::{CloseReason, ConnectionId, MessageCheck, Mode, Tolerance};

use crate::driver::{Handle, State};
use crate::error::SapError;
use crate::waiting::Awaited;
use inspection::Inspection;

pub use listener::SapListener;
pub use options::SapOptions;

/// A connection whose messages are precise or approximate.
///
/// Threads may share it: one sends, another receives (S0.21).
///
/// Dropping a socket does not wait. A background thread delivers the remaining precise messages
/// while the program runs. Messages that are left when the program ends are lost without an error,
/// so call [`close`](Self::close) first.
pub struct SapSocket {
    core: Handle,
    id: ConnectionId,
    peer: SocketAddr,
    mode: Mutex<Mode>,
    tolerance: Mutex<Option<Tolerance>>,
    timeout: Mutex<Option<Duration>>,
    inspection: Box<Inspection>,
}

impl SapSocket {
    fn new(core: Handle, id: ConnectionId, peer: SocketAddr) -> Self {
        Self {
            core,
            id,
            peer,
            mode: Mutex::default(),
            tolerance: Mutex::default(),
            timeout: Mutex::default(),
            inspection: Box::default(),
        }
    }

    /// Connects with the standard profile.
    ///
    /// # Errors
    /// As [`SapOptions::connect`].
    pub fn connect(to: impl ToSocketAddrs) -> Result<Self, SapError> {
        SapOptions::default().connect(to)
    }

    /// Returns the peer's address, which changes if the peer moves.
    #[must_use]
    pub fn peer_addr(&self) -> SocketAddr {
        self.core.lock().endpoint.peer(self.id).unwrap_or(self.peer)
    }

    /// Returns the local address.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.core.socket.local_addr()
    }

    //= S0.17
    /// Returns the mode of the following messages; precise by default.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.mode.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    //= S0.1
    //= S0.17
    /// Sets the mode of the following messages.
    pub fn set_mode(&self, mode: Mode) {
        *self.mode.lock().unwrap_or_else(PoisonError::into_inner) = mode;
    }

    //= S1.67
    /// Sets the damage that the application tolerates. The mode of each message is then that of
    /// [`Tolerance::mode`] instead of the socket's, and damage beyond the tolerance is repaired
    /// before the message is received.
    ///
    /// # Errors
    /// If the bit error rate is out of range.
    pub fn set_tolerance(&self, tolerance: Option<Tolerance>) -> Result<(), SapError> {
        let tolerance = tolerance.map(Tolerance::validated).transpose()?;
        *self.tolerance.lock().unwrap_or_else(PoisonError::into_inner) = tolerance;
        self.inspection.set_tolerance(tolerance);
        Ok(())
    }

    //= S0.26
    /// Sets the check that decides on each approximate message before it is received.
    ///
    /// A thread that receives calls it, and holds no lock of the connection meanwhile: it may send
    /// on this socket, but not receive from it, for that waits until the check has returned.
    pub fn set_check(&self, check: Option<MessageCheck>) {
        self.inspection.set_check(check);
    }

    /// Sets the longest time that a call waits; unset, the default, means without limit.
    pub fn set_timeout(&self, timeout: Option<Duration>) {
        *self.timeout.lock().unwrap_or_else(PoisonError::into_inner) = timeout;
    }

    /// Returns the reason for which the connection has ended; `None` while it has not.
    #[must_use]
    pub fn close_reason(&self) -> Option<CloseReason> {
        self.core.lock().connections.get(&self.id).and_then(|status| status.closed)
    }

    /// Returns for how long the peer has left retransmissions unanswered; `None` while it responds.
    /// [`SapConfig::silence_timeout`] ends the connection after such a time. If it is unset, the
    /// idle timeout does, after a minute by default.
    ///
    /// [`SapConfig::silence_timeout`]: windfall_sap::SapConfig::silence_timeout
    #[must_use]
    pub fn silence(&self) -> Option<Duration> {
        self.core.lock().endpoint.silence(self.core.clock.now(), self.id)
    }

    /// Sends and receives approximate messages newest first: [`send`](Self::send) never waits for
    /// room for one, but drops the oldest that wait, and [`recv`](Self::recv) returns the newest
    /// that has arrived.
    pub fn set_newest_first(&self, newest_first: bool) {
        self.core.lock().endpoint.set_newest_first(self.id, newest_first);
    }

    /// Sets how long lost approximate messages are retransmitted, counted from their first
    /// transmission; zero, the default, means never. Each lost message has three transmissions even
    /// if they take longer. Messages that arrive damaged are not retransmitted.
    pub fn set_lateness(&self, lateness: Duration) {
        self.core.lock().endpoint.set_lateness(self.id, lateness);
    }

    /// Retransmits lost approximate messages beyond their lateness
    /// ([`set_lateness`](Self::set_lateness)). This ends after `patience` without progress, or if
    /// anything arrives damaged. On a path without damage, losses come from full queues: the
    /// transfer is slow, but can be completed. Progress is the first transmission or the
    /// acknowledgement of a message. Each message is given up after six times `patience` in any
    /// case. Use it for data that are not played back while they arrive; zero by default.
    ///
    /// At the receiving end it is the time without any message after which an approximate one is
    /// delivered although parts of it are missing, while nothing has arrived damaged.
    pub fn set_patience_with_queues(&self, patience: Duration) {
        self.core.lock().endpoint.set_patience_with_queues(self.id, patience);
    }

    /// Sets how many bytes of sent approximate messages are kept for repair, 256 KiB by default; 0:
    /// none. A message that is kept keeps the whole buffer that its bytes are a part of.
    pub fn set_repair_memory(&self, bytes: usize) {
        self.core.lock().endpoint.set_repair_memory(self.id, bytes);
    }

    /// Sets how long a close waits without progress, that is while nothing precise is acknowledged
    /// or sent for the first time; 60 s by default ([`SapConfig::close_timeout`]).
    ///
    /// [`SapConfig::close_timeout`]: windfall_sap::SapConfig::close_timeout
    pub fn set_linger(&self, linger: Duration) {
        self.core.lock().endpoint.set_linger(self.id, linger);
    }

    /// Returns the condition that its calls wait for.
    fn awaited(&self) -> Awaited {
        Awaited::Connection(self.id)
    }

    fn deadline(&self) -> Option<Instant> {
        let timeout = *self.timeout.lock().unwrap_or_else(PoisonError::into_inner);
        timeout.map(|timeout| self.core.clock.now() + timeout)
    }

    /// Returns the longest message in bytes, 1 MiB by default, whatever the path; to a peer that
    /// does not take messages in parts, the longest that the path carries now, which may grow.
    #[must_use]
    pub fn max_message(&self) -> usize {
        self.core.lock().endpoint.max_message(self.id)
    }

    /// Returns the longest message that goes in one datagram now, in bytes; it may grow. Each part
    /// of a longer message is a datagram of its own.
    #[must_use]
    pub fn max_whole(&self) -> usize {
        self.core.lock().endpoint.max_whole(self.id)
    }

    /// Waits until [`max_whole`](Self::max_whole) is unlikely to grow, at most for `span`: a few
    /// round trips on a new connection, no time later.
    pub fn settle_path(&self, span: Duration) {
        let end = self.core.clock.now() + span;
        let settles_at = || self.core.lock().endpoint.path_settles_at(self.id);
        let is_known = |state: &mut State, now| {
            let at = state.endpoint.path_settles_at(self.id);
            at.is_some_and(|at| at <= now).then_some(())
        };
        while self.core.clock.now() < end {
            let until = settles_at().map_or(end, |at| at.min(end));
            // The wait ends early if the size grows; then there is a new time to wait for.
            if self.core.wait(self.awaited(), Some(until), is_known).is_ok() {
                return;
            }
        }
    }

    /// Returns the smoothed round-trip time, once it was measured.
    #[must_use]
    pub fn round_trip(&self) -> Option<Duration> {
        self.core.lock().endpoint.round_trip(self.id)
    }

    /// Returns a descriptor that is readable while a message or the end can be received; only for
    /// polling.
    ///
    /// # Errors
    /// If the connection has ended, or the process has no descriptors left.
    pub fn readiness(&self) -> Result<OwnedFd, SapError> {
        self.core.readable(self.id)
    }

    /// Returns a descriptor that becomes readable when the send buffer has room again, after
    /// [`try_send`](Self::try_send) found it full; only for polling.
    ///
    /// # Errors
    /// If the connection has ended, or the process has no descriptors left.
    pub fn room(&self) -> Result<OwnedFd, SapError> {
        self.core.writable(self.id)
    }
}

impl Drop for SapSocket {
    fn drop(&mut self) {
        let mut state = self.core.lock();
        state.endpoint.close(self.core.clock.now(), self.id);
        state.connections.remove(&self.id);
        self.core.flush(&mut state);
    }
}

#[cfg(test)]
mod tests;
