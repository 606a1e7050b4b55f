//! SAP: connections whose messages are precise or approximate, as one machine without sockets.
//!
//! A precise message arrives exactly once, whole and in order; an approximate one at once or never,
//! perhaps damaged where its sender allowed it. [docs/sap.md](../../../../docs/sap.md) specifies
//! the protocol. An [`SapEndpoint`] holds all connections of one socket. Three kinds of method:
//!
//! - commands: [`connect`](SapEndpoint::connect), [`send`](SapEndpoint::send),
//!   [`receive`](SapEndpoint::receive), [`finish`](SapEndpoint::finish),
//!   [`close`](SapEndpoint::close) …
//! - [`handle_datagram`](SapEndpoint::handle_datagram) and
//!   [`handle_timeout`](SapEndpoint::handle_timeout) feed it,
//! - [`poll_transmit`](SapEndpoint::poll_transmit), [`poll_event`](SapEndpoint::poll_event) and
//!   [`poll_timeout`](SapEndpoint::poll_timeout) drain it, in this order, after each of the others.
//!
//! It reads no clock and no socket, and the randomness that it needs comes in as a secret.

pub mod config;
pub mod endpoint;
pub mod error;
pub mod event;
pub mod inspect;
pub mod message;

mod congestion;
mod connection;
mod encode;
mod handshake;
mod numbers;
mod order;
mod pacer;
mod path;
mod rtt;
mod seal;
mod secret;
mod sent;

pub use config::{Profile, SapConfig};
pub use endpoint::{ConnectionId, DropCounts, SapEndpoint};
pub use error::{CloseReason, SapSendError};
pub use event::{Dropped, OutgoingDatagram, SapEvent, Undelivered};
pub use inspect::{Decision, Inspector, MessageCheck, Tolerance};
pub use message::{Integrity, Message, MessageKind, Mode, Received};
pub use seal::SharedKey;
pub use secret::Secret;
