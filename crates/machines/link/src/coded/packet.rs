//! The pending packet of a sender in coded blocks: its missing parts, and its next frame.

use core::ops::Range;
use std::collections::VecDeque;

use windfall_base::{
    Class, Congestion, DropReason, Duration, Frame, FrameParts, FramesOfPacket, Instant,
    PacketDrop, PacketEvent, PacketEventKind, RangeSet, Tag, TransitTiming,
};
use windfall_wire_link::check::FCS_LEN;
use windfall_wire_link::coded::{BLOCK, BLOCK_CHECK, Fate, Head, MAX_BLOCKS, Number, Stretch};
use windfall_wire_link::pipe::Wish;

use super::stream::PacketStream;
use super::{blocks, codes};
use crate::persistence::Arq;
use crate::policy::{Plan, Policy, Request};
use crate::window::Pulled;

/// The packet, its frame check, and the known damage.
#[derive(Debug)]
pub(super) struct Packet {
    stream: PacketStream,
    class: Class,
    tag: Option<Tag>,
    expires: Option<Instant>,
    /// The packet waited for more than half of its lifetime; `None` before its first frame.
    is_scarce: Option<bool>,
    /// The ranges that the receiver has not acknowledged.
    missing: RangeSet<usize>,
    /// The part of the missing ranges that is not in flight.
    pub(super) unsent: RangeSet<usize>,
    /// The end of the part that was sent at least once. Parts are sent in order.
    sent_to: usize,
    /// The number of consecutive attempts that were not received completely.
    pub(super) tries: u32,
    limit: Option<u32>,
}

/// The format of a sender's frames, and their timing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Planning {
    pub(super) padded: bool,
    pub(super) passage: TransitTiming,
    /// The bytes of a header without its stretches: [`UNIT`](Self::UNIT) and so on.
    pub(super) beside: usize,
    /// The time between a frame and the next attempt at its lost parts, without the transmission
    /// times of frames and ACKs.
    pub(super) round_trip: Duration,
}

impl Planning {
    /// The bytes of a header without its stretches: for a unit, in a window, in a flow.
    pub(super) const UNIT: usize = 20;
    pub(super) const WINDOW: usize = 28;
    pub(super) const FLOW: usize = 36;
    /// The bytes of a stretch in a header, which describes one block.
    const STRETCH: usize = 3;

    /// Returns the frames that carry `bytes` of a packet according to `plan`, in the fewest
    /// attempts.
    fn frames(&self, plan: Plan, bytes: usize) -> FramesOfPacket {
        let data = if plan.uncoded { bytes.max(1) } else { plan.level.data() };
        let blocks = bytes.div_ceil(data).max(1);
        let most = usize::from(plan.blocks).clamp(1, MAX_BLOCKS);
        let count = blocks.div_ceil(most);
        let described = if self.padded { count * most } else { blocks };
        let contents = if self.padded {
            described * BLOCK
        } else {
            bytes + blocks * (BLOCK_CHECK + plan.level.parity())
        };
        let stretches = if plan.uncoded { Self::STRETCH + 1 } else { described * Self::STRETCH };
        let headers = count * self.beside + stretches;
        FramesOfPacket { count, contents, bytes: contents + headers }
    }
}

/// A frame in flight, which has not been reported.
#[derive(Debug)]
pub(super) struct Flight {
    pub(super) head: Head,
    pub(super) plan: Plan,
    /// The number of earlier attempts that were not received completely; zero for the first attempt
    /// at a part.
    before: u32,
    /// Its parity is weaker than the policy chose.
    is_soft: bool,
}

/// Decides whether weaker parity is used for packets whose owner accepts damage but which are
/// retransmitted. It is used as long as their blocks are received. Each failure delays the next
/// probe.
#[derive(Debug, Default)]
pub(super) struct Softness {
    /// The number of frames with full parity after a failure.
    pause: u32,
    /// The remaining number of such frames.
    left: u32,
}

impl Softness {
    /// The minimum and the maximum number of frames with full parity after a failure.
    const PAUSES: [u32; 2] = [16, 1_024];

    /// Returns `true` if the next frame may have weaker parity.
    fn allows(&mut self) -> bool {
        let allows = self.left == 0;
        self.left = self.left.saturating_sub(1);
        allows
    }

