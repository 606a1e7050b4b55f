//! What an endpoint may be told; the two profiles are two sets of these values.

use windfall_base::Duration;
use windfall_wire_net::sap::{HEADER_LEN, data};

/// Bytes of data in every datagram of the paper profile.
pub const PAPER_MESSAGE: usize = 1024;

/// Which protocol the sender runs; both are the same on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Profile {
    /// Window, selective acknowledgements, congestion control, search for the path's size.
    #[default]
    Standard,
    /// As in paper 000: one message outstanding, no backoff, no congestion control (S0.24).
    Paper,
}

/// Everything that an endpoint may be told. Sizes are bytes of SAP datagrams, header included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SapConfig {
    /// The profile that these values belong to.
    pub profile: Profile,
    /// A size that every path carries.
    pub base_datagram: usize,
    /// The greatest size to send or to take.
    pub max_datagram: usize,
    /// Whether to search for greater sizes than the base.
    pub path_discovery: bool,
    /// Precise messages that may be on their way.
    pub window: usize,
    /// Whether the sender heeds a congestion window and paces what it sends.
    pub congestion_control: bool,
    /// Precise datagrams after which an acknowledgement is due.
    pub ack_every: u32,
    /// The longest time that an acknowledgement waits.
    pub ack_delay: Duration,
    /// How long to wait for an acknowledgement before a round trip was measured.
    pub initial_timeout: Duration,
    /// The least time to wait for an acknowledgement.
    pub min_timeout: Duration,
    /// Whether to measure round trips and wait longer after each repetition.
    pub adaptive_timeout: bool,
    /// How long a connect may take.
    pub connect_timeout: Duration,
    /// How long a connection stands without a word from the other end.
    pub idle_timeout: Duration,
    /// After how much silence to ask for a word.
    pub keepalive: Option<Duration>,
    /// How long a close waits without anything getting on: no message is acknowledged, and none
    /// goes out for the first time. Three timeouts, where those are longer.
    pub close_timeout: Duration,
    /// Bytes of messages that wait for the application, and for their order.
    pub receive_buffer: usize,
    /// Bytes of messages that wait for the application, of all connections together. Beyond them
    /// each connection keeps to an equal share of as much.
    pub receive_total: usize,
    /// Bytes of messages that wait to be sent or acknowledged.
    pub send_buffer: usize,
    /// Bytes of approximate messages kept for repair.
    pub repair_memory: usize,
    /// Whether approximate data carry a check for each block, so that damage can be located.
    pub block_checks: bool,
    /// Streams that a peer may open.
    pub max_streams: usize,
    /// Connections that stand, in all.
    pub max_connections: usize,
    /// Connections half open beyond which a ping must bring a token first.
    pub free_half_open: usize,
    /// Connections half open, in all.
    pub max_half_open: usize,
    /// How long a connection may stay half open.
    pub half_open_timeout: Duration,
}

impl SapConfig {
    /// The standard profile.
    #[must_use]
    pub const fn standard() -> Self {
        Self {
            profile: Profile::Standard,
            base_datagram: 1232,
            max_datagram: 65_400,
            path_discovery: true,
            window: 1 << 14,
            congestion_control: true,
            ack_every: 32,
            ack_delay: Duration::from_millis(10),
            initial_timeout: Duration::from_millis(250),
            min_timeout: Duration::from_millis(20),
            adaptive_timeout: true,
            connect_timeout: Duration::from_secs(5),
            idle_timeout: Duration::from_secs(60),
            keepalive: Some(Duration::from_secs(15)),
            close_timeout: Duration::from_secs(3),
            receive_buffer: 4 << 20,
            receive_total: 256 << 20,
            send_buffer: 4 << 20,
            repair_memory: 256 << 10,
            block_checks: true,
            max_streams: 64,
            max_connections: 1 << 16,
            free_half_open: 64,
            max_half_open: 1024,
            half_open_timeout: Duration::from_secs(10),
        }
    }

    //= S0.24
    /// The paper profile: datagrams of 1 KB, one of them outstanding, a fixed time to wait, an
    /// acknowledgement for each, and neither congestion control nor search for the path's size.
    #[must_use]
    pub const fn paper() -> Self {
        let datagram = HEADER_LEN + data::FIXED_LEN + PAPER_MESSAGE;
        Self {
            profile: Profile::Paper,
            base_datagram: datagram,
            max_datagram: datagram,
            path_discovery: false,
            window: 1,
            congestion_control: false,
            ack_every: 1,
            ack_delay: Duration::ZERO,
            initial_timeout: Duration::from_millis(50),
            adaptive_timeout: false,
            keepalive: None,
            block_checks: false,
            ..Self::standard()
        }
    }

    /// The profile by its name.
    #[must_use]
    pub const fn of(profile: Profile) -> Self {
        match profile {
            Profile::Standard => Self::standard(),
            Profile::Paper => Self::paper(),
        }
    }
}

impl Default for SapConfig {
    fn default() -> Self {
        Self::standard()
    }
}
