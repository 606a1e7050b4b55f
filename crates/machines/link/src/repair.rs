//! Codes across packets, for links without feedback: from repairs beside the packets, a receiver
//! restores lost packets and corrects damaged ones.
//!
//! - [`RepairConfig`]: the code, and how long a receiver waits.
//! - [`RepairSender`]: appends a trailer to each packet, and makes repairs.
//! - [`RepairReceiver`]: takes both, and passes packets up in order.
//!
//! Both work above any link and know nothing of it, so the same code crosses a pipe and a radio, to
//! one receiver or to many. Packets that are coded together form a *stream*, whose number its
//! sender chooses.

mod config;
mod receiver;
mod sender;
mod stream;
mod trailer;

pub use config::{ParseRepairError, RepairCode, RepairConfig};
pub use receiver::RepairReceiver;
pub use sender::RepairSender;

/// Streams that a sender or a receiver keeps at most; the one that was idle longest gives way.
const MOST_STREAMS: usize = 64;

/// Bytes that a frame with a repair may be longer than the longest packet: its trailer, what a sum
/// holds beside the packet, and the beginning of a packet.
pub const MOST_OVERHEAD: usize = windfall_wire_link::repair::TRAILER_LEN
    + windfall_wire_link::repair::SYMBOL_HEADER
    + sender::MOST_BEFORE;

#[cfg(test)]
mod tests;