    /// Records the outcomes of the blocks of a frame.
    pub(super) fn hear(&mut self, flight: &Flight, fates: &[Fate]) {
        let [least, most] = Self::PAUSES;
        match fates.iter().all(|fate| fate.is_taken()) {
            _ if !flight.is_soft || fates.is_empty() => {}
            true => self.pause /= 2,
            false => {
                self.pause = (2 * self.pause).clamp(least, most);
                self.left = self.pause;
            }
        }
    }
}

impl Packet {
    /// Creates a packet of which nothing was sent. The interface's MTU prevents packets longer than
    /// 65 535 bytes.
    pub(super) fn new(Pulled { mut frame, expires }: Pulled, arq: Arq) -> Self {
        // The frame check follows the packet, and both must be addressable by 16-bit offsets.
        frame.payload.truncate(usize::from(u16::MAX) - FCS_LEN);
        let packet = core::mem::take(&mut frame.payload);
        let stream = PacketStream::new(packet, frame.damage.is_damaged());
        let missing = RangeSet::from(0..stream.len());
        Self {
            unsent: missing.clone(),
            missing,
            sent_to: 0,
            stream,
            class: frame.class,
            tag: frame.tag,
            expires,
            is_scarce: None,
            tries: 0,
            limit: arq.limit(&frame.class),
        }
    }

    /// Returns the length of the packet in bytes.
    pub(super) fn len(&self) -> usize {
        self.stream.packet.len()
    }

    /// Returns the class that the packet's owner requested.
    pub(super) fn class(&self) -> &Class {
        &self.class
    }

    /// Returns `true` if nothing of the packet will be sent again: all of it was sent, and only one
    /// attempt is allowed.
    pub(super) fn is_sent_for_good(&self) -> bool {
        self.limit == Some(1) && self.unsent.is_empty()
    }

    /// Returns `true` if the packet's lifetime has ended at `at`, the time of its arrival.
    pub(super) fn has_expired(&self, at: Instant) -> bool {
        self.expires.is_some_and(|expires| expires < at)
    }

    /// Returns `true` if no attempt is left.
    pub(super) fn is_used_up(&self) -> bool {
        self.limit.is_some_and(|limit| self.tries >= limit)
    }

    pub(super) fn acknowledged(&self) -> PacketEvent {
        PacketEventKind::Acknowledged.of_packet(self.tag)
    }

    pub(super) fn dropped(&self, reason: DropReason) -> PacketEvent {
        PacketEvent::dropped(self.tag, PacketDrop::at_sender(reason, self.len()))
    }

    //= S3.16
    //= S3.45
    /// Plans the next frame; `None` if the packet cannot arrive in time, or is not worth its air
    /// time.
    pub(super) fn plan(
        &mut self,
        now: Instant,
        policy: &mut dyn Policy,
        softness: &mut Softness,
        planning: &Planning,
    ) -> Option<(Plan, bool)> {
        let Planning { padded, passage, round_trip, .. } = *planning;
        if self.has_expired(now + passage.delay) {
            return None;
        }
        let latest = |expires: Instant| passage.latest_start(expires, FramesOfPacket::NONE);
        let is_scarce = *self.is_scarce.get_or_insert_with(|| {
            let both = self.expires.zip(self.class.lifetime);
            both.is_some_and(|(expires, lifetime)| expires.saturating_since(now) < lifetime / 2)
        });
        let welcomes_damage = self.class.accept_damaged == Some(true);
        let unsent = self.unsent.total();
        let mut plan = policy.plan(&Request {
            // A padded frame always has the length of its blocks.
            bytes: if padded { unsent.max(MAX_BLOCKS * BLOCK) } else { unsent },
            packet: self.stream.len(),
            // The ACK of the last attempt may arrive after the packet's lifetime.
            time_left: self
                .expires
                .map(|expires| latest(expires).saturating_since(now) + passage.turn),
            is_scarce,
            round_trip,
            tries_left: self.limit.map(|limit| limit.saturating_sub(self.tries)),
            welcomes_damage,
            // Padded frames consist of blocks. If the owner accepts damage, blocks locate the
            // damage.
            may_be_uncoded: !padded && !welcomes_damage && self.unsent.len() == 1,
        })?;
        let frames = planning.frames(plan, unsent);
        if self.has_expired(now + passage.time(frames)) {
            return None;
        }
        //= S0.63
        // After a failure, or if a damaged block would be retransmitted, the parity is not reduced.
        let is_only = self.limit == Some(1);
        let is_soft = welcomes_damage && self.tries == 0 && (is_only || softness.allows());
        if is_soft {
            plan.level = plan.level.weaker().weaker();
        }
        Some((plan, is_soft))
    }

