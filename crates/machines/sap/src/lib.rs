//! SAP: connections whose messages are precise or approximate, as a state machine without I/O.
//!
//! A precise message arrives exactly once, complete and in order. An approximate message is sent
//! once, at once, and may arrive damaged where its sender permits it.
//! [docs/reference/sap.md](../../../../docs/reference/sap.md) specifies the protocol. A
//! [`SapEndpoint`] holds all connections of one socket. It has three groups of methods:
//!
//! - commands: [`connect`](SapEndpoint::connect), [`send`](SapEndpoint::send),
//!   [`receive`](SapEndpoint::receive), [`finish`](SapEndpoint::finish),
//!   [`close`](SapEndpoint::close) …
//! - input: [`handle_datagram`](SapEndpoint::handle_datagram) and
//!   [`handle_timeout`](SapEndpoint::handle_timeout),
//! - output: [`poll_transmit`](SapEndpoint::poll_transmit), [`poll_event`](SapEndpoint::poll_event)
//!   and [`poll_timeout`](SapEndpoint::poll_timeout), called in this order after every command and
//!   every input.
//!
//! It reads no clock and no socket; its randomness comes from the [`Secret`] that it is given.

mod budget;
mod collisions;
mod config;
mod congestion;
mod connection;
mod datagram;
mod encode;
mod endpoint;
mod error;
mod event;
mod handshake;
mod hold;
mod inspect;
mod message;
mod numbers;
mod optimistic_ack_guard;
mod order;
mod pacer;
mod parts;
mod path_mtu;
mod path_state;
mod pieces;
mod received_messages;
mod reordering;
mod requested_repairs;
mod ring;
mod rtt;
mod seal;
mod secret;
mod sent;
mod timeouts;
mod trust;

pub use budget::SapBudget;
pub use config::{Profile, SapConfig};
pub use datagram::{DatagramMeta, OutgoingDatagram};
pub use endpoint::{ConnectionId, DropCounts, SapEndpoint};
pub use error::{CloseReason, SapSendError};
pub use event::{Dropped, SapEvent, Undelivered};
pub use inspect::{Decision, Inspector, MessageCheck, Tolerance};
pub use message::{Integrity, Message, MessageKind, Mode, Received};
pub use seal::SharedKey;
pub use secret::Secret;
pub use windfall_congestion::CongestionControl;
pub use windfall_wire_net::sap::Reason;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
