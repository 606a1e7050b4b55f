//! Events that the internet layer reports.

use core::net::IpAddr;

use windfall_base::{DropReason, Instant, Tag};

use crate::report::Problem;

/// Something that happened in the internet layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IpEvent {
    /// The time of the event.
    pub at: Instant,
    /// The kind of the event.
    pub kind: IpEventKind,
}

/// The kinds of event. A `tag` is the one under which the packet arrived; packets that originate
/// here have none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IpEventKind {
    /// A packet was discarded.
    Dropped {
        /// The tag of the packet.
        tag: Option<Tag>,
        /// The reason for the drop.
        reason: DropReason,
        /// The length of the packet, in bytes.
        len: usize,
    },
    /// A packet for another station was forwarded.
    Forwarded {
        /// The tag of the packet.
        tag: Option<Tag>,
        /// Out of which interface.
        interface: usize,
        /// The length of the packet, in bytes.
        len: usize,
    },
    /// A packet was cut into fragments.
    Fragmented {
        /// The tag of the packet.
        tag: Option<Tag>,
        /// Into how many.
        fragments: usize,
    },
    /// The last missing fragment of a packet arrived.
    Reassembled {
        /// The tag of that fragment.
        tag: Option<Tag>,
        /// The number of fragments.
        fragments: usize,
        /// Bytes of the data of the whole packet.
        len: usize,
    },
    /// A problem was reported by ICMP.
    Reported {
        /// The destination of the error message.
        to: IpAddr,
        /// The problem that is reported.
        problem: Problem,
    },
    /// The path to a destination turned out to be narrower than known.
    PathMtu {
        /// The destination of the path.
        to: IpAddr,
        /// The longest packet that passes, in bytes.
        mtu: usize,
    },
}
