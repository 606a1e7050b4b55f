//! A packet in transmission in coded blocks: its missing parts, and the next frame with some.

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

/// The packet, its frame check, and the known damage of both.
#[derive(Debug)]
pub(super) struct Packet {
    stream: PacketStream,
    class: Class,
    tag: Option<Tag>,
    expires: Option<Instant>,
    /// It has waited for more than half of its lifetime; `None` before its first frame.
    is_scarce: Option<bool>,
    /// The ranges that the receiver is not known to have.
    missing: RangeSet<usize>,
    /// The part of that which is not on its way.
    pub(super) unsent: RangeSet<usize>,
    /// The end of the part that was sent at least once; parts are sent from the front.
    sent_to: usize,
    /// Attempts in a row of which the receiver did not take everything.
    pub(super) tries: u32,
    limit: Option<u32>,
}

/// The form of a sender's frames, and the time that they take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Planning {
    pub(super) padded: bool,
    pub(super) passage: TransitTiming,
    /// Bytes of a header beside the stretches of blocks: [`UNIT`](Self::UNIT) and so on.
    pub(super) beside: usize,
    /// The time between a frame and the next attempt at its lost parts, without that of frames and
    /// answers on the line.
    pub(super) round_trip: Duration,
}

impl Planning {
    /// Bytes of a header beside the stretches of blocks: of a unit, in a window, in a flow.
    pub(super) const UNIT: usize = 20;
    pub(super) const WINDOW: usize = 28;
    pub(super) const FLOW: usize = 36;
    /// Bytes of the stretch of a block in a header.
    const STRETCH: usize = 3;

    /// The frames that carry `bytes` of a packet as `plan` says, in the fewest attempts.
    fn frames(&self, plan: Plan, bytes: usize) -> FramesOfPacket {
        let data = if plan.uncoded { bytes.max(1) } else { plan.level.data() };
        let blocks = bytes.div_ceil(data).max(1);
        let count = blocks.div_ceil(usize::from(plan.blocks).clamp(1, MAX_BLOCKS));
        let contents = if self.padded {
            count * usize::from(plan.blocks) * BLOCK
        } else {
            bytes + blocks * (BLOCK_CHECK + plan.level.parity())
        };
        let stretches = if plan.uncoded { Self::STRETCH + 1 } else { blocks * Self::STRETCH };
        let headers = count * self.beside + stretches;
        FramesOfPacket { count, contents, bytes: contents + headers }
    }
}

/// A frame whose fate is open.
#[derive(Debug)]
pub(super) struct Flight {
    pub(super) head: Head,
    pub(super) plan: Plan,
    /// Attempts before it of which the receiver did not take everything; none before the first one
    /// at a part.
    before: u32,
    /// Its parity is weaker than the policy says.
    is_soft: bool,
}

/// Decides whether weaker parity pays for packets that are repeated although their owner accepts
/// damage: it does as long as their blocks pass. Each frame whose blocks fail delays the next
/// trial.
#[derive(Debug, Default)]
pub(super) struct Softness {
    /// Frames of full strength after a failure.
    pause: u32,
    /// Frames of that pause that are left.
    left: u32,
}

impl Softness {
    /// The least and the most frames of full strength after a failure.
    const PAUSES: [u32; 2] = [16, 1_024];

    /// Tells whether the next frame may be softer.
    fn allows(&mut self) -> bool {
        let allows = self.left == 0;
        self.left = self.left.saturating_sub(1);
        allows
    }

    /// Learns the fate of the blocks of a frame.
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
    /// A packet of which nothing was sent. Longer ones than 65 535 bytes are kept away by the
    /// interface's MTU.
    pub(super) fn new(Pulled { mut frame, expires }: Pulled, arq: Arq) -> Self {
        // The frame check follows the packet, and offsets have 16 bits.
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

    /// Bytes of the packet.
    pub(super) fn len(&self) -> usize {
        self.stream.packet.len()
    }

    /// Returns the wishes of the packet's owner.
    pub(super) fn class(&self) -> &Class {
        &self.class
    }

    /// Returns `true` if nothing of the packet will be sent again: all of it was sent, and a packet
    /// with one attempt ends with its first loss.
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

    /// Plans the next frame; `None` if the packet could not arrive in time or is not worth one.
    //= S3.16
    //= S3.45
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
            // A padded frame is as long as its blocks, whatever it carries.
            bytes: if padded { unsent.max(MAX_BLOCKS * BLOCK) } else { unsent },
            packet: self.stream.len(),
            // Of the last attempt the answer may come later.
            time_left: self
                .expires
                .map(|expires| latest(expires).saturating_since(now) + passage.turn),
            is_scarce,
            round_trip,
            tries_left: self.limit.map(|limit| limit.saturating_sub(self.tries)),
            welcomes_damage,
            // Padded frames are blocks, and blocks locate damage for an owner that accepts it.
            may_be_uncoded: !padded && !welcomes_damage && self.unsent.len() == 1,
        })?;
        let frames = planning.frames(plan, unsent);
        if self.has_expired(now + passage.time(frames)) {
            return None;
        }
        //= S0.63
        // A packet that failed once, or would only be sent again, is coded as for any other owner.
        let is_only = self.limit == Some(1);
        let is_soft = welcomes_damage && self.tries == 0 && (is_only || softness.allows());
        if is_soft {
            plan.level = plan.level.weaker().weaker();
        }
        Some((plan, is_soft))
    }

    /// The next frame: its blocks hold what was not sent, from the front. Reports it.
    pub(super) fn frame(
        &mut self,
        number: Number,
        (plan, is_soft): (Plan, bool),
        padded: bool,
        events: &mut VecDeque<PacketEvent>,
    ) -> (Flight, Frame) {
        let mut head = self.head(number, plan, padded);
        let attempt = self.attempt(&head);
        // The first attempt at a part is not the last, whatever happened to the other parts.
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

    /// The number of the attempt that a frame with this header is: the first for one that holds
    /// nothing that was sent before, whatever happened to the packet's other frames.
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

    /// Returns the bytes that the blocks of a frame have room for if it is padded, else those that
    /// it carries: what a policy learns of blocks as long as these.
    pub(super) fn coded_bytes(head: &Head) -> usize {
        if head.padded { head.stretches.len() * head.level.data() } else { head.carried() }
    }

    /// Draws the consequences of the fate of a frame; none if it was lost.
    ///
    /// Frames that were under way together, each with a part of its own, are one attempt.
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

    /// Returns `true` if the receiver has all of it.
    pub(super) fn is_complete(&self) -> bool {
        self.missing.is_empty()
    }

    /// The receiver wants all of it again.
    pub(super) fn restart(&mut self) {
        self.missing = RangeSet::from(0..self.stream.len());
        self.unsent = self.missing.clone();
    }
}

/// The ranges of stretches, with those that follow each other joined.
fn joined(stretches: &[Stretch]) -> impl Iterator<Item = Range<usize>> + '_ {
    let runs = stretches.chunk_by(|a, b| a.range().end == b.range().start);
    runs.map(|run| run[0].range().start..run[run.len() - 1].range().end)
}
