//! A TCP that can be told what its segments went through.
//!
//! [`Endpoint`] is the machine: segments, time and application data in; segments, wake-ups and
//! events out. It never reads a clock or a socket. Both ends in ten lines:
//!
//! ```
//! use std::sync::Arc;
//! use windfall_base::{Instant, Seed};
//! use windfall_tcp::{Endpoint, Listener, lookup::Lookup};
//!
//! let [near, far] = ["10.0.0.1:0", "10.0.0.2:80"].map(|text| text.parse().unwrap());
//! let mut ends = ["near", "far"].map(|name| Endpoint::new(Seed(1), name, Lookup::Hashed));
//! ends[1].listen(far, Listener::new(Arc::default())).unwrap();
//! let id = ends[0].connect(Instant::START, near, far, Arc::default()).unwrap();
//! ends[0].write(id, b"hello").unwrap();
//! for (from, to) in [(0, 1), (1, 0), (0, 1)] {
//!     while let Some(sent) = ends[from].poll_transmit(Instant::START) {
//!         ends[to].handle_segment(Instant::START, &sent.arrival(), &sent.payload()).unwrap();
//!     }
//! }
//! let (id, _) = ends[1].poll_event().unwrap();
//! assert_eq!(ends[1].read(id, 100).unwrap().unwrap(), "hello");
//! ```
//!
//! A segment whose checksum fails is not thrown away unread: where its corruption detection option
//! says that the header is whole, [`Connection`] asks the sender for it again without taking the
//! damage for congestion (S4). Every knob is in [`Config`].

pub mod config;
pub mod congestion;
pub mod connection;
pub mod endpoint;
pub mod event;
pub mod lookup;
pub mod operations;
pub mod ranges;
pub mod reassembly;
pub mod recovery;
pub mod rtt;
pub mod segment;
pub mod send_buffer;
pub mod sequence;
pub mod siphash;
pub mod timers;

pub use config::Config;
pub use connection::{Connection, Path, State};
pub use endpoint::{ConnectionId, Endpoint, Listener, OpenError, Overflow};
pub use event::{Event, TcpError, UseError};
pub use operations::Operations;
pub use segment::{Arrival, Segment, Transmit};
