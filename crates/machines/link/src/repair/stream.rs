//! A stream at the receiver: its packets in order, and the packets that wait for a repair.

use std::collections::VecDeque;

use windfall_base::seq::Seq32;
use windfall_base::{Check, CoveredPacket, DropReason, Frame, Instant, PacketEventKind, Tag};
use windfall_fec::{Cover, Made, PacketDecoder};
use windfall_wire_link::check::{FCS_LEN, frame_check};
use windfall_wire_link::repair::{packet_of, repair_check, symbol};

use super::RepairConfig;
use crate::output::Output;

/// The number of packets that are kept, in multiples of the number that a repair covers.
const KEPT: usize = 2;

/// The position of packet 0, a multiple of the interleaving depth. Packets with earlier numbers may
/// precede it, so the position is not zero.
const FIRST: u64 = 1 << 40;

/// The number of packets that are remembered after they were given up.
const MOST_GIVEN_UP: usize = 1024;

/// A packet that was given up, but may still arrive.
#[derive(Debug)]
struct GivenUp {
    place: u64,
    /// A damaged copy was passed up, or dropped because damage is not accepted.
    was_damaged: bool,
}

/// A packet that has not been passed up.
#[derive(Debug)]
struct Waiting {
    /// When the packet arrived, or was found to be missing.
    since: Instant,
    what: What,
}

#[derive(Debug)]
enum What {
    Missing(CoveredPacket),
    Damaged {
        frame: Frame,
        accepted: bool,
    },
    Good(Frame),
    /// The packet was passed up before its turn.
    Passed,
}

/// The contents of a packet's trailer.
#[derive(Clone, Copy, Debug)]
pub(super) struct CoveredNumber {
    pub(super) number: u32,
    pub(super) check: [u8; FCS_LEN],
    /// The packet is passed up even if it is damaged.
    pub(super) accepted: bool,
    /// The packet is passed up at once, in any order.
    pub(super) unordered: bool,
}

#[derive(Debug)]
pub(super) struct ReceivingStream {
    pub(super) id: u32,
    config: RepairConfig,
    /// The decoder of each interleaved block.
    decoders: Vec<PacketDecoder>,
    /// The position of the first packet that was neither passed up nor given up. The lower half is
    /// its number. Positions do not wrap around, so each determines an interleaved block.
    next: u64,
    /// Entry `i` is the packet at position `next + i`.
    waiting: VecDeque<Waiting>,
    /// The packets that were given up, in order.
    given_up: VecDeque<GivenUp>,
    /// The last received packet may be passed up in any order.
    unordered: bool,
}

impl ReceivingStream {
    /// Creates a stream whose first received packet is `number`.
    pub(super) fn new(id: u32, config: RepairConfig, number: u32) -> Self {
        let depth = config.code.depth();
        let kept = KEPT * config.code.covered();
        // Repairs may restore packets before the first one received, so these are awaited too.
        let is_new = (number as usize) < kept * usize::from(depth);
        let next = FIRST + if is_new { 0 } else { u64::from(number) };
        let decoders = (0..depth).map(|_| PacketDecoder::new(kept)).collect();
        let waiting = VecDeque::new();
        let given_up = VecDeque::new();
        Self { id, config, decoders, next, waiting, given_up, unordered: false }
    }

    /// Returns the number of packets that the stream holds.
    pub(super) fn held(&self) -> usize {
        self.waiting.iter().filter(|it| it.what.is_held()).count()
    }

