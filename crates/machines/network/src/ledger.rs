//! The ledger of one direction of a link: the outcome of each packet that entered at a device.
//!
//! Several layers may report about one packet. For example, the medium loses a copy that the sender
//! keeps, or the sender drops a packet whose last copy arrived after all. The rules are: an event
//! of a *kept* copy does not decide. A delivery overrides every drop. A drop with any other reason
//! overrides [`DropReason::NotForUs`], which every other station on a shared medium reports.
//! Otherwise the first report counts.

use std::collections::{BTreeMap, VecDeque};

use windfall_base::{
    DropReason, Drops, Duration, FlowId, PacketCounters, PacketDrop, PacketEventKind, Tag,
};

/// The number of decided packets that are remembered, so that a late copy can still override a
/// drop.
const REMEMBERED: usize = 4_096;
/// The number of older drops that are remembered. A repair may come seconds after a loss, and many
/// short packets later.
const OLD_DROPS: usize = 65_536;
/// The number of bits of a tag that number the packets of one direction.
const NUMBER_BITS: u32 = 40;

/// Returns the tag of packet `number` in direction `direction`.
#[must_use]
pub fn tag_of(direction: usize, number: u64) -> Tag {
    Tag(((direction as u64) << NUMBER_BITS) | (number & ((1 << NUMBER_BITS) - 1)))
}

/// Returns the direction of `tag`.
#[must_use]
pub fn direction_of(tag: Tag) -> usize {
    (tag.0 >> NUMBER_BITS) as usize
}

/// Returns the number of `tag` in its direction.
fn number_of(tag: Tag) -> u64 {
    tag.0 & ((1 << NUMBER_BITS) - 1)
}

/// The outcomes of the packets that one interface took from its device.
///
/// *entered = delivered + Σ named drops + in flight* at any moment.
#[derive(Clone, Debug, Default)]
pub struct LinkLedger {
    /// Packets that entered at the device.
    pub entered: u64,
    /// Packets that left at a device of another station.
    pub delivered: u64,
    /// The bytes of delivered packets, each counted once.
    pub delivered_bytes: u64,
    /// The bytes of packets from other stations that the interface delivered to its device, each
    /// counted once.
    pub received_bytes: u64,
    /// Delivered packets of which every copy was damaged.
    pub damaged: u64,
    /// Repeated deliveries: an undamaged copy after a damaged one, a copy whose predecessor's ACK
    /// was lost, or a group-addressed packet at further stations.
    pub copies: u64,
    /// Discarded packets, by reason.
    pub drops: Drops,
    /// Counters of the interface's frames with tagged packets, and of the events of its packets
    /// here and at every receiver.
    pub packets: PacketCounters,
    /// Frames without a packet: polls, acknowledgements, and blocks of a circuit in which no packet
    /// ends.
    pub control_frames: u64,
    /// RTS frames that were not answered by a CTS.
    pub rts_failed: u64,
    /// Bits that the medium inverted, in all frames.
    pub bits_inverted: u64,
    /// The time for which the frames occupied the medium.
    pub busy: Duration,
    /// The outcomes of the packets of the flows that have a ledger of their own.
    flows: BTreeMap<FlowId, FlowLedger>,
    /// The outcomes of packets `base..base + fates.len()`, as far as they are known.
    fates: VecDeque<Fate>,
    /// The flows of the same packets; empty without ledgers of flows.
    owners: VecDeque<FlowId>,
    base: u64,
    /// The drops of packets before `base`, in the order of their numbers.
    old_drops: VecDeque<OldDrop>,
}

/// The outcomes of the packets of one flow, of those that one interface took from its device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlowLedger {
    /// Packets that entered at the device.
    pub entered: u64,
    /// Packets that left at a device of another station.
    pub delivered: u64,
    /// Delivered packets of which every copy was damaged.
    pub damaged: u64,
    /// Discarded packets, by reason.
    pub drops: Drops,
}

impl FlowLedger {
    /// Returns the number of packets that are neither delivered nor dropped.
    #[must_use]
    pub fn in_flight(&self) -> u64 {
        self.entered - self.delivered - self.drops.total()
    }

    /// Enters that a packet of the one fate has another one now.
    fn change(&mut self, before: Fate, after: Fate) {
        match before {
            Fate::InFlight => {}
            Fate::Delivered { damaged, .. } => {
                self.delivered -= 1;
                self.damaged -= u64::from(damaged);
            }
            Fate::Dropped(reason) => self.drops.uncount(reason),
        }
        match after {
            Fate::InFlight => {}
            Fate::Delivered { damaged, .. } => {
                self.delivered += 1;
                self.damaged += u64::from(damaged);
            }
            Fate::Dropped(reason) => self.drops.count(reason),
        }
    }
}

/// A drop that a late delivery may still override.
#[derive(Clone, Copy, Debug)]
struct OldDrop {
    number: u64,
    flow: FlowId,
    /// The reason; `None` once the packet was delivered.
    reason: Option<DropReason>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    InFlight,
    /// Delivered, first to the interface `first`.
    Delivered {
        damaged: bool,
        first: u32,
    },
    Dropped(DropReason),
}

impl LinkLedger {
    /// A ledger that also keeps one of each of these flows.
    #[must_use]
    pub fn of_flows(flows: &[FlowId]) -> Self {
        let flows = flows.iter().map(|flow| (*flow, FlowLedger::default())).collect();
        Self { flows, ..Self::default() }
    }

    /// Returns the ledger of a flow, if it has one.
    #[must_use]
    pub fn flow(&self, flow: FlowId) -> Option<&FlowLedger> {
        self.flows.get(&flow)
    }

