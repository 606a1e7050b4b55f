//! Scripts in packetdrill's syntax: times, packets, system calls, shell commands and code.
//!
//! ```
//! let text = "
//!  0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
//! +0 bind(3, ..., ...) = 0
//! +0 listen(3, 1) = 0
//! +.1 < S 0:0(0) win 32792 <mss 1000,nop,wscale 7>
//! +0 > S. 0:0(0) ack 1 <...>
//! ";
//! let script: windfall_files::packet_script::Script = text.parse().unwrap();
//! assert_eq!(script.events.len(), 5);
//! assert_eq!(script.events[4].text, "> S. 0:0(0) ack 1 <...>");
//! ```
//!
//! The syntax is free of lines, except that what belongs to other protocols is skipped to the end
//! of its line. Nothing is run here: what a name means is the business of whoever runs the script.

mod call;
mod condition;
mod cursor;
mod packet;
mod read;
mod segment;

pub use call::{Argument, Call, Returned};
pub use cursor::{Place, ScriptError};
pub use packet::{Icmp, PacketDirection, ScriptPacket};
pub use segment::{FLAG_LETTERS, OptionList, ScriptSegment, SegmentOption};

use windfall_base::Duration;

/// A script: options that hold for all of it, and its events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    /// The options at its beginning, `--name=value`.
    pub options: Vec<ScriptOption>,
    /// The events, in the order of the text.
    pub events: Vec<Event>,
}

/// An option of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptOption {
    /// The place in the text.
    pub place: Place,
    /// The name without its dashes.
    pub name: String,
    /// The text behind the equals sign; empty without one.
    pub value: String,
}

/// One thing that happens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The place in the text.
    pub place: Place,
    /// The time of the event.
    pub time: When,
    /// The action of the event.
    pub action: Action,
    /// Its text without the time.
    pub text: String,
}

/// The time of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// No time is written: at once.
    Now,
    /// `*`: whenever it happens.
    Any,
    /// At a time.
    At {
        /// The time counts from the event before, not from the start.
        relative: bool,
        /// The time, or the earliest.
        from: Duration,
        /// The latest time, of a range `FROM~UNTIL`, from the same beginning.
        until: Option<Duration>,
    },
}

/// The action of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// A packet arrives or leaves.
    Packet(PacketDirection, ScriptPacket),
    /// The program under test calls the system.
    Call(Call),
    /// A command for a shell.
    Shell(String),
    /// A piece of Python code.
    Code(String),
}
