//! A link in simulated time: packets in, deliveries out, no clock and no socket.
//!
//! For tests whose clock is their own, whatever runs them: the caller says when a packet is sent,
//! and asks what arrives and when to ask again. Rate, delay, jitter, reordering, queues with marks
//! (ECN), loss, bit errors, retransmission and rate traces are those of `windfall run`, and so are
//! their names; the seed repeats every draw.
//!
//! ```
//! use std::time::Duration;
//! use windfall_sim_link::{SimDatagram, SimEnd, SimSettings};
//!
//! # fn main() -> Result<(), windfall_sim_link::SimError> {
//! let mut link = SimSettings::new().rate("8Mbps").delay("10ms").seed(7).build()?;
//! let datagram = SimDatagram {
//!     from: "10.77.0.1:4000".parse().unwrap(),
//!     to: "10.77.0.2:5000".parse().unwrap(),
//!     ecn: Default::default(),
//!     payload: vec![7; 972].into(),
//! };
//! link.send(Duration::ZERO, SimEnd::Near, datagram.to_packet()?)?;
//! // The end of the packet leaves after a millisecond, and arrives ten later.
//! let mut now = Duration::ZERO;
//! let delivery = loop {
//!     match link.poll_delivery(now) {
//!         Some(delivery) => break delivery,
//!         None => now = link.poll_timeout().expect("a packet is on its way"),
//!     }
//! };
//! assert_eq!((delivery.to, delivery.damaged), (SimEnd::Far, false));
//! assert!(delivery.at >= Duration::from_millis(11) && delivery.at < Duration::from_millis(12));
//! assert_eq!(SimDatagram::parse(&delivery.packet), Some(datagram));
//! # Ok(())
//! # }
//! ```
//!
//! - [`SimSettings`]: a link by the names of its settings.
//! - [`SimLink`]: the link.
//! - [`SimDatagram`]: datagrams of UDP as packets, and what a receiver makes of damaged ones.

mod datagram;
mod error;
mod link;
mod settings;

pub use datagram::SimDatagram;
pub use error::SimError;
pub use link::{SimCounts, SimDelivery, SimEnd, SimLink};
pub use settings::SimSettings;
pub use windfall_wire_net::Ecn;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
