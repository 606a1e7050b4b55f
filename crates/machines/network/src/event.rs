//! The reports of a network: one stream of events of all its elements, in the order of time.

use windfall_base::{
    Damage, DropReason, DropSite, Instant, PacketDrop, PacketEvent, PacketEventKind, Payload, Tag,
};
use windfall_channel::{FrameFate, MediumEvent};
use windfall_stack::{HostEvent, InterfaceEvent, Period, RlpSight};

use crate::ElementId;

/// Something that happened at one element of a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkEvent {
    /// The time of the event.
    pub at: Instant,
    /// The element that reports it.
    pub element: ElementId,
    /// The event itself.
    pub what: EventKind,
}

/// An event of any element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// An event of a packet at an interface.
    Packet(PacketEvent),
    /// An RTS of an interface was not answered by a CTS.
    RtsFailed,
    /// The radio of an interface has changed its state; reported only where it is observed.
    Radio(Period),
    /// A frame of RLP went out of an interface or came in.
    Rlp(RlpSight),
    /// The fate of a frame on a medium: the truth, for traces alone.
    Medium(MediumEvent),
    /// In the host of a station.
    Host(HostEvent),
    /// A packet passed a device; reported only on request, since it keeps the bytes alive.
    Passage(Passage),
}

impl From<InterfaceEvent> for EventKind {
    #[inline]
    fn from(event: InterfaceEvent) -> Self {
        match event {
            InterfaceEvent::Packet(event) => Self::Packet(event),
            InterfaceEvent::RtsFailed => Self::RtsFailed,
            InterfaceEvent::Radio(period) => Self::Radio(period),
            InterfaceEvent::Rlp(sight) => Self::Rlp(sight),
        }
    }
}

impl EventKind {
    /// Returns what happened at an interface to a packet with a name.
    #[must_use]
    pub const fn named_packet(&self) -> Option<(Tag, &PacketEventKind)> {
        match self {
            Self::Packet(PacketEvent { tag: Some(tag), kind }) => Some((*tag, kind)),
            _ => None,
        }
    }

    /// Returns the drop on a link that the event reports, with the name of the packet.
    #[must_use]
    pub fn packet_drop(&self) -> Option<(Tag, PacketDrop)> {
        match self {
            Self::Packet(event) => event.tag.zip(event.packet_drop()),
            Self::Medium(event) => event.tag.zip(drop_on_medium(event)),
            _ => None,
        }
    }
}

/// Returns the drop of a frame that a medium did not carry to its receiver.
pub(crate) fn drop_on_medium(event: &MediumEvent) -> Option<PacketDrop> {
    let reason = match event.fate {
        FrameFate::Lost | FrameFate::Missed(_) => DropReason::Lost,
        FrameFate::Collided => DropReason::Collision,
        FrameFate::Intact | FrameFate::Damaged { .. } => return None,
    };
    let (kept, len) = (event.kept, event.length as usize);
    Some(PacketDrop { site: DropSite::Medium, kept, reason, len })
}

/// A packet that passed the device port of an interface, whatever stands behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passage {
    /// Out of the link to the device if true, from the device into the link if not.
    pub arrived: bool,
    /// The packet's name on the link.
    pub tag: Option<Tag>,
    /// The packet that was delivered.
    pub payload: Payload,
    /// The known damage of the packet.
    pub damage: Damage,
}

/// The selection of events for [`Network::poll_event`](crate::Network::poll_event).
///
/// The ledgers are kept in any case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    /// Record the reports of the elements.
    pub events: bool,
    /// The packets that pass the devices, with their bytes.
    pub packets: bool,
}
