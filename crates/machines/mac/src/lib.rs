//! Medium access: which station may transmit, and when.
//!
//! - [`Client`]: the interface to the layer above, which queues and retransmits.
//! - [`wavelan`]: a coordinator polls, stations respond.
//! - [`wifi`]: stations of 802.11 contend for the medium.
//!
//! A machine here decides when a station transmits, and to which peer. Its client decides the
//! contents and the retransmissions.

pub mod client;
pub mod wavelan;
pub mod wifi;

pub use client::Client;
pub use windfall_wire_link::wavelan::{Address, Feedback};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
