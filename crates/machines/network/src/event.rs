//! The events of a network: one stream of events of all elements, ordered by time.

use windfall_base::{
    Damage, DropReason, DropSite, Instant, PacketDrop, PacketEvent, PacketEventKind, Payload, Tag,
};
use windfall_channel::{FrameFate, MediumEvent};
use windfall_stack::{HostEvent, InterfaceEvent, Period, RlpSight};

use crate::ElementId;

/// An event of one element of a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkEvent {
    /// The time of the event.
    pub at: Instant,
    /// The element that reports the event.
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
    /// The state of an interface's radio has changed; only if the radio is observed.
    Radio(Period),
    /// An interface sent or received an RLP frame.
    Rlp(RlpSight),
    /// The true outcome of a frame on a medium, which only traces may read.
    Medium(MediumEvent),
    /// An event of the host of a station.
    Host(HostEvent),
    /// A packet passed a device; only on request, because the event keeps the packet's bytes.
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
    /// Returns the event of a tagged packet at an interface.
    #[must_use]
    pub const fn named_packet(&self) -> Option<(Tag, &PacketEventKind)> {
        match self {
            Self::Packet(PacketEvent { tag: Some(tag), kind }) => Some((*tag, kind)),
            _ => None,
        }
    }

    /// Returns the drop that the event reports, with the tag of the packet.
    #[must_use]
    pub fn packet_drop(&self) -> Option<(Tag, PacketDrop)> {
        match self {
            Self::Packet(event) => event.tag.zip(event.packet_drop()),
            Self::Medium(event) => event.tag.zip(drop_on_medium(event)),
            _ => None,
        }
    }
}

/// Returns the drop of a frame that a medium did not deliver to its receiver.
pub(crate) fn drop_on_medium(event: &MediumEvent) -> Option<PacketDrop> {
    let reason = match event.fate {
        FrameFate::Lost | FrameFate::Missed(_) => DropReason::Lost,
        FrameFate::Collided => DropReason::Collision,
        FrameFate::Intact | FrameFate::Damaged { .. } => return None,
    };
    let kept = event.kept;
    let len = event.length as usize;
    Some(PacketDrop { site: DropSite::Medium, kept, reason, len })
}

/// A packet that passed the device port of an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passage {
    /// `true` from the link to the device, `false` from the device to the link.
    pub arrived: bool,
    /// The packet's tag on the link.
    pub tag: Option<Tag>,
    /// The packet itself.
    pub payload: Payload,
    /// The known damage of the packet.
    pub damage: Damage,
}

/// The events that [`Network::poll_event`](crate::Network::poll_event) yields.
///
/// The ledgers do not depend on this selection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    /// Records the events of the elements.
    pub events: bool,
    /// Records the packets that pass the devices, with their bytes.
    pub packets: bool,
}