    /// Builds and reports the next frame. Its blocks carry unsent parts, in order.
    pub(super) fn frame(
        &mut self,
        number: Number,
        (plan, is_soft): (Plan, bool),
        padded: bool,
        events: &mut VecDeque<PacketEvent>,
    ) -> (Flight, Frame) {
        let mut head = self.head(number, plan, padded);
        let attempt = self.attempt(&head);
        // The first attempt at a part is not the last one, even if other parts have failed.
        head.wish.last &= attempt > 1 || self.limit == Some(1);
        for range in joined(&head.stretches) {
            self.sent_to = self.sent_to.max(range.end);
            self.unsent.remove(range);
        }
        let parts = FrameParts {
            header: codes::seal_header(&head),
            class: self.class,
            expires: self.expires,
            ..FrameParts::default()
        };
        let frame = Frame {
            payload: blocks::write(&head, &self.stream).into(),
            tag: self.tag,
            kept: true,
            names_only: false,
            congestion: Congestion::Unmarkable,
            parts: Some(Box::new(parts)),
        };
        let sent = PacketEventKind::Sent { attempt, len: frame.len(), kept: true };
        events.push_back(sent.of_packet(self.tag));
        let before = if attempt == 1 { 0 } else { self.tries };
        (Flight { head, plan, before, is_soft }, frame)
    }

    /// Returns the attempt number of a frame with this header. It is 1 for a frame that carries
    /// only parts that were never sent, whatever happened to other frames of the packet.
    fn attempt(&self, head: &Head) -> u32 {
        let mut sent = head.stretches.iter().filter(|stretch| stretch.len > 0);
        let is_first = !sent.any(|stretch| stretch.range().start < self.sent_to);
        if is_first { 1 } else { (self.tries + 1).max(2) }
    }

    fn head(&self, number: Number, plan: Plan, padded: bool) -> Head {
        let last = self.limit.is_some_and(|limit| self.tries + 1 >= limit);
        let mut head = Head {
            wish: Wish { last, accept_damaged: self.class.accept_damaged },
            level: plan.level,
            whole: plan.whole,
            padded,
            uncoded: plan.uncoded,
            number,
            length: self.len() as u16,
            stretches: arrayvec::ArrayVec::new(),
        };
        if plan.uncoded {
            let gap = self.unsent.next_from(0).unwrap_or_default();
            head.stretches.push(Stretch { start: gap.start as u16, len: gap.len() as u16 });
            return head;
        }
        let blocks = usize::from(plan.blocks).clamp(1, MAX_BLOCKS);
        let mut at = 0;
        while head.stretches.len() < blocks
            && let Some(gap) = self.unsent.next_from(at)
        {
            let len = gap.len().min(plan.level.data());
            head.stretches.push(Stretch { start: gap.start as u16, len: len as u16 });
            at = gap.start + len;
        }
        while padded && head.stretches.len() < blocks {
            head.stretches.push(Stretch::default());
        }
        head
    }

    /// Returns the capacity of the blocks of a padded frame, or else the bytes that the frame
    /// carries. A policy learns from blocks of this length.
    pub(super) fn coded_bytes(head: &Head) -> usize {
        if head.padded { head.stretches.len() * head.level.data() } else { head.carried() }
    }

    /// Handles the outcome of a frame; `fates` is empty if the frame was lost.
    ///
    /// Frames that are in flight together, with different parts of the packet, count as one
    /// attempt.
    pub(super) fn settle(&mut self, Flight { head, before, .. }: &Flight, fates: &[Fate]) {
        let all = fates.len() == head.stretches.len() && fates.iter().all(|fate| fate.is_taken());
        self.tries = if all { 0 } else { self.tries.max(*before + 1) };
        if all {
            return joined(&head.stretches).for_each(|range| self.missing.remove(range));
        }
        for (index, stretch) in head.stretches.iter().enumerate() {
            let is_taken = fates.get(index).is_some_and(|fate| fate.is_taken());
            if is_taken && !head.whole {
                self.missing.remove(stretch.range());
            }
            for gap in self.missing.within(stretch.range()) {
                self.unsent.insert(gap);
            }
        }
    }

