//! Events that a station reports upwards.

use windfall_base::{DropReason, PacketDrop, PacketEvent, PacketEventKind, Tag};

use super::radio::Period;

/// Something that happened at a station.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DcfEvent {
    /// An event of a packet. For received packets, the station reports only drops.
    Packet(PacketEvent),
    /// An RTS was not answered: the packet was not sent, and one attempt is counted.
    RtsFailed,
    /// A frame without a packet was sent or received: a control or management frame.
    Control {
        /// `true` if this station sent it, `false` if it received it.
        sent: bool,
        /// Bytes of the whole frame.
        len: usize,
    },
    /// The radio has changed its state.
    Radio(Period),
}

impl DcfEvent {
    pub(super) const fn packet(tag: Option<Tag>, kind: PacketEventKind) -> Self {
        Self::Packet(kind.of_packet(tag))
    }

    /// Returns the drop that the event reports, if it reports one.
    #[must_use]
    pub const fn packet_drop(&self) -> Option<PacketDrop> {
        match self {
            Self::Packet(event) => event.packet_drop(),
            Self::RtsFailed | Self::Control { .. } | Self::Radio(_) => None,
        }
    }

    /// Reports that a packet of this station was dropped.
    pub(super) const fn given_up(tag: Option<Tag>, reason: DropReason, len: usize) -> Self {
        Self::Packet(PacketEvent::dropped(tag, PacketDrop::at_sender(reason, len)))
    }

    /// Reports that a packet of another station, or one copy of it, was discarded on reception.
    /// `kept` is set if its sender still holds a copy.
    pub(super) const fn discarded(
        tag: Option<Tag>,
        kept: bool,
        reason: DropReason,
        len: usize,
    ) -> Self {
        Self::Packet(PacketEvent::dropped(tag, PacketDrop::at_receiver(kept, reason, len)))
    }
}
