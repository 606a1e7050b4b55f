//! Files that a run reads and writes.
//!
//! - [`traces`]: error traces and rate traces, which describe a channel.
//! - [`pcapng`]: files of captured packets.
//! - [`packet_script`]: scripts of packets in packetdrill's syntax.

pub mod packet_script;
pub mod pcapng;
pub mod traces;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
