//! Conformance runs: scripts in packetdrill's syntax against Windfall's TCP, in simulated time.
//!
//! The script plays the peer and the program; the engine and the sockets above it stand where the
//! kernel stands when packetdrill runs the same script. Nothing sleeps, so a script of minutes
//! takes no time, and every run is the same.
//!
//! ```
//! use windfall_conformance::{Conformance, ScriptOutcome};
//!
//! let text = "
//!  0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
//! +0 fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK) = 0
//! +0 connect(3, ..., ...) = -1 EINPROGRESS
//! +0 > S 0:0(0) <...>
//! +1 > S 0:0(0) <...>
//! ";
//! let script = text.parse().unwrap();
//! assert_eq!(Conformance::default().run(&script), ScriptOutcome::Passed);
//! ```

mod argument;
mod call;
mod code;
mod compare;
mod control;
mod cookie;
mod epoll;
mod file;
mod flow;
mod machine;
mod message;
mod player;
mod socket;
mod socket_option;
mod verdict;
mod wire;
mod world;

pub use compare::{Unchecked, UnknownPart};
pub use file::{ScriptCounts, ScriptVerdict};
pub use player::Conformance;
pub use verdict::{ScriptFailure, ScriptOutcome};
