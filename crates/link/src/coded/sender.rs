//! The sending side: one packet under way, whose missing stretches go into frames as the policy
//! says.

use std::collections::VecDeque;

use bytes::Bytes;
use windfall_base::seq::Seq16;
use windfall_base::{Class, DropReason, Frame, Instant, Tag};
use windfall_wire_link::check::frame_check;
use windfall_wire_link::coded::{Fate, Head, MAX_BLOCKS, Progress, Report, Stretch};
use windfall_wire_link::pipe::Wish;

use super::ranges::Ranges;
use super::{CodedConfig, blocks, codes};
use crate::event::Event;
use crate::persistence::Arq;
use crate::policy::{Outcome, Plan, Policy, Request};
use crate::window::Pulled;

/// The packet under way.
#[derive(Debug)]
struct Current {
    /// The packet and its frame check.
    stream: Bytes,
    packet: usize,
    class: Class,
    tag: Option<Tag>,
    expires: Option<Instant>,
    missing: Ranges,
    /// Frames in a row of which the receiver did not take everything.
    tries: u32,
    limit: Option<u32>,
    /// The frame whose fate is open.
    flight: Option<(Head, Plan)>,
}

#[derive(Debug)]
pub(super) struct Sender {
    policy: Box<dyn Policy>,
    arq: Arq,
    padded: bool,
    current: Option<Current>,
    /// The number of the packet under way, or of the last.
    seq: Seq16,
}

impl Sender {
    pub(super) fn new(config: &CodedConfig) -> Self {
        Self {
            policy: config.policy.build(config.cost),
            arq: config.arq,
            padded: config.padded,
            current: None,
            seq: Seq16(0),
        }
    }

    pub(super) fn is_busy(&self) -> bool {
        self.current.is_some()
    }

    pub(super) fn next_unit(
        &mut self,
        now: Instant,
        pull: impl FnOnce() -> Option<Pulled>,
        events: &mut VecDeque<Event>,
    ) -> Option<Frame> {
        //= S3.16
        if self.current.as_ref().and_then(|c| c.expires).is_some_and(|expires| expires < now) {
            self.give_up(DropReason::Expired, events);
        }
        if self.current.is_none() {
            self.begin(pull()?);
        }
        let current = self.current.as_mut()?;
        let welcomes_damage = current.class.accept_damaged == Some(true);
        let time_left = current.expires.map(|expires| expires.saturating_since(now));
        let request = Request { bytes: current.missing.bytes(), time_left, welcomes_damage };
        let mut plan = self.policy.plan(&request);
        //= S0.63
        if welcomes_damage {
            plan.level = plan.level.weaker().weaker();
        }
        let head = current.head(self.seq, plan, self.padded);
        let unit = Frame {
            header: codes::seal_header(&head),
            payload: blocks::write(&head, &current.stream).into(),
            class: current.class,
            tag: current.tag,
            kept: true,
            ..Frame::default()
        };
        let attempt = current.tries + 1;
        events.push_back(Event::Sent { tag: unit.tag, attempt, len: unit.len(), kept: true });
        current.flight = Some((head, plan));
        Some(unit)
    }

    /// Takes up a packet. Longer ones than 65 535 bytes are kept away by the interface's MTU.
    fn begin(&mut self, Pulled { mut frame, expires }: Pulled) {
        // The frame check stands behind the packet, and offsets have 16 bits.
        frame.payload.truncate(usize::from(u16::MAX) - 4);
        let [head, body] = frame.payload.slices();
        let check = frame_check(&[head, body]);
        let stream: Bytes = [head, body, &check].concat().into();
        self.seq = self.seq.next();
        self.current = Some(Current {
            packet: frame.payload.len(),
            missing: Ranges::until(stream.len()),
            stream,
            class: frame.class,
            tag: frame.tag,
            expires,
            tries: 0,
            limit: self.arq.limit(&frame.class),
            flight: None,
        });
    }

    pub(super) fn take_outcome(&mut self, report: Option<&Report>, events: &mut VecDeque<Event>) {
        let seq = self.seq;
        let Some(current) = &mut self.current else { return };
        let Some((head, plan)) = current.flight.take() else { return };
        let report = report.filter(|report| report.seq == seq);
        let fates = report.map(|report| &report.fates[..]);
        self.policy.learn(plan, fates.map_or(Outcome::Silence, Outcome::Report));
        let mut is_taken = false;
        match report.map(|report| report.progress) {
            Some(Progress::Complete) => {
                events.push_back(Event::Acknowledged { tag: current.tag });
                self.current = None;
                return;
            }
            Some(Progress::Again) => current.missing = Ranges::until(current.stream.len()),
            Some(Progress::Partial) => {
                is_taken = current.settle(&head, fates.unwrap_or_default());
            }
            None => {}
        }
        if is_taken {
            current.tries = 0;
            return;
        }
        current.tries += 1;
        if current.limit.is_some_and(|limit| current.tries >= limit) {
            //= S3.12
            self.give_up(DropReason::RetryLimit, events);
        }
    }

    fn give_up(&mut self, reason: DropReason, events: &mut VecDeque<Event>) {
        if let Some(current) = self.current.take() {
            let (tag, len) = (current.tag, current.packet);
            events.push_back(Event::Dropped { tag, kept: false, reason, len });
        }
    }
}

impl Current {
    /// The header of the next frame: its blocks hold what is missing, from the front.
    fn head(&self, seq: Seq16, plan: Plan, padded: bool) -> Head {
        let last = self.limit.is_some_and(|limit| self.tries + 1 >= limit);
        let mut head = Head {
            wish: Wish { last, accept_damaged: self.class.accept_damaged },
            level: plan.level,
            whole: plan.whole,
            padded,
            seq,
            length: self.packet as u16,
            stretches: arrayvec::ArrayVec::new(),
        };
        let blocks = usize::from(plan.blocks).clamp(1, MAX_BLOCKS);
        let mut at = 0;
        while head.stretches.len() < blocks
            && let Some(gap) = self.missing.next_from(at)
        {
            let len = gap.len().min(plan.level.data());
            head.stretches.push(Stretch { start: gap.start as u16, len: len as u8 });
            at = gap.start + len;
        }
        while padded && head.stretches.len() < blocks {
            head.stretches.push(Stretch::default());
        }
        head
    }

    /// Notes which blocks of a frame the receiver has; whether it has all.
    fn settle(&mut self, head: &Head, fates: &[Fate]) -> bool {
        let all = fates.len() == head.stretches.len() && fates.iter().all(|fate| fate.is_taken());
        if head.whole && !all {
            return false;
        }
        for (index, _) in fates.iter().enumerate().filter(|(_, fate)| fate.is_taken()) {
            if index < head.stretches.len() {
                self.missing.remove(&head.stretches[index].range());
            }
        }
        all
    }
}
