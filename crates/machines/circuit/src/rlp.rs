//! The data services of a GSM circuit: the Radio Link Protocol, transparent mode, and the path
//! behind the base station.
//!
//! A circuit carries one block of 240 bits in each direction every 20 ms, whether or not there is
//! something to say. So these machines have one clock: the caller asks for a block in each slot
//! and passes on what arrived.
//!
//! - [`RlpLink`]: non-transparent mode, retransmission by RLP (GSM 04.22).
//! - [`TransparentLine`]: transparent mode, with start and stop bits or without.
//! - [`MnpLink`]: transparent mode between modems that correct errors and compress, after MNP.
//! - [`E1Line`] and [`TimeslotController`]: the channels of the line behind the base station.
//! - [`TrauReceiver`] and [`BlockTunnel`]: a line of TRAU frames, and blocks between two clocks.

mod config;
mod e1;
mod event;
mod link;
mod mnp;
mod receive;
mod transmit;
mod transparent;
mod trau;
mod tunnel;
mod xid;

pub use config::{RejectMode, RlpConfig, RlpRole, SLOT};
pub use e1::{E1Channel, E1Line, TimeslotController};
pub use event::{RlpDown, RlpEvent};
pub use link::{RlpCounts, RlpLink};
pub use mnp::{MnpCounts, MnpLink};
pub use transparent::{TransparentLine, TransparentMode};
pub use trau::TrauReceiver;
pub use tunnel::BlockTunnel;
