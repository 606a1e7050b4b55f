//! The ledgers of the links, by what interfaces and media report.

use windfall_stack::InterfaceEvent;

use super::{MediumSlot, Network, Slot};
use crate::event::PacketDrop;
use crate::ledger::direction_of;

impl Network {
    /// Enters what an interface reports into the ledgers.
    pub(super) fn account_interface(&mut self, index: usize, event: &InterfaceEvent) {
        match event {
            InterfaceEvent::Sent { tag: Some(_), attempt, len, .. } => {
                self.interfaces[index].ledger.note_frame(*attempt, *len);
            }
            InterfaceEvent::Marked { tag: Some(tag) } => {
                let sender = self.interfaces.get_mut(direction_of(*tag));
                sender.into_iter().for_each(|it| it.ledger.marked += 1);
            }
            InterfaceEvent::Combined { tag: Some(tag), .. } => {
                let sender = self.interfaces.get_mut(direction_of(*tag));
                sender.into_iter().for_each(|it| it.ledger.combined += 1);
            }
            InterfaceEvent::Repaired { tag: Some(tag), .. } => {
                let sender = self.interfaces.get_mut(direction_of(*tag));
                sender.into_iter().for_each(|it| it.ledger.repaired += 1);
            }
            InterfaceEvent::RtsFailed => self.interfaces[index].ledger.rts_failed += 1,
            InterfaceEvent::Delivered { tag: Some(tag), len, damage } => {
                let Some(sender) = self.interfaces.get_mut(direction_of(*tag)) else { return };
                if sender.ledger.deliver(*tag, index as u32, *len, damage.is_damaged()) {
                    self.interfaces[index].ledger.received_bytes += *len as u64;
                }
            }
            event => {
                if let Some(drop) = PacketDrop::at_interface(event) {
                    self.account_drop(drop);
                }
            }
        }
    }

    /// Enters a drop at an interface into the ledger of the packet's sender.
    fn account_drop(&mut self, PacketDrop { tag, kept, reason, .. }: PacketDrop) {
        if let Some(sender) = self.interfaces.get_mut(direction_of(tag)) {
            sender.ledger.discard(tag, kept, reason);
        }
    }

    /// Enters the truth about a frame into the ledger of its sender.
    pub(super) fn account_medium(&mut self, index: usize, event: &windfall_channel::MediumEvent) {
        if event.duplicate {
            return;
        }
        let MediumSlot { ends, .. } = &self.media[index];
        let Some(&sender) = ends.get(usize::from(event.from.0)) else { return };
        let Slot { ledger, counted, .. } = &mut self.interfaces[sender];
        ledger.bits_inverted += event.fate.inverted().len() as u64;
        if let Some(PacketDrop { tag, kept, reason, .. }) = PacketDrop::on_medium(event) {
            ledger.discard(tag, kept, reason);
        }
        // Where several stations hear a transmission, each of them has its own event.
        if ends.len() == 2 || *counted != Some(event.began) {
            *counted = Some(event.began);
            ledger.control_frames += u64::from(event.tag.is_none() || event.names_only);
            ledger.busy += event.ended - event.began;
        }
    }
}