    /// Records the flow of the packet that entered last.
    pub fn enter_flow(&mut self, flow: FlowId) {
        if let (Some(ledger), Some(owner)) = (self.flows.get_mut(&flow), self.owners.back_mut()) {
            *owner = flow;
            ledger.entered += 1;
        }
    }

    /// Enters that a packet of a flow has another fate now.
    fn change_of_flow(&mut self, flow: FlowId, before: Fate, after: Fate) {
        if let Some(ledger) = self.flows.get_mut(&flow) {
            ledger.change(before, after);
        }
    }

    /// Returns the number of packets that are neither delivered nor dropped.
    #[must_use]
    pub fn in_flight(&self) -> u64 {
        self.fates.iter().filter(|fate| **fate == Fate::InFlight).count() as u64
    }

    /// Returns `true` if every packet is accounted for.
    #[must_use]
    pub fn balances(&self) -> bool {
        self.entered == self.delivered + self.drops.total() + self.in_flight()
    }

    /// Records that a packet entered at the device, and returns its number.
    #[must_use]
    pub fn enter(&mut self) -> u64 {
        while self.fates.len() >= REMEMBERED && self.fates[0] != Fate::InFlight {
            self.forget_first();
        }
        self.fates.push_back(Fate::InFlight);
        if !self.flows.is_empty() {
            self.owners.push_back(FlowId::default());
        }
        self.entered += 1;
        self.entered - 1
    }

    /// Forgets the outcome of the first packet, unless it was dropped.
    fn forget_first(&mut self) {
        let flow = self.owners.pop_front().unwrap_or_default();
        if let Some(Fate::Dropped(reason)) = self.fates.pop_front() {
            if self.old_drops.len() == OLD_DROPS {
                self.old_drops.pop_front();
            }
            self.old_drops.push_back(OldDrop { number: self.base, flow, reason: Some(reason) });
        }
        self.base += 1;
    }

    /// Records an event of the packet `tag`, at interface `at` if it is a delivery. Returns `true`
    /// if it is the first delivery of the packet.
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

    /// Records that the packet `tag` left with `len` bytes at the device of interface `to`,
    /// `damaged` or not. Returns `false` if it was delivered there before.
    fn deliver(&mut self, tag: Tag, to: u32, len: usize, damaged: bool) -> bool {
        let Some(fate) = self.fate(tag) else { return self.deliver_old(tag, to, len, damaged) };
        let before = *fate;
        let after = match before {
            Fate::Delivered { damaged: all, first } => {
                Fate::Delivered { damaged: all && damaged, first }
            }
            Fate::Dropped(_) | Fate::InFlight => Fate::Delivered { damaged, first: to },
        };
        *fate = after;
        self.change_of_flow(self.owner(tag), before, after);
        match before {
            Fate::Delivered { damaged: all, first } => {
                self.copies += 1;
                self.damaged -= u64::from(all && !damaged);
                // A group-addressed packet arrives once at each station, because it is never
                // retransmitted.
                return first != to;
            }
            Fate::Dropped(reason) => self.drops.uncount(reason),
            Fate::InFlight => {}
        }
        self.count_delivery(len, damaged);
        true
    }

    /// Records the delivery of a packet that was dropped long ago. Returns `false` if it is not
    /// remembered, or was delivered since.
    fn deliver_old(&mut self, tag: Tag, to: u32, len: usize, damaged: bool) -> bool {
        let number = number_of(tag);
        let Ok(at) = self.old_drops.binary_search_by_key(&number, |it| it.number) else {
            return false;
        };
        let Some(reason) = self.old_drops[at].reason.take() else { return false };
        self.drops.uncount(reason);
        self.count_delivery(len, damaged);
        let flow = self.old_drops[at].flow;
        self.change_of_flow(flow, Fate::Dropped(reason), Fate::Delivered { damaged, first: to });
        true
    }

    /// Counts the first delivery of a packet.
    fn count_delivery(&mut self, len: usize, damaged: bool) {
        self.delivered += 1;
        self.delivered_bytes += len as u64;
        self.damaged += u64::from(damaged);
    }

    /// Records that the packet `tag` was discarded, unless its sender kept a copy.
    fn discard(&mut self, tag: Tag, PacketDrop { kept, reason, .. }: PacketDrop) {
        if kept {
            return;
        }
        let Some(fate) = self.fate(tag) else { return };
        let before = *fate;
        match before {
            Fate::InFlight => *fate = Fate::Dropped(reason),
            Fate::Dropped(DropReason::NotForUs) => {
                *fate = Fate::Dropped(reason);
                self.drops.uncount(DropReason::NotForUs);
            }
            Fate::Delivered { .. } | Fate::Dropped(_) => return,
        }
        self.drops.count(reason);
        self.change_of_flow(self.owner(tag), before, Fate::Dropped(reason));
    }

    /// Marks a discarded packet as in flight again, because a repair may restore it; returns
    /// `false` for a packet that was not discarded.
    pub(crate) fn reopen(&mut self, tag: Tag) -> bool {
        let Some(fate) = self.fate(tag) else { return false };
        let Fate::Dropped(reason) = *fate else { return false };
        *fate = Fate::InFlight;
        self.drops.uncount(reason);
        self.change_of_flow(self.owner(tag), Fate::Dropped(reason), Fate::InFlight);
        true
    }

    /// Returns the flow of a packet, if the flow has a ledger.
    fn owner(&self, tag: Tag) -> FlowId {
        let place = number_of(tag).checked_sub(self.base).and_then(|it| usize::try_from(it).ok());
        place.and_then(|place| self.owners.get(place).copied()).unwrap_or_default()
    }

    fn fate(&mut self, tag: Tag) -> Option<&mut Fate> {
        let number = number_of(tag);
        self.fates.get_mut(usize::try_from(number.checked_sub(self.base)?).ok()?)
    }
}

#[cfg(test)]
mod tests;
