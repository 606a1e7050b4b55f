//! SAP: connections whose messages are precise or approximate, as one machine without sockets.
//!
//! A precise message arrives exactly once, whole and in order; an approximate one at once or never,
//! perhaps damaged where its sender allowed it. [docs/sap.md](../../../../docs/sap.md) specifies
//! the protocol. An [`Endpoint`] holds all connections of one socket. Three kinds of method:
//!
//! - commands: [`connect`](Endpoint::connect), [`send`](Endpoint::send),
//!   [`receive`](Endpoint::receive), [`finish`](Endpoint::finish), [`close`](Endpoint::close) …
//! - [`handle_datagram`](Endpoint::handle_datagram) and
//!   [`handle_timeout`](Endpoint::handle_timeout) feed it,
//! - [`poll_transmit`](Endpoint::poll_transmit), [`poll_event`](Endpoint::poll_event) and
//!   [`poll_timeout`](Endpoint::poll_timeout) drain it, in this order, after each of the others.
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

pub use config::{Config, Profile};
pub use endpoint::{ConnectionId, Drops, Endpoint};
pub use error::{CloseReason, SendError};
pub use event::{Dropped, Event, Transmit, Undelivered};
pub use inspect::{Check, Inspector, Opinion, Tolerance};
pub use message::{Integrity, Kind, Message, Mode, Received};
pub use seal::Key;
pub use secret::Secret;