    /// Returns `true` if the receiver has the whole packet.
    pub(super) fn is_complete(&self) -> bool {
        self.missing.is_empty()
    }

    /// Marks the whole packet as missing: the receiver has requested all of it again.
    pub(super) fn restart(&mut self) {
        self.missing = RangeSet::from(0..self.stream.len());
        self.unsent = self.missing.clone();
    }
}

/// Returns the ranges of stretches, with adjacent ranges joined.
fn joined(stretches: &[Stretch]) -> impl Iterator<Item = Range<usize>> + '_ {
    let runs = stretches.chunk_by(|a, b| a.range().end == b.range().start);
    runs.map(|run| run[0].range().start..run[run.len() - 1].range().end)
}

#[cfg(test)]
mod tests {
    use windfall_base::seq::Seq16;
    use windfall_wire_link::coded::Level;

    use super::*;
    use crate::coded::codes::seal_header;

    fn head(padded: bool, lengths: &[u16]) -> Head {
        Head {
            wish: Wish::default(),
            level: Level::ROBUST,
            whole: false,
            padded,
            uncoded: false,
            number: Number::Unit(Seq16(0)),
            length: 1_000,
            stretches: lengths.iter().map(|len| Stretch { start: 0, len: *len }).collect(),
        }
    }

    #[test]
    fn all_blocks_of_a_padded_frame_are_of_full_length() {
        assert_eq!(Packet::coded_bytes(&head(false, &[100, 20, 3])), 123);
        assert_eq!(Packet::coded_bytes(&head(true, &[100, 20, 0])), 3 * Level::ROBUST.data());
    }

    #[test]
    fn a_header_is_planned_with_the_length_that_it_has() {
        let passage = TransitTiming::default();
        let beside = Planning::UNIT;
        let planning = Planning { padded: false, passage, beside, round_trip: Duration::ZERO };
        for (uncoded, lengths) in [(false, &[253, 253, 194][..]), (true, &[700])] {
            let plan = Plan { blocks: 3, level: Level::NONE, whole: false, uncoded };
            let planned = planning.frames(plan, 700);
            let sent = Head { uncoded, level: Level::NONE, ..head(false, lengths) };
            let len = seal_header(&sent).len();
            assert_eq!((planned.count, planned.bytes - planned.contents), (1, len), "{uncoded}");
        }
    }

    /// Returns the number of frames with full parity before one with weaker parity, which the
    /// receiver then reports with this outcome.
    fn pause_before(softness: &mut Softness, fate: Fate) -> usize {
        let pause = (0..).take_while(|_| !softness.allows()).count();
        let plan = Plan { blocks: 1, level: Level::NONE, whole: false, uncoded: false };
        let flight = Flight { head: head(false, &[100]), plan, before: 0, is_soft: true };
        softness.hear(&flight, &[Fate::Good(0), fate]);
        pause
    }

    #[test]
    fn each_failure_of_weaker_parity_delays_the_next_probe_and_successes_take_the_delay_back() {
        let mut softness = Softness::default();
        let fates = [(0, Fate::Good(0)), (0, Fate::Failed), (16, Fate::Failed)];
        for (pause, fate) in fates {
            assert_eq!(pause_before(&mut softness, fate), pause);
        }
        // A probe that succeeds halves the delay of the next failure, and no other frame waits.
        assert_eq!(pause_before(&mut softness, Fate::Damaged), 32);
        assert_eq!(pause_before(&mut softness, Fate::Damaged), 0);
        assert_eq!(pause_before(&mut softness, Fate::Failed), 0);
        assert_eq!(pause_before(&mut softness, Fate::Failed), 16);
        for _ in 0..9 {
            pause_before(&mut softness, Fate::Missing);
        }
        assert_eq!(pause_before(&mut softness, Fate::Missing), 1_024, "the longest");
        assert_eq!(pause_before(&mut softness, Fate::Good(0)), 1_024);
        assert_eq!(pause_before(&mut softness, Fate::Failed), 0);
        assert_eq!(pause_before(&mut softness, Fate::Failed), 1_024, "twice the half");
    }
}
