//! The ledgers of the links, kept from the events of interfaces and media.

use windfall_base::{PacketEvent, PacketEventKind};
use windfall_channel::MediumEvent;
use windfall_stack::InterfaceEvent;

use super::{MediumSlot, Network, Slot};
use crate::event::drop_on_medium;
use crate::ledger::direction_of;

impl Network {
    /// Enters an event of an interface into the ledgers.
    #[inline]
    pub(super) fn account_interface(&mut self, index: usize, event: &InterfaceEvent) {
        match event {
            InterfaceEvent::Packet(event) => self.account_packet(index, event),
            InterfaceEvent::RtsFailed => self.interfaces[index].ledger.rts_failed += 1,
            InterfaceEvent::Radio(_) | InterfaceEvent::Rlp(_) => {}
        }
    }

    /// Enters an event of a packet into the ledger of the packet's direction. A frame counts for
    /// the interface that sent it, which may be a relay.
    fn account_packet(&mut self, index: usize, event: &PacketEvent) {
        let Some(tag) = event.tag else { return };
        let is_frame = matches!(event.kind, PacketEventKind::Sent { .. });
        let owner = if is_frame { index } else { direction_of(tag) };
        let Some(Slot { ledger, .. }) = self.interfaces.get_mut(owner) else { return };
        let is_new = ledger.record(index as u32, tag, &event.kind);
        if let (true, PacketEventKind::Delivered { len, .. }) = (is_new, &event.kind) {
            self.interfaces[index].ledger.received_bytes += *len as u64;
        }
    }

    /// Enters the true outcome of a frame into the ledger of its sender, and the loss of its packet
    /// into that of the packet's direction: the sender may be a relay.
    pub(super) fn account_medium(&mut self, index: usize, event: &MediumEvent) {
        if event.duplicate {
            return;
        }
        let MediumSlot { ends, .. } = &self.media[index];
        let Some(&sender) = ends.get(usize::from(event.from.0)) else { return };
        let Slot { ledger, counted, .. } = &mut self.interfaces[sender];
        ledger.bits_inverted += event.fate.inverted().len() as u64;
        // If several stations receive a transmission, each of them has its own event.
        if ends.len() == 2 || *counted != Some(event.began) {
            *counted = Some(event.began);
            ledger.control_frames += u64::from(event.tag.is_none() || event.names_only);
            ledger.busy += event.ended - event.began;
        }
        if let Some((tag, drop)) = event.tag.zip(drop_on_medium(event)) {
            self.account_packet(sender, &PacketEvent::dropped(Some(tag), drop));
        }
    }
}
