//! UDP-Lite and SAP on the operating system's sockets.
//!
//! - [`UdpLiteSocket`]: UDP-Lite on any Linux, over one of three [`Carrier`]s.
//! - [`SapListener`] and [`SapSocket`]: connections whose messages are precise or approximate.
//! - `asynchronous`, with the feature `tokio`: the same for asynchronous programs.
//!
//! ```
//! use windfall_socket::{Mode, SapListener, SapSocket};
//!
//! # fn main() -> Result<(), windfall_socket::SapError> {
//! let listener = SapListener::bind("127.0.0.1:0")?;
//! let sender = SapSocket::connect(listener.local_addr()?)?;
//! sender.send(b"exact, in order, acknowledged")?;
//! sender.set_mode(Mode::Approximate { protected: 4 });
//! sender.send(b"now, and exact in its first four bytes")?;
//!
//! let (receiver, _from) = listener.accept()?;
//! let message = receiver.recv()?.expect("the sender has not finished");
//! println!("{:?}: {:?}", message.kind, message.data);
//! # Ok(())
//! # }
//! ```

#[cfg(feature = "tokio")]
pub mod asynchronous;
mod carrier;
mod checksum_errors;
mod clock;
mod driver;
mod eager;
mod error;
mod hints;
mod memory;
mod pool;
#[cfg(feature = "tokio")]
mod runtime;
mod sap;
mod signal;
mod source;
mod system;
mod udplite;
mod waiting;

pub use bytes::Bytes;
pub use carrier::{Carrier, UnknownCarrier};
pub use checksum_errors::ChecksumErrors;
pub use error::{SapError, UnfinishedReason};
pub use memory::{give_freed_memory_back, limit_memory, memory};
#[cfg(feature = "tokio")]
pub use runtime::make_runtime;
pub use sap::{SapListener, SapOptions, SapSocket};
pub use udplite::{
    ReceivedDatagram, UDPLITE_RECV_CSCOV, UDPLITE_SEND_CSCOV, UdpLiteDatagram, UdpLiteSocket,
    dropped_datagrams, enlarge_buffers,
};
pub use windfall_base::{DropReason, Drops, Duration};
pub use windfall_sap::{
    CloseReason, Decision, Integrity, Message, MessageCheck, MessageKind, Mode, Profile, Reason,
    Received, SapConfig, SapSendError, SharedKey, Tolerance, Undelivered,
};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
