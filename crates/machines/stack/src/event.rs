//! The events of an interface: what happens to each packet on one link, as seen by its two ends.

use windfall_base::PacketEvent;
use windfall_mac::wifi::radio::Period;
use windfall_wire_link::rlp::{RlpControl, RlpFrame, Unnumbered};

/// An event at an interface, at the time of the call that caused it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InterfaceEvent {
    /// An event of a packet.
    Packet(PacketEvent),
    /// An RTS of the interface was not answered by a CTS.
    RtsFailed,
    /// The radio has changed its state; reported only if the radio is observed.
    Radio(Period),
    /// An RLP frame was sent or received; frames that only fill the line are not reported.
    Rlp(RlpSight),
}

//= S1.31
/// A frame of RLP at one end of a circuit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RlpSight {
    /// This end sent the frame; if not, this end received it undamaged.
    pub sent: bool,
    /// The frame was sent or received before.
    pub again: bool,
    /// The kind of the frame with its numbers.
    pub control: RlpControl,
    /// Command rather than response.
    pub command: bool,
    /// The bit P/F.
    pub poll_final: bool,
}

impl RlpSight {
    /// Returns the event for a frame, unless the frame only fills the line.
    pub(crate) fn of(frame: &RlpFrame, sent: bool, again: bool) -> Option<Self> {
        let RlpFrame { command, poll_final, control, .. } = *frame;
        let fills = control == RlpControl::Unnumbered(Unnumbered::Null);
        (!fills).then_some(Self { sent, again, control, command, poll_final })
    }
}
