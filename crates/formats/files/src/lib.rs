//! Files that a run reads and writes.
//!
//! - [`traces`]: error traces and rate traces, which describe a channel.
//! - [`pcapng`]: captures.
//! - [`packet_script`]: scripts of packets in packetdrill's syntax.

pub mod traces;
pub mod pcapng;
pub mod packet_script;
