//! The account of one direction of a link: the fate of each packet that entered at a device.
//!
//! Several layers may speak about one packet: the air loses a copy that the sender keeps, the
//! sender gives up a packet whose last copy arrived after all. The rules: what happens to a *kept*
//! copy decides nothing; a delivery overrides every drop; a drop that names its place overrides
//! [`DropReason::NotForUs`], which on a shared medium every bystander reports; otherwise the first
//! word stands.

use std::collections::VecDeque;

use windfall_base::{
    DropReason, Drops, Duration, PacketCounters, PacketDrop, PacketEventKind, Tag,
};

/// Decided packets that stay on the books, so that a late copy can still override their drop.
const REMEMBERED: usize = 4_096;
/// The bits of a tag that number the packets of one direction.
const NUMBER_BITS: u32 = 40;

/// Makes the tag of packet `number` of direction `direction`.
#[must_use]
pub fn tag_of(direction: usize, number: u64) -> Tag {
    Tag(((direction as u64) << NUMBER_BITS) | (number & ((1 << NUMBER_BITS) - 1)))
}

/// Tells the direction that gave out `tag`.
#[must_use]
pub fn direction_of(tag: Tag) -> usize {
    (tag.0 >> NUMBER_BITS) as usize
}

/// The fates of the packets that one interface took from its device.
///
/// *entered = delivered + Σ named drops + in flight* at any moment.
#[derive(Clone, Debug, Default)]
pub struct LinkLedger {
    /// Packets that entered at the device.
    pub entered: u64,
    /// Packets that left at a device on the other side.
    pub delivered: u64,
    /// The bytes of those delivered, each counted once.
    pub delivered_bytes: u64,
    /// The bytes of packets from others that the interface delivered to its device, each counted
    /// once.
    pub received_bytes: u64,
    /// Of those delivered, packets of which every copy was marked as damaged.
    pub damaged: u64,
    /// Deliveries of packets that had been delivered before: whole ones after a damaged copy,
    /// those whose acknowledgment was lost, those for a group at its other stations.
    pub copies: u64,
    /// Packets discarded, by reason.
    pub drops: Drops,
    /// The frames of the interface with named packets, and what happened to its packets here and
    /// at their receivers; each receiver counts.
    pub packets: PacketCounters,
    /// Frames without a packet: polls, acknowledgements, blocks of a circuit in which none ends.
    pub control_frames: u64,
    /// Requests to send of 802.11 that no CTS answered.
    pub rts_failed: u64,
    /// Bits that the air inverted, in all frames.
    pub bits_inverted: u64,
    /// The time for which the frames occupied the medium.
    pub busy: Duration,
    /// The fates of packets `base..base + fates.len()`, as far as they are known.
    fates: VecDeque<Fate>,
    base: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    InFlight,
    /// Delivered to the interface `first` before all others.
    Delivered {
        damaged: bool,
        first: u32,
    },
    Dropped(DropReason),
}

impl LinkLedger {
    /// Packets that entered and are neither delivered nor dropped.
    #[must_use]
    pub fn in_flight(&self) -> u64 {
        self.fates.iter().filter(|fate| **fate == Fate::InFlight).count() as u64
    }

    /// Returns `true` if every packet is accounted for.
    #[must_use]
    pub fn balances(&self) -> bool {
        self.entered == self.delivered + self.drops.total() + self.in_flight()
    }

    /// Notes that a packet entered at the device, and returns its number.
    #[must_use]
    pub fn enter(&mut self) -> u64 {
        while self.fates.len() >= REMEMBERED && self.fates[0] != Fate::InFlight {
            self.fates.pop_front();
            self.base += 1;
        }
        self.fates.push_back(Fate::InFlight);
        self.entered += 1;
        self.entered - 1
    }

    /// Enters what happened to the packet `tag`, at interface `at` if it was delivered. Returns
    /// `true` if `at` delivered it for the first time.
    #[inline]
    pub fn record(&mut self, at: u32, tag: Tag, event: &PacketEventKind) -> bool {
        self.packets.record(event);
        match event {
            PacketEventKind::Delivered { len, damage } => {
                return self.deliver(tag, at, *len, damage.is_some());
            }
            PacketEventKind::Dropped(drop) => self.discard(tag, *drop),
            _ => {}
        }
        false
    }

    /// Notes that the packet `tag` left with `len` bytes at the device of interface `to`, `damaged`
    /// or not. Returns false if it had left there before.
    fn deliver(&mut self, tag: Tag, to: u32, len: usize, damaged: bool) -> bool {
        let Some(fate) = self.fate(tag) else { return false };
        let before = std::mem::replace(fate, Fate::Delivered { damaged, first: to });
        match before {
            Fate::Delivered { damaged: all, first } => {
                *fate = Fate::Delivered { damaged: all && damaged, first };
                self.copies += 1;
                self.damaged -= u64::from(all && !damaged);
                // A packet for a group comes to each of the others once, since none repeats it.
                return first != to;
            }
            Fate::Dropped(reason) => self.drops.uncount(reason),
            Fate::InFlight => {}
        }
        self.delivered += 1;
        self.delivered_bytes += len as u64;
        self.damaged += u64::from(damaged);
        true
    }

    /// Notes that the packet `tag` was discarded, unless its sender kept a copy.
    fn discard(&mut self, tag: Tag, PacketDrop { kept, reason, .. }: PacketDrop) {
        if kept {
            return;
        }
        let Some(fate) = self.fate(tag) else { return };
        match *fate {
            Fate::InFlight => *fate = Fate::Dropped(reason),
            Fate::Dropped(DropReason::NotForUs) => {
                *fate = Fate::Dropped(reason);
                self.drops.uncount(DropReason::NotForUs);
            }
            Fate::Delivered { .. } | Fate::Dropped(_) => return,
        }
        self.drops.count(reason);
    }

    /// Notes that a packet which was discarded may be made from repairs yet; `false` of any other.
    pub(crate) fn reopen(&mut self, tag: Tag) -> bool {
        let Some(fate) = self.fate(tag) else { return false };
        let Fate::Dropped(reason) = *fate else { return false };
        *fate = Fate::InFlight;
        self.drops.uncount(reason);
        true
    }

    fn fate(&mut self, tag: Tag) -> Option<&mut Fate> {
        let number = tag.0 & ((1 << NUMBER_BITS) - 1);
        self.fates.get_mut(usize::try_from(number.checked_sub(self.base)?).ok()?)
    }
}

#[cfg(test)]
mod tests;
