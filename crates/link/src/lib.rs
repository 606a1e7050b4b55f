//! Framing and error control between two stations, blind to what the packets carry (S3.4).
//!
//! - [`framing`]: a packet gets its header and trailer, and loses them again with what they say.
//! - [`Arq`]: the policy of repeating.
//! - [`Pipe`]: the two ends of a full-duplex pipe in one machine.

mod arq;
pub mod event;
pub mod framing;
pub mod persistence;
pub mod pipe;
pub mod window;

pub use event::{Arrival, Event};
pub use persistence::Arq;
pub use pipe::{Pipe, PipeConfig};
pub use window::{Pulled, Window};
