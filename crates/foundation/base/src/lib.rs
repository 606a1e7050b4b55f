//! Time, units, random streams, frames and the contract that every protocol machine keeps.
//!
//! Everything else in Windfall stands on these few types:
//!
//! - [`Instant`] and [`Duration`]: integers of nanoseconds; no machine ever reads a clock.
//! - [`Stream`]: randomness by name, so that adding an element never shifts the others.
//! - [`Frame`]: bytes in shared slices, and what is *known* (never what is true) of their damage.
//! - [`Node`]: the four verbs of every machine, and [`Ledger`], the account that it keeps.
//! - [`PacketEvent`]: what happened to a packet, in the same words on every floor.

mod bits;
pub mod damage;
pub mod frame;
pub mod ledger;
mod line_rate;
pub mod memory;
pub mod node;
mod packet_event;
pub mod quantity;
pub mod random;
mod range_set;
mod rtt;
pub mod seq;
mod spelling;
pub mod text;
pub mod time;
pub mod transit;
pub mod units;

pub use bits::Bits;
pub use damage::{Check, Damage};
pub use frame::{
    Class, Congestion, CoveredPacket, FlowId, Frame, FrameParts, Payload, Picked, Tag,
};
pub use ledger::{DropReason, Drops, Ledger};
pub use line_rate::LineRate;
pub use memory::{MEMORY_VARIABLE, MemoryBudget, OverBudget};
pub use node::{
    Failure, Input, Node, Outgoing, Overheard, Port, Preamble, RxVector, TxVector, earlier,
};
pub use packet_event::{DropSite, PacketCounters, PacketDrop, PacketEvent, PacketEventKind};
pub use quantity::ParseUnitError;
pub use random::{Seed, Stream};
pub use range_set::{Ordinal, RangeSet};
pub use rtt::SmoothedRtt;
pub use spelling::nearest;
pub use time::{Duration, Instant};
pub use transit::{FramesOfPacket, SlotTiming, TransitTiming};
pub use units::{ByteCount, Dbm, Metres, Probability, Rate};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
