//! Parameters of an endpoint; the two profiles are two sets of values.

use windfall_base::Duration;
use windfall_congestion::CongestionControl;
use windfall_wire_net::sap::{HEADER_LEN, data};

/// Bytes of data in each datagram of the paper profile.
const PAPER_MESSAGE: usize = 1024;

/// The sender's protocol; both profiles have the same wire format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Profile {
    /// Window, selective acknowledgements, congestion control, path MTU discovery.
    #[default]
    Standard,
    /// Stop and wait as in paper 000, without backoff or congestion control (S0.24).
    Paper,
}

/// Parameters of an endpoint. Sizes are bytes of SAP datagrams, header included.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct SapConfig {
    /// The profile that these values come from.
    pub profile: Profile,
    /// The datagram size that every path is assumed to carry (BASE_PLPMTU of RFC 8899).
    pub base_datagram: usize,
    /// The largest datagram to send or to accept (MAX_PLPMTU of RFC 8899).
    pub max_datagram: usize,
    /// Enables the search for a larger path MTU than the base size (RFC 8899).
    pub path_discovery: bool,
    /// The maximum number of precise messages in flight.
    pub window: usize,
    /// Enables the congestion window and pacing.
    pub congestion_control: bool,
    /// The algorithm behind the congestion window. SAP measures no rates of delivery, which BBR
    /// needs to grow.
    pub controller: CongestionControl,
    /// The number of precise datagrams after which an acknowledgement is due.
    pub ack_every: u32,
    /// The longest delay of an acknowledgement (max_ack_delay of RFC 9000).
    pub ack_delay: Duration,
    /// The retransmission timeout before the first round-trip sample.
    pub initial_timeout: Duration,
    /// The smallest retransmission timeout.
    pub min_timeout: Duration,
    /// Derives the timeout from measured round trips and doubles it after each retransmission.
    pub adaptive_timeout: bool,
    /// The time limit of a connection attempt.
    pub connect_timeout: Duration,
    /// The time without any packet from the peer after which a connection ends.
    pub idle_timeout: Duration,
    /// The time without any packet from the peer after which a connection ends, if the peer leaves
    /// retransmissions unanswered. `None`: only the idle timeout applies.
    pub silence_timeout: Option<Duration>,
    /// The idle time after which a keepalive probe is sent; `None`: no keepalive.
    pub keepalive: Option<Duration>,
    /// The time without progress after which a close gives up, but at least three retransmission
    /// timeouts. Progress is the acknowledgement or the first transmission of a message. An
    /// application may set its own limit for a connection.
    pub close_timeout: Duration,
    /// The capacity for received messages that the application has not read, in order or not, in
    /// bytes.
    pub receive_buffer: usize,
    /// The capacity for the messages of all connections together, received or to be sent, in bytes.
    /// Once half of it is taken, each connection is limited to an equal share of the other half.
    /// [`SapEndpoint::share_budget`](crate::SapEndpoint::share_budget) limits several endpoints.
    pub memory_total: usize,
    /// An incomplete approximate message is delivered only if at least one in this number of its
    /// bytes has arrived. Otherwise a peer that announces long messages and sends little of them
    /// would occupy much memory.
    pub most_missing: usize,
    /// The capacity for messages to be sent or acknowledged, in bytes.
    pub send_buffer: usize,
    /// The capacity for sent approximate messages that are kept for repair, in bytes.
    pub repair_memory: usize,
    /// The longest message in bytes. A message longer than a datagram is segmented into parts. 0:
    /// no message is segmented.
    pub max_message: usize,
    /// Adds a check to each block of approximate data, so that damage is located.
    pub block_checks: bool,
    /// The maximum number of streams with precise messages, in each direction.
    pub max_streams: usize,
    /// The maximum number of connections, half-open ones included.
    pub max_connections: usize,
    /// The maximum number of connections of one address, or of one IPv6 network of 64 bits.
    pub max_per_address: usize,
    /// The maximum number of connections that the application has not accepted, half-open ones
    /// included, of one address.
    pub max_waiting_per_address: usize,
    /// The maximum number of connections that the application has not accepted, half-open ones
    /// included.
    pub max_waiting: usize,
    /// The number of half-open connections from which on a ping must carry an address validation
    /// token.
    pub free_half_open: usize,
    /// The maximum number of half-open connections.
    pub max_half_open: usize,
    /// The lifetime of a half-open connection.
    pub half_open_timeout: Duration,
}

impl SapConfig {
    /// Returns the configuration with what `change` sets.
    ///
    /// Other crates cannot write out all fields, because later versions may have more.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// Returns the standard profile.
    #[must_use]
    pub const fn standard() -> Self {
        Self {
            profile: Profile::Standard,
            base_datagram: 1232,
            max_datagram: 65_400,
            path_discovery: true,
            window: 1 << 14,
            congestion_control: true,
            controller: CongestionControl::CUBIC,
            ack_every: 32,
            ack_delay: Duration::from_millis(10),
            initial_timeout: Duration::from_millis(250),
            min_timeout: Duration::from_millis(20),
            adaptive_timeout: true,
            connect_timeout: Duration::from_secs(5),
            idle_timeout: Duration::from_secs(60),
            silence_timeout: None,
            keepalive: Some(Duration::from_secs(15)),
            close_timeout: Duration::from_secs(60),
            receive_buffer: 4 << 20,
            memory_total: 256 << 20,
            most_missing: 8,
            send_buffer: 4 << 20,
            repair_memory: 256 << 10,
            max_message: 1 << 20,
            block_checks: true,
            max_streams: 64,
            max_connections: 1 << 16,
            max_per_address: 1024,
            max_waiting_per_address: 64,
            max_waiting: 4096,
            free_half_open: 64,
            max_half_open: 1024,
            half_open_timeout: Duration::from_secs(10),
        }
    }

    //= S0.24
    /// Returns the paper profile: datagrams of 1 KB, one in flight, a fixed timeout, an
    /// acknowledgement for each, no congestion control and no path MTU discovery.
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
            max_message: 0,
            block_checks: false,
            ..Self::standard()
        }
    }

    /// Returns the values of a profile.
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
