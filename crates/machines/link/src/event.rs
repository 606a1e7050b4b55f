//! Events that a link reports upwards.

use windfall_base::{DropReason, Tag};

/// Something that happened to a packet on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkEvent {
    /// A frame with the packet was given to the medium.
    Sent {
        /// The tag of the packet.
        tag: Option<Tag>,
        /// The number of the attempt, from 1.
        attempt: u32,
        /// Bytes of the whole frame.
        len: usize,
        /// Set if the link keeps a copy; if not, the link has finished with the packet.
        kept: bool,
    },
    /// The receiver has acknowledged the packet as undamaged; the copy is discarded.
    Acknowledged {
        /// The tag of the packet.
        tag: Option<Tag>,
    },
    /// A packet was made whole from damaged copies.
    Combined {
        /// The tag of the packet.
        tag: Option<Tag>,
        /// The number of damaged copies that there were, the last one included.
        copies: u32,
    },
    /// A packet was made from repairs, or put right.
    Repaired {
        /// The tag of the packet.
        tag: Option<Tag>,
        /// It had not come at all.
        was_missing: bool,
    },
    /// A packet, or one copy of it, was discarded.
    Dropped {
        /// The tag of the packet.
        tag: Option<Tag>,
        /// Set if the sender still kept a copy, so that this drop decides nothing.
        kept: bool,
        /// The reason of the drop.
        reason: DropReason,
        /// Bytes of the packet.
        len: usize,
    },
}

/// The classification of a frame from the medium, for the account of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// A packet, or something that could not be told from one: it is taken into account.
    Packet,
    /// More of a packet that was taken into account when its first frame came.
    More,
    /// A control frame of the link.
    Control,
}
