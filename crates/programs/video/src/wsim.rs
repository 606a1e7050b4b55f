//! WSim of paper 001, section 5.1: video over a trace of damaged radio blocks.
//!
//! - [`literal()`] is the algorithm as the paper has it: 42 bytes of headers, 28 bytes of a packet
//!   in each block of 30, and all or a fifth of the bytes of a damaged block changed.
//! - [`circuit()`] sends the same stream as real packets through the transparent circuit: headers
//!   of RTP, UDP or UDP-Lite, IP and PPP as they are, ten bits for each byte, and the inverted bits
//!   of the trace where they lie.
//! - [`rtp_datagram`] and [`rtp_of`]: packets of RTP in datagrams of UDP or UDP-Lite.
//! - [`HeaderLayout`]: the headers of Figure 3 with their offsets.

mod blocks;
mod circuit;
mod datagram;
mod layout;
mod literal;
mod run;

pub use blocks::{BlockErrors, BlockTraceError};
pub use circuit::{CircuitConfig, CircuitService, circuit};
pub use datagram::{rtp_datagram, rtp_of};
pub use layout::{HeaderLayout, HeaderPart};
pub use literal::{BlockCorruption, LITERAL_HEADERS, LiteralConfig, literal};
pub use run::{WsimOutcome, WsimPacket, WsimProtocol, WsimRun};
