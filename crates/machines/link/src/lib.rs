//! Framing and error control between two stations; the link does not parse the packets (S3.4).
//!
//! - [`framing`]: the link header and the frame check of a packet.
//! - [`Arq`]: the limit of retransmissions.
//! - [`Pipe`]: one end of a full-duplex pipe.
//! - [`StopAndWait`]: stop-and-wait ARQ with one peer, over a medium that acknowledges at once.
//! - [`Coded`]: the same in coded blocks, of which only the failed ones are retransmitted.
//! - [`Exchange`]: either of the two.
//! - [`repair`]: erasure codes across packets, above any of these links.
//! - [`policy`]: the size of coded frames, and the amount of parity.

mod arq;
mod arrival;
pub mod coded;
mod combine;
pub mod exchange;
pub mod framing;
mod output;
pub mod persistence;
pub mod pipe;
pub mod policy;
pub mod repair;
pub mod stop_and_wait;
mod undecided;
pub mod window;

pub use arrival::Arrival;
pub use coded::pipelined::Coding;
pub use coded::{Coded, CodedConfig};
pub use exchange::{Exchange, Framing};
pub use persistence::Arq;
pub use pipe::{LeastTime, Pipe, PipeConfig};
pub use repair::{RepairConfig, RepairReceiver, RepairSender};
pub use stop_and_wait::StopAndWait;
pub use window::{Pulled, Window};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
