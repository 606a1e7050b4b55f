//! What happened, on one time axis: event logs, captures, drop ledgers and error traces.

pub mod errors;
pub mod log;
pub mod packet_log;
pub mod pcapng;
pub mod recorder;
pub mod summary;
