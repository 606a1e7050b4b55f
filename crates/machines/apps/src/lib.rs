//! Applications as machines that speak socket commands; each is a
//! [`Application`](windfall_stack::socket_api::Application).
//!
//! - [`Ping`] sends echo requests and times the replies.
//! - [`Spray`] sends datagrams at an offered rate and cares for nothing (S3.24).
//! - [`Cbr`] sends datagrams at a constant rate.
//! - [`Bulk`] sends bytes over a TCP connection as fast as it takes them, to a [`BulkSink`].
//! - [`streamer`] and [`tracker`] are the contents and measures of two programs of paper 000; the
//!   faces send and receive them.
//! - [`SapSender`] sends messages over SAP, as fast as it takes them or at their times, to a
//!   [`SapSink`].
//! - [`Sink`] receives what those two send and knows each bit of it beforehand.

pub mod arrivals;
pub mod bulk;
pub mod pattern;
pub mod ping;
pub mod quantiles;
pub mod sap;
pub mod sender;
pub mod sink;
pub mod spacing;
pub mod spread;
pub mod streamer;
pub mod tracker;

pub use bulk::{Bulk, BulkConfig, BulkSink, BulkSinkConfig};
pub use pattern::{Pattern, Wrong};
pub use ping::{Ping, PingConfig};
pub use quantiles::Quantiles;
pub use sap::{SapPace, SapSender, SapSenderConfig, SapSink, SapSinkConfig};
pub use sender::{Cbr, SenderConfig, Spray};
pub use sink::{Sink, SinkConfig};
pub use spacing::{Departures, Pace, Spacing};
pub use spread::Spread;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
