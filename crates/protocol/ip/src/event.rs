//! What the internet layer reports of itself.

use core::net::IpAddr;

use windfall_base::{DropReason, Instant, Tag};

use crate::report::Problem;

/// Something that happened in the internet layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IpEvent {
    /// When.
    pub at: Instant,
    /// What.
    pub kind: IpEventKind,
}

/// What happened. A `tag` is the one under which the packet arrived; packets born here have none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IpEventKind {
    /// A packet was discarded.
    Dropped {
        /// The packet.
        tag: Option<Tag>,
        /// Why.
        reason: DropReason,
        /// Its bytes.
        len: usize,
    },
    /// A packet for somebody else was passed on.
    Forwarded {
        /// The packet.
        tag: Option<Tag>,
        /// Out of which interface.
        interface: usize,
        /// Its bytes.
        len: usize,
    },
    /// A packet was cut into fragments.
    Fragmented {
        /// The packet.
        tag: Option<Tag>,
        /// Into how many.
        fragments: usize,
    },
    /// The last missing fragment of a packet arrived.
    Reassembled {
        /// That fragment.
        tag: Option<Tag>,
        /// How many there were.
        fragments: usize,
        /// Bytes of the data of the whole packet.
        len: usize,
    },
    /// A problem was reported by ICMP.
    Reported {
        /// To whom.
        to: IpAddr,
        /// Which problem.
        problem: Problem,
    },
    /// The path to a destination turned out to be narrower than known.
    PathMtu {
        /// The destination.
        to: IpAddr,
        /// The longest packet that passes, in bytes.
        mtu: usize,
    },
}
