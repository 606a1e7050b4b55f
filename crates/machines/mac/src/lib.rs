//! Who may transmit among stations.
//!
//! - [`Client`]: the seam to whatever repeats and queues above.
//! - [`wavelan`]: a coordinator polls, stations respond.
//! - [`wifi`]: stations of 802.11 contend for the medium.
//!
//! A machine here knows when there is air time and for whom; what is sent in it, and whether it is
//! sent again, its client decides.

pub mod client;
pub mod wavelan;
pub mod wifi;

pub use client::Client;
pub use windfall_wire_link::wavelan::{Address, Feedback};
