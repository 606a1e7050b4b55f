//! The reports of an interface: the life of each packet on one link, as seen by its two ends.

use windfall_mac::wifi::radio::Period;

use windfall_base::{Damage, DropReason, FlowId, Tag};
use windfall_wire_link::rlp::{RlpControl, RlpFrame, Unnumbered};

/// An event at an interface, at the time of the call that caused it. `tag` is `None` only for
/// control frames and for packets without a name.
///
/// For the fate of a packet: *delivered* is final whatever else was reported, since a sender that
/// never heard the ACK gives up a packet that arrived; after that, the first drop not `kept`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InterfaceEvent {
    /// A packet from the device joined the queue.
    Queued {
        /// The tag of the packet.
        tag: Option<Tag>,
        /// The flow of the packet.
        flow: FlowId,
        /// The length of the packet, in bytes.
        len: usize,
        /// Packets in the queue, this one included.
        queue: usize,
    },
    /// A packet that leaves the queue was marked (ECN), since the queue was long when it joined.
    Marked {
        /// The tag of the packet.
        tag: Option<Tag>,
    },
    /// A frame with the packet was given to the medium.
    Sent {
        /// The tag of the packet.
        tag: Option<Tag>,
        /// Which attempt it is, from 1.
        attempt: u32,
        /// Bytes of the whole frame.
        len: usize,
        /// Set if the link keeps a copy until it is acknowledged or given up.
        kept: bool,
    },
    /// The peer has the packet undamaged; the copy here is forgotten.
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
    /// A packet was made from repairs, or put right by them.
    Repaired {
        /// The tag of the packet.
        tag: Option<Tag>,
        /// It had not come at all.
        was_missing: bool,
    },
    /// A packet from the medium was handed to the device.
    Delivered {
        /// The tag of the packet.
        tag: Option<Tag>,
        /// The length of the packet, in bytes.
        len: usize,
        /// The known damage of the packet.
        damage: Damage,
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
    /// An RTS of the interface was not answered by a CTS.
    RtsFailed,
    /// The radio has changed its state; reported only where the radio is observed.
    Radio(Period),
    /// A frame of RLP went out or came in; those that only fill the line are not reported.
    Rlp(RlpSight),
}

/// A frame of RLP at one end of a circuit.
//= S1.31
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RlpSight {
    /// It was sent from here; if not, it arrived here undamaged.
    pub sent: bool,
    /// It was sent before, or it came before.
    pub again: bool,
    /// The kind of the frame with its numbers.
    pub control: RlpControl,
    /// Command rather than response.
    pub command: bool,
    /// The bit P/F.
    pub poll_final: bool,
}

impl RlpSight {
    /// A frame that is worth a report.
    pub(crate) fn of(frame: &RlpFrame, sent: bool, again: bool) -> Option<Self> {
        let RlpFrame { command, poll_final, control, .. } = *frame;
        let fills = control == RlpControl::Unnumbered(Unnumbered::Null);
        (!fills).then_some(Self { sent, again, control, command, poll_final })
    }
}
