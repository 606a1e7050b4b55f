//! The event log of a run, layer by layer, as the tools of paper 001 show it (section 3).
//!
//! - [`LayerLog`] reads a log and puts what happened into one list: datagrams of applications,
//!   packets of RTP where captures are at hand, packets of IP, frames of RLP, radio blocks.
//! - [`LayerLog::table`] is socket-dump and RLP-dump in one: time, layer, number, bytes.
//! - [`LayerLog::measures`] are delay, time between arrivals, loss and throughput.
//! - [`LayerLog::view`] draws all layers over one axis of time, and [`LayerLog::page`] makes a page
//!   of it to look around in.

mod event;
mod log;
mod measures;
mod page;
mod rtp;
mod view;

pub use log::{Act, LayerError, LayerLog, LayerRow, LogLayer, LogWindow};
pub use measures::LayerMeasures;