    /// Returns the missing packets that a received repair may still restore.
    pub(super) fn awaited(&self) -> impl Iterator<Item = Tag> + '_ {
        self.waiting.iter().filter_map(|it| match it.what {
            What::Missing(packet) => packet.tag,
            _ => None,
        })
    }

    /// Takes a packet with this number and CRC-32.
    pub(super) fn take_packet(
        &mut self,
        now: Instant,
        CoveredNumber { number, check, accepted, unordered }: CoveredNumber,
        mut frame: Frame,
        out: &mut Output<'_>,
    ) {
        let slices = frame.payload.slices();
        let is_right = frame_check(&slices) == check;
        let (lane, own) = self.turn(number);
        self.decoders[lane].take_packet(own, &symbol(&slices, check), !is_right);
        frame.damage.frame = if is_right { Check::Good } else { Check::Bad };
        self.unordered = unordered;
        let Some(place) = self.reach(now, number, out) else {
            return self.take_late(number, frame, accepted, out);
        };
        let here = &mut self.waiting[place];
        match (&here.what, is_right) {
            (What::Missing(_), true) => here.what = What::Good(frame),
            (What::Missing(_), false) => here.what = What::Damaged { frame, accepted },
            (What::Damaged { .. }, true) => {
                if let What::Damaged { frame, .. } =
                    core::mem::replace(&mut here.what, What::Good(frame))
                {
                    out.discard(&frame, DropReason::FrameCheck);
                }
            }
            (What::Damaged { .. } | What::Good(_) | What::Passed, _) => {
                let reason = if is_right { DropReason::Duplicate } else { DropReason::FrameCheck };
                out.discard(&frame, reason);
            }
        }
        self.solve(lane, out);
        self.release(now, out);
    }

    /// Takes a packet that arrives after it was given up. It is passed up out of order, which is
    /// more useful than a drop. As in 802.11, the first damaged copy is passed up, and an undamaged
    /// copy may follow. A damaged copy never follows an undamaged one.
    fn take_late(&mut self, number: u32, frame: Frame, accepted: bool, out: &mut Output<'_>) {
        let place = self.position(number);
        let known = self.given_up.binary_search_by_key(&place, |it| it.place).ok();
        match (known, frame.damage.frame) {
            (Some(at), Check::Good) => {
                self.given_up.remove(at);
                out.deliver(frame);
            }
            (Some(at), _) if !core::mem::replace(&mut self.given_up[at].was_damaged, true) => {
                out.finish(frame, accepted);
            }
            (None, Check::Good) => out.discard(&frame, DropReason::Duplicate),
            _ => out.discard(&frame, DropReason::FrameCheck),
        }
    }

    /// Takes a repair with this check. Its frame lists the packets that it covers.
    pub(super) fn take_repair(
        &mut self,
        now: Instant,
        cover: Cover,
        check: u16,
        frame: &Frame,
        out: &mut Output<'_>,
    ) {
        if !cover.is_legal() || usize::from(cover.count) > self.config.code.covered() {
            return;
        }
        let depth = u32::from(self.config.code.depth());
        let (lane, first) = self.turn(cover.first);
        let covered = (0..u32::from(cover.count)).map(|i| cover.first.wrapping_add(i * depth));
        let last = cover.first.wrapping_add((u32::from(cover.count) - 1) * depth);
        self.reach(now, last, out);
        let packets = frame.covers.iter().flat_map(|packets| packets.iter());
        for (number, packet) in covered.zip(packets) {
            if let Some(place) = self.place(number)
                && let What::Missing(known) = &mut self.waiting[place].what
            {
                *known = *packet;
            }
        }
        let cover = Cover { first, ..cover };
        let sum = frame.payload.to_bytes();
        // Damage of the trailer alone does not affect the repair symbol.
        let damaged = (repair_check(&sum) != check).then_some(check);
        if self.decoders[lane].take_repair(cover, &sum, damaged) {
            self.solve(lane, out);
        }
        self.release(now, out);
    }

    /// Restores the packets that the repairs received so far determine.
    fn solve(&mut self, lane: usize, out: &mut Output<'_>) {
        let depth = u32::from(self.config.code.depth());
        for (own, symbol) in self.decoders[lane].solve(is_right) {
            let number = own.wrapping_mul(depth).wrapping_add(lane as u32);
            let (Some(place), Some(packet)) = (self.place(number), packet_of(&symbol)) else {
                continue;
            };
            let here = &mut self.waiting[place];
            let mut made = match &mut here.what {
                What::Good(_) | What::Passed => continue,
                What::Missing(CoveredPacket { tag, expires }) => {
                    let repaired = PacketEventKind::Repaired { was_missing: true };
                    out.events.push_back(repaired.of_packet(*tag));
                    let mut made = Frame { tag: *tag, ..Frame::packet(packet.to_vec()) };
                    made.set_expiry(*expires);
                    made
                }
                What::Damaged { frame, .. } => {
                    let repaired = PacketEventKind::Repaired { was_missing: false };
                    out.events.push_back(repaired.of_packet(frame.tag));
                    let old = core::mem::take(frame);
                    let both = old.payload.to_bytes();
                    let wrong = both.iter().zip(packet).filter(|(old, new)| old != new).count();
                    let mut new = Frame { payload: packet.to_vec().into(), ..old };
                    new.damage.corrected = wrong as u32;
                    new
                }
            };
            (made.damage.frame, made.damage.missing) = (Check::Good, 0);
            here.what = What::Good(made);
        }
    }

    /// Passes up the next packets in order, and gives up packets whose delay is over.
    pub(super) fn release(&mut self, now: Instant, out: &mut Output<'_>) {
        // Packets before a packet whose lifetime ends are no longer awaited.
        let urgent = self.waiting.iter().rposition(|it| it.what.expires_by(now));
        (0..urgent.map_or(0, |place| place + 1)).for_each(|_| self.advance(out));
        while self.waiting.front().is_some_and(|first| {
            matches!(first.what, What::Good(_) | What::Passed)
                || first.since + self.config.delay <= now
        }) {
            self.advance(out);
        }
        if self.unordered {
            for waiting in &mut self.waiting {
                if matches!(waiting.what, What::Good(_))
                    && let What::Good(frame) = core::mem::replace(&mut waiting.what, What::Passed)
                {
                    out.deliver(frame);
                }
            }
        }
    }

    /// Passes up all held packets.
    pub(super) fn close(&mut self, out: &mut Output<'_>) {
        while !self.waiting.is_empty() {
            self.advance(out);
        }
    }

    /// Returns when the delay of the first packet ends, or the lifetime of another packet.
    pub(super) fn due(&self) -> Option<Instant> {
        let first = self.waiting.front()?.since + self.config.delay;
        let urgent = self.waiting.iter().filter_map(|it| it.what.expires()).min();
        Some(urgent.map_or(first, |urgent| urgent.min(first)))
    }

    fn advance(&mut self, out: &mut Output<'_>) {
        let Some(first) = self.waiting.pop_front() else { return };
        self.next += 1;
        match first.what {
            What::Missing(_) => self.give_up(self.next - 1, false),
            What::Damaged { frame, accepted } => {
                self.give_up(self.next - 1, true);
                out.finish(frame, accepted);
            }
            What::Good(frame) => out.deliver(frame),
            What::Passed => {}
        }
    }

    /// Records that a packet is no longer awaited.
    fn give_up(&mut self, place: u64, was_damaged: bool) {
        if self.given_up.len() == MOST_GIVEN_UP {
            self.given_up.pop_front();
        }
        self.given_up.push_back(GivenUp { place, was_damaged });
    }

    /// Returns the index of a packet in `waiting`, and adds entries for the missing packets before
    /// it. Returns `None` if the packet was passed up or given up.
    fn reach(&mut self, now: Instant, number: u32, out: &mut Output<'_>) -> Option<usize> {
        let ahead = usize::try_from(self.distance(number)).ok()?;
        let room = KEPT * self.config.code.covered() * usize::from(self.config.code.depth());
        // Packets that no further repair will cover do not delay the others.
        let beyond = (ahead + 1).saturating_sub(room);
        (0..beyond.min(self.waiting.len())).for_each(|_| self.advance(out));
        let place = ahead.min(room - 1);
        let next = self.position(number) - place as u64;
        let skipped = self.next.max(next.saturating_sub(MOST_GIVEN_UP as u64))..next;
        skipped.for_each(|place| self.give_up(place, false));
        self.next = next;
        while self.waiting.len() <= place {
            let what = What::Missing(CoveredPacket::default());
            self.waiting.push_back(Waiting { since: now, what });
        }
        Some(place)
    }

    fn place(&self, number: u32) -> Option<usize> {
        let place = usize::try_from(self.distance(number)).ok()?;
        (place < self.waiting.len()).then_some(place)
    }

    /// Returns the distance of a packet from the next one; positive for later packets.
    fn distance(&self, number: u32) -> i32 {
        Seq32(number).distance_from(Seq32(self.next as u32))
    }

    /// Returns the position of a packet in the stream.
    fn position(&self, number: u32) -> u64 {
        self.next.wrapping_add_signed(i64::from(self.distance(number)))
    }

    /// Returns the interleaved block of a packet, and its index in that block.
    fn turn(&self, number: u32) -> (usize, u32) {
        let position = self.position(number);
        let depth = u64::from(self.config.code.depth());
        ((position % depth) as usize, (position / depth) as u32)
    }
}

impl What {
    const fn is_held(&self) -> bool {
        matches!(self, Self::Damaged { .. } | Self::Good(_))
    }

    /// Returns the end of the lifetime of a held packet.
    fn expires(&self) -> Option<Instant> {
        match self {
            Self::Damaged { frame, .. } | Self::Good(frame) => frame.expires,
            Self::Missing(_) | Self::Passed => None,
        }
    }

    fn expires_by(&self, now: Instant) -> bool {
        self.expires().is_some_and(|expires| expires <= now)
    }
}

/// Returns `true` if the check of a restored packet or repair is right.
fn is_right(made: Made<'_>) -> bool {
    match made {
        Made::Packet(symbol) => packet_of(symbol).is_some(),
        Made::Repair { bytes, check } => repair_check(bytes) == check,
    }
}
