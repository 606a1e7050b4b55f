//! PPP on a serial line (RFC 1661, 1662, 1332, 5072): packets in, bytes out, and back.
//!
//! - [`PppLink`] is one end: LCP, IPCP and IPV6CP, each an automaton of RFC 1661, over HDLC-like
//!   frames. It never reads a clock; bytes of the line come and go in any pieces.
//! - [`Deframer`] finds frames in bytes. In [`FrameMode::Lite`] a packet whose check fails is
//!   passed up as damaged: PPP Lite.

mod automaton;
mod config;
mod deframer;
mod event;
mod ipcp;
mod ipv6cp;
mod layer;
mod lcp;
mod link;
mod negotiation;

pub use config::{FrameMode, PppConfig};
pub use deframer::{Deframed, Deframer, DeframerCounts};
pub use event::{PppEvent, PppPacket};
pub use link::PppLink;
