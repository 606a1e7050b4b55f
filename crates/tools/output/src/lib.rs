//! The files of a run, on one time axis.
//!
//! - [`recorder`]: one observer of a network that writes them all.
//! - [`log`]: the event log.
//! - [`packet_log`]: the packets of a direction, in mahimahi's format.
//! - [`parquet`]: tables for programs that analyse data.
//! - [`series`]: what each direction and flow did in one window of time after another.
//! - [`summary`]: what remains at the end, as text and as JSON.
//! - [`strict_json`]: what others ask of a run, in JSON without members that stand twice.

pub mod log;
pub mod packet_log;
pub mod parquet;
pub mod recorder;
pub mod series;
pub mod strict_json;
pub mod summary;
pub mod totals;
