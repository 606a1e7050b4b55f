//! TCP that distinguishes damaged segments from lost ones.
//!
//! [`TcpEndpoint`] is the machine: segments, time and application data in; segments, wake-ups and
//! events out. It never reads a clock or a socket. Both ends in ten lines:
//!
//! ```
//! use std::sync::Arc;
//! use windfall_base::{Instant, Seed};
//! use windfall_tcp::{Listener, Lookup, TcpEndpoint};
//!
//! let [near, far] = ["10.0.0.1:0", "10.0.0.2:80"].map(|text| text.parse().unwrap());
//! let mut ends = ["near", "far"].map(|name| TcpEndpoint::new(Seed(1), name, Lookup::Hashed));
//! ends[1].listen(far, Listener::new(Arc::default())).unwrap();
//! let id = ends[0].connect(Instant::START, near, far, Arc::default()).unwrap();
//! ends[0].write(id, b"hello").unwrap();
//! for (from, to) in [(0, 1), (1, 0), (0, 1)] {
//!     while let Some(sent) = ends[from].poll_transmit(Instant::START) {
//!         ends[to].handle_segment(Instant::START, &sent.meta(), &sent.payload()).unwrap();
//!     }
//! }
//! let (id, _) = ends[1].poll_event().unwrap();
//! assert_eq!(ends[1].read(id, 100).unwrap().unwrap(), "hello");
//! ```
//!
//! A segment whose checksum fails is still read. If its corruption detection option shows that the
//! header is intact, [`Connection`] requests a retransmission without treating the damage as
//! congestion (S4). Every setting is in [`TcpConfig`].

mod config;
mod connection;
mod endpoint;
mod event;
mod lookup;
mod operations;
mod reassembly;
mod recovery;
mod rtt;
mod segment;
mod send_buffer;
mod sequence;
mod siphash;
mod timers;

pub use config::{
    AckPolicy, BufferSize, Corruption, Keepalive, LossRecovery, Manner, NotificationMode, Paws,
    Reaction, TcpConfig,
};
pub use connection::{
    Connection, Cork, NegotiatedOptions, SendFlight, SendPhase, SocketPair, TcpState,
};
pub use endpoint::{ConnectionHandle, Listener, OpenError, Overflow, TcpEndpoint};
pub use event::{TcpError, TcpEvent, UseError};
pub use lookup::{ConnectionKey, ConnectionTable, Lookup, LookupCounts};
pub use operations::Operations;
pub use rtt::{RttEstimator, TickEstimation, TimeoutConfig};
pub use segment::{Segment, SegmentMeta, TcpTransmit};
pub use windfall_congestion::CongestionControl;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
