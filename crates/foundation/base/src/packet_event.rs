//! The events in the life of a packet: the same in the link, the MAC, the interface and the
//! network.

use crate::{Damage, DropReason, FlowId, Ledger, Tag};

/// Something that happened to a packet at one place.
///
/// The fate of a packet: *delivered* is final, whatever else was reported. A sender that did not
/// hear the ACK gives up a packet that has arrived. Without a delivery, the first drop that is not
/// `kept` decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PacketEvent {
    /// The tag of the packet; `None` of a packet without a name and of a control frame.
    pub tag: Option<Tag>,
    /// The kind of the event.
    pub kind: PacketEventKind,
}

/// The kinds of events in the life of a packet.
///
/// No layer makes all of them: a link or a MAC does not queue, mark or deliver.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PacketEventKind {
    /// A packet from the device joined the queue.
    Queued {
        /// The flow of the packet.
        flow: FlowId,
        /// The length of the packet, in bytes.
        len: usize,
        /// Packets in the queue, this one included.
        queue: usize,
    },
    /// A packet was marked (ECN), because it met congestion.
    Marked,
    /// A frame with the packet, or with a part of it, was given to the medium.
    Sent {
        /// The number of the attempt, from 1.
        attempt: u32,
        /// Bytes of the whole frame.
        len: usize,
        /// Set if the sender keeps a copy until the packet is acknowledged or given up. If not, it
        /// has finished with the packet.
        kept: bool,
    },
    /// The receiver has the packet undamaged; the sender discards its copy.
    Acknowledged,
    /// A packet was made whole from damaged copies.
    Combined {
        /// The number of damaged copies, the last one included.
        copies: u32,
    },
    /// A packet was made from repairs, or put right by them.
    Repaired {
        /// Set if the packet had not come at all.
        was_missing: bool,
    },
    /// A packet from the medium was handed to the device.
    Delivered {
        /// The length of the packet, in bytes.
        len: usize,
        /// The known damage; `None` of a packet in which no check found any.
        damage: Option<Box<Damage>>,
    },
    /// A packet, or one copy of it, was discarded.
    Dropped(PacketDrop),
}

/// The end of a packet, or of one copy of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketDrop {
    /// The place of the drop.
    pub site: DropSite,
    /// Set if the sender still kept a copy, so that this drop decides nothing.
    pub kept: bool,
    /// The reason of the drop.
    pub reason: DropReason,
    /// Bytes of the packet; of the frame if the medium dropped it.
    pub len: usize,
}

/// The place where a packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropSite {
    /// Its sender did not send it, or gave it up.
    Sender,
    /// The medium did not carry it to its receiver.
    Medium,
    /// A station that had received it.
    Receiver,
}

impl PacketEvent {
    /// Reports that a packet was dropped.
    #[must_use]
    #[inline]
    pub const fn dropped(tag: Option<Tag>, drop: PacketDrop) -> Self {
        Self { tag, kind: PacketEventKind::Dropped(drop) }
    }

    /// Returns the drop that the event reports, if it reports one.
    #[must_use]
    pub const fn packet_drop(&self) -> Option<PacketDrop> {
        match self.kind {
            PacketEventKind::Dropped(drop) => Some(drop),
            _ => None,
        }
    }

    /// Returns the reason of the drop that the event reports, if it reports one.
    #[must_use]
    pub fn drop_reason(&self) -> Option<DropReason> {
        self.packet_drop().map(|drop| drop.reason)
    }
}

impl PacketEventKind {
    /// Makes this the event of the packet `tag`.
    #[must_use]
    #[inline]
    pub const fn of_packet(self, tag: Option<Tag>) -> PacketEvent {
        PacketEvent { tag, kind: self }
    }
}

impl PacketDrop {
    /// A drop at the sender, which keeps no copy.
    #[must_use]
    #[inline]
    pub const fn at_sender(reason: DropReason, len: usize) -> Self {
        Self { site: DropSite::Sender, kept: false, reason, len }
    }

    /// A drop at a receiver; `kept` says whether the sender keeps a copy.
    #[must_use]
    #[inline]
    pub const fn at_receiver(kept: bool, reason: DropReason, len: usize) -> Self {
        Self { site: DropSite::Receiver, kept, reason, len }
    }
}

impl Ledger {
    /// Enters an event of a packet. What arrives is entered as taken by whoever takes it in.
    #[inline]
    pub fn record(&mut self, event: &PacketEventKind) {
        match *event {
            PacketEventKind::Sent { kept, .. } => self.given += u64::from(!kept),
            PacketEventKind::Acknowledged | PacketEventKind::Delivered { .. } => self.given += 1,
            // A repair that replaces a lost packet adds a packet to the account.
            PacketEventKind::Repaired { was_missing } => self.taken += u64::from(was_missing),
            PacketEventKind::Dropped(drop) => self.drops.count(drop.reason),
            PacketEventKind::Queued { .. }
            | PacketEventKind::Marked
            | PacketEventKind::Combined { .. } => {}
        }
    }
}

/// Counts of the events of packets, as far as they only add up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketCounters {
    /// Frames with packets given to the medium, repetitions included.
    pub frames: u64,
    /// The bytes of these frames.
    pub frame_bytes: u64,
    /// Frames that repeated a packet.
    pub retransmissions: u64,
    /// Packets that the receiver has acknowledged.
    pub acknowledged: u64,
    /// Packets that were marked because they met congestion.
    pub marked: u64,
    /// Packets that were made whole from damaged copies.
    pub combined: u64,
    /// Packets that were made from repairs, or put right by them.
    pub repaired: u64,
}

impl PacketCounters {
    /// Counts an event; deliveries and drops belong into a ledger.
    #[inline]
    pub fn record(&mut self, event: &PacketEventKind) {
        match *event {
            PacketEventKind::Sent { attempt, len, .. } => {
                self.frames += 1;
                self.frame_bytes += len as u64;
                self.retransmissions += u64::from(attempt > 1);
            }
            PacketEventKind::Acknowledged => self.acknowledged += 1,
            PacketEventKind::Marked => self.marked += 1,
            PacketEventKind::Combined { .. } => self.combined += 1,
            PacketEventKind::Repaired { .. } => self.repaired += 1,
            PacketEventKind::Queued { .. }
            | PacketEventKind::Delivered { .. }
            | PacketEventKind::Dropped(_) => {}
        }
    }
}

#[cfg(test)]
mod tests;
