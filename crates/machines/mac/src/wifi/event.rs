//! Events that a station reports upwards.

use windfall_base::{DropReason, Tag};

use super::radio::Period;

/// Something that happened at a station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DcfEvent {
    /// A frame with a packet, or with a part of one, was given to the air.
    Sent {
        /// The tag of the packet.
        tag: Option<Tag>,
        /// The number of the attempt, from 1.
        attempt: u32,
        /// Bytes of the whole frame.
        len: usize,
        /// Set if the station keeps a copy; if not, it has finished with the packet.
        kept: bool,
    },
    /// An RTS was not answered: the packet is not sent, and counts an attempt.
    RequestFailed,
    /// The receiver has acknowledged the packet as undamaged; the copy is discarded.
    Acknowledged {
        /// The tag of the packet.
        tag: Option<Tag>,
    },
    /// A packet of this station was given up.
    Dropped {
        /// The tag of the packet.
        tag: Option<Tag>,
        /// The reason of the drop.
        reason: DropReason,
        /// Bytes of the packet.
        len: usize,
    },
    /// A packet was made of damaged copies of its frame.
    Combined {
        /// The tag of the packet.
        tag: Option<Tag>,
        /// Copies received, all of them damaged.
        copies: u32,
    },
    /// A packet of another station, or one copy of it, was discarded on arrival.
    Discarded {
        /// The tag of the packet.
        tag: Option<Tag>,
        /// Set if its sender still kept a copy.
        kept: bool,
        /// The reason of the drop.
        reason: DropReason,
        /// Bytes of the packet.
        len: usize,
    },
    /// A frame without a packet was sent or received: RTS, CTS, ACK, management.
    Control {
        /// Sent by this station, not received.
        sent: bool,
        /// Bytes of the whole frame.
        len: usize,
    },
    /// The radio has changed its state.
    Radio(Period),
}
