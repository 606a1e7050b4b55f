//! The record of one connection: bytes, times, and the steps of TCP for it.

use std::net::SocketAddr;

use serde::Serialize;
use windfall_base::{Duration, Instant};
use windfall_tcp::{Connection, Operations};

/// The record of one connection that is over.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ConnectionRecord {
    /// Our end, once known.
    pub local: Option<SocketAddr>,
    /// The address of the peer.
    pub remote: Option<SocketAddr>,
    /// Bytes from this end that the peer has acknowledged; those written, if the kernel's TCP sent
    /// them.
    pub sent: u64,
    /// Bytes from the peer to this end.
    pub received: u64,
    /// Bytes that this end had sent before it closed in order, and that the peer has not
    /// acknowledged; and bytes that the engine had acknowledged and the kernel of the local program
    /// had not, unless that program left before a peer that had not closed.
    pub lost: u64,
    /// From the first moment of the connection to the last byte of it, acknowledged.
    pub seconds: f64,
    /// Bits of data in a second, in the direction that carried more.
    pub goodput_bps: f64,
    /// Data segments sent again.
    pub retransmissions: u64,
    /// Timeouts of the retransmission timer; the kernel does not tell.
    pub timeouts: Option<u64>,
    /// The smoothed round-trip time.
    pub rtt_seconds: Option<f64>,
    /// The share that header prediction took of the segments that it was tried on; the kernel does
    /// not tell.
    pub prediction_rate: Option<f64>,
    /// The count of each step of processing; unknown of the kernel.
    pub operations: Option<Operations>,
    /// The place of the first byte that was not what the peer should have sent.
    pub first_wrong_byte: Option<u64>,
    /// Why the connection ended, if not well.
    pub error: Option<String>,
}

impl ConnectionRecord {
    /// Takes the bytes and the time, and what follows from them. The peer has acknowledged what
    /// counts as `sent`; the rest may be lost.
    pub(super) fn measure(&mut self, sent: u64, received: u64, span: Duration) {
        self.sent = sent;
        self.received = received;
        self.seconds = span.as_nanos() as f64 / 1e9;
        let most = sent.max(received) as f64 * 8.0;
        self.goodput_bps = if self.seconds > 0.0 { most / self.seconds } else { 0.0 };
    }

    /// Takes what the engine knows of the connection.
    pub(super) fn describe(&mut self, connection: &Connection) {
        let operations = connection.operations();
        let rtt = connection.round_trip_time();
        self.local = Some(connection.path().local);
        self.remote = Some(connection.path().remote);
        self.retransmissions = operations.retransmissions;
        self.timeouts = Some(operations.timeouts);
        self.rtt_seconds = rtt.map(Duration::as_secs_f64);
        self.prediction_rate = Some(operations.prediction_rate());
        self.operations = Some(*operations);
    }
}

/// The times of a connection that is going on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    /// When it was connected, or else opened.
    pub(super) began: Instant,
    /// When the last byte of data came or was acknowledged.
    pub(super) last: Instant,
    /// When data that had come were last seen to be undelivered, while the engine drains.
    pub(super) undelivered: Instant,
}

impl Times {
    pub(super) const fn starting(now: Instant) -> Self {
        Self { began: now, last: now, undelivered: now }
    }

    pub(super) const fn span(&self) -> Duration {
        self.last.saturating_since(self.began)
    }
}
