//! What a network reports: one stream of events over all of its elements, in the order of time.

use windfall_base::{Damage, Instant, Payload, Tag};

use crate::ElementId;

/// Something that happened at one element of a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// When.
    pub at: Instant,
    /// Where.
    pub element: ElementId,
    /// What.
    pub what: What,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// The life of a packet at an interface.
    Interface(windfall_stack::Event),
    /// The fate of a frame on a medium: the truth, for traces alone.
    Medium(windfall_channel::Event),
    /// In the host of a station.
    Host(windfall_stack::HostEvent),
    /// A packet passed a device; reported only on request, since it keeps the bytes alive.
    Packet(Passage),
}

/// A packet that passed the device port of an interface, whatever stands behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passage {
    /// Out of the link to the device if true, from the device into the link if not.
    pub arrived: bool,
    /// The packet's name on the link.
    pub tag: Option<Tag>,
    /// The packet.
    pub payload: Payload,
    /// What is known of its damage.
    pub damage: Damage,
}

/// What of a run is recorded for [`Network::poll_event`](crate::Network::poll_event).
///
/// The ledgers are kept in any case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    /// What the elements report.
    pub events: bool,
    /// The packets that pass the devices, with their bytes.
    pub packets: bool,
}
