//! A TCP that can be told what its segments went through.
//!
//! [`Endpoint`] is the machine: segments, time and application data in; segments, wake-ups and
//! events out. It never reads a clock or a socket. Both ends in a few lines:
//!
//! ```
//! use std::sync::Arc;
//! use windfall_base::{Instant, Seed};
//! use windfall_tcp::{Arrival, Config, Endpoint, Listener, lookup::Lookup};
//!
//! let [near, far] = ["10.0.0.1:0", "10.0.0.2:80"].map(|text| text.parse().unwrap());
//! let config = Arc::new(Config::default());
//! let mut ends = ["near", "far"].map(|name| Endpoint::new(Seed(1), name, Lookup::Hashed));
//! ends[1].listen(far, Listener::new(config.clone())).unwrap();
//! let now = Instant::START;
//! let id = ends[0].connect(now, near, far, config).unwrap();
//! ends[0].write(id, b"hello").unwrap();
//! for end in [0, 1, 0, 1] {
//!     while let Some(segment) = ends[end].poll_transmit(now) {
//!         let (addresses, ecn) = (segment.addresses, segment.ecn);
//!         let arrival = Arrival { addresses, ecn, missing: 0 };
//!         ends[1 - end].handle_segment(now, &arrival, &segment.payload()).unwrap();
//!     }
//! }
//! let (accepted, _) = ends[1].poll_event().unwrap();
//! assert_eq!(&ends[1].read(accepted, 100).unwrap().unwrap()[..], b"hello");
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
