//! Queries of the owner of a connection: its state, its counts, its estimates.

use windfall_base::Duration;

use super::{Connection, NegotiatedOptions, SocketPair, TcpState};
use crate::config::TcpConfig;
use crate::event::TcpError;
use crate::operations::Operations;

impl Connection {
    /// Returns whether the peer has finished and everything that it sent was read.
    #[must_use]
    pub fn at_end(&self) -> bool {
        self.receiver.finished && self.receiver.buffer.readable() == 0
    }

    /// Returns whether the peer has finished, even if not everything that it sent was read.
    #[must_use]
    pub const fn peer_has_finished(&self) -> bool {
        self.receiver.finished
    }

    /// Returns the state of the connection.
    #[must_use]
    pub const fn state(&self) -> TcpState {
        self.state
    }

    /// Returns the reason why the connection is over, unless it ended well.
    #[must_use]
    pub const fn error(&self) -> Option<TcpError> {
        self.error
    }

    /// Returns the options that both ends agreed on.
    #[must_use]
    pub const fn negotiated(&self) -> &NegotiatedOptions {
        &self.negotiated
    }

    /// Returns the two ends.
    #[must_use]
    pub const fn path(&self) -> &SocketPair {
        &self.path
    }

    /// Returns the configuration of the connection.
    #[must_use]
    pub fn config(&self) -> &TcpConfig {
        &self.config
    }

    /// Returns the counts of processing steps.
    #[must_use]
    pub const fn operations(&self) -> &Operations {
        &self.operations
    }

    pub(crate) const fn operations_mut(&mut self) -> &mut Operations {
        &mut self.operations
    }

    /// Returns the congestion window, in bytes.
    #[must_use]
    pub fn congestion_window(&self) -> u64 {
        self.congestion.window()
    }

    /// Returns the slow-start threshold, in bytes.
    #[must_use]
    pub fn slow_start_threshold(&self) -> u64 {
        self.congestion.threshold()
    }

    /// Returns the number of data bytes in a full segment that it sends.
    #[must_use]
    pub const fn segment_size(&self) -> u64 {
        self.sender.mss
    }

    /// Returns the smoothed round-trip time, once measured.
    #[must_use]
    pub const fn round_trip_time(&self) -> Option<Duration> {
        self.rtt.smoothed()
    }

    /// Returns the retransmission timeout.
    #[must_use]
    pub fn retransmission_timeout(&self) -> Duration {
        self.rtt.timeout()
    }

    /// Measurements of the round-trip time taken.
    #[must_use]
    pub const fn round_trip_samples(&self) -> u64 {
        self.rtt.samples()
    }

    /// Bytes written and not acknowledged.
    #[must_use]
    pub const fn unacknowledged(&self) -> usize {
        self.sender.buffer.len()
    }

    /// Returns the number of written bytes that the peer has acknowledged, even after the end.
    #[must_use]
    pub fn acknowledged(&self) -> u64 {
        // The SYN comes before the first byte, and a FIN after the last.
        self.sender.una.saturating_sub(1).min(self.sender.buffer.end())
    }

    /// Returns the number of bytes that can be read.
    #[must_use]
    pub const fn readable(&self) -> usize {
        self.receiver.buffer.readable()
    }

    /// Returns the number of bytes that both buffers hold.
    #[must_use]
    pub fn held_bytes(&self) -> usize {
        self.sender.buffer.len() + self.receiver.buffer.held()
    }
}
