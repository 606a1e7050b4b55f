//! The reports of a network: one stream of events of all its elements, in the order of time.

use windfall_base::{Damage, DropReason, Instant, Payload, Tag};
use windfall_channel::FrameFate;
use windfall_stack::{HostEvent, InterfaceEvent};

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
    /// The life of a packet at an interface.
    Interface(InterfaceEvent),
    /// The fate of a frame on a medium: the truth, for traces alone.
    Medium(windfall_channel::MediumEvent),
    /// In the host of a station.
    Host(HostEvent),
    /// A packet passed a device; reported only on request, since it keeps the bytes alive.
    Packet(Passage),
}

/// A packet with a name, or one copy of it, that was dropped on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketDrop {
    /// The tag of the packet.
    pub tag: Tag,
    /// The sender keeps a copy, so that the drop decides nothing.
    pub kept: bool,
    /// The reason of the drop.
    pub reason: DropReason,
    /// Bytes of the packet, or of the frame where the medium dropped it.
    pub len: usize,
}

impl PacketDrop {
    /// Returns the drop that an interface reports.
    pub(crate) fn at_interface(event: &InterfaceEvent) -> Option<Self> {
        let InterfaceEvent::Dropped { tag: Some(tag), kept, reason, len } = *event else {
            return None;
        };
        Some(Self { tag, kept, reason, len })
    }

    /// Returns the drop of a frame that a medium did not carry to its receiver.
    pub(crate) fn on_medium(event: &windfall_channel::MediumEvent) -> Option<Self> {
        let reason = match event.fate {
            FrameFate::Lost | FrameFate::Missed(_) => DropReason::Lost,
            FrameFate::Collided => DropReason::Collision,
            FrameFate::Intact | FrameFate::Damaged { .. } => return None,
        };
        Some(Self { tag: event.tag?, kept: event.kept, reason, len: event.length as usize })
    }
}

impl EventKind {
    /// Returns the drop on a link that the event reports, if it reports one.
    #[must_use]
    pub fn packet_drop(&self) -> Option<PacketDrop> {
        match self {
            Self::Interface(event) => PacketDrop::at_interface(event),
            Self::Medium(event) => PacketDrop::on_medium(event),
            Self::Host(_) | Self::Packet(_) => None,
        }
    }
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
