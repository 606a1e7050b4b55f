//! Erasure codes across packets (packet-level FEC), for links without feedback. The sender adds
//! repair frames, from which a receiver restores lost packets and corrects damaged ones.
//!
//! - [`RepairConfig`]: the code, and the time for which a receiver waits for repairs.
//! - [`RepairSender`]: appends a trailer to each packet, and builds repairs.
//! - [`RepairReceiver`]: handles both, and passes packets up in order.
//!
//! Both work above any link and are independent of it. So the same code works over a pipe and over
//! a radio, for one receiver and for several. Packets that are coded together form a *stream*,
//! whose number the sender chooses.

mod config;
mod receiver;
mod sender;
mod stream;
mod trailer;

pub use config::{ParseRepairError, RepairCode, RepairConfig};
pub use receiver::RepairReceiver;
pub use sender::RepairSender;

/// The maximum number of streams at a sender or a receiver. The one that was idle longest is
/// dropped first.
const MOST_STREAMS: usize = 64;

/// The maximum number of bytes by which a repair is longer than the longest packet: its trailer,
/// the header of a symbol, and the beginning of a packet.
pub const MOST_OVERHEAD: usize = windfall_wire_link::repair::TRAILER_LEN
    + windfall_wire_link::repair::SYMBOL_HEADER
    + sender::MOST_BEFORE;

#[cfg(test)]
mod tests;
