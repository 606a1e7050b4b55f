//! One queue, first in, first out.

use std::collections::VecDeque;

use windfall_base::{DropReason, Frame, Instant};

use crate::codel::Codel;
use crate::limits::Limits;
use crate::pie::{CanMark, Pie};
use crate::waiting::{Inspect, Join, QueueVerdict, Waiting};

/// First in, first out, with its queue management.
#[derive(Debug)]
pub(crate) struct SingleQueue {
    waiting: VecDeque<Waiting>,
    bytes: usize,
    limits: Limits,
    control: Control,
    inspect: Inspect,
}

/// The state of the management.
#[derive(Debug)]
pub(crate) enum Control {
    Tail,
    Head,
    Codel(Codel),
    Pie(Box<Pie>),
}

impl SingleQueue {
    pub(crate) fn new(limits: Limits, inspect: Inspect, control: Control) -> Self {
        Self { waiting: VecDeque::new(), bytes: 0, limits, control, inspect }
    }

    pub(crate) fn push(&mut self, now: Instant, frame: Frame) -> Join {
        let len = frame.payload.len();
        let mut displaced = Vec::new();
        if !self.has_room(len) {
            if !self.makes_room(len) {
                return Join::Refused(frame, DropReason::QueueFull);
            }
            while !self.has_room(len) {
                displaced.extend(self.take());
            }
        }
        let mut verdict = self.judge_arrival(now, &frame);
        if verdict == QueueVerdict::Drop {
            return Join::Refused(frame, DropReason::Aqm);
        }
        if self.waiting.len() >= self.limits.mark {
            verdict = QueueVerdict::Mark;
        }
        self.put(now, frame, verdict);
        Join::after(displaced)
    }

    /// Tells whether earlier packets are dropped for an arriving one of `len` bytes.
    fn makes_room(&self, len: usize) -> bool {
        matches!(self.control, Control::Head) && self.limits.can_hold(len)
    }

    /// The fate that the queue management gives an arriving packet.
    #[inline]
    fn judge_arrival(&mut self, now: Instant, frame: &Frame) -> QueueVerdict {
        let Control::Pie(pie) = &mut self.control else { return QueueVerdict::Pass };
        pie.update(now, self.waiting.front().map(|head| head.since));
        match pie.judge(self.bytes) {
            Some(CanMark(ecn)) => QueueVerdict::signal(frame, self.inspect, ecn),
            None => QueueVerdict::Pass,
        }
    }

    /// Puts a packet at the tail, whatever the limits are.
    #[inline]
    pub(crate) fn put(&mut self, now: Instant, frame: Frame, verdict: QueueVerdict) {
        self.bytes += frame.payload.len();
        self.waiting.push_back(Waiting { since: now, frame, verdict });
    }

    #[inline]
    fn has_room(&self, len: usize) -> bool {
        self.limits.have_room(self.waiting.len(), self.bytes, len)
    }

    pub(crate) fn pop(&mut self, now: Instant) -> Option<Waiting> {
        // The fate of the head is settled before it leaves, so that it moves only once.
        match &mut self.control {
            Control::Tail | Control::Head => {}
            Control::Pie(pie) => pie.update(now, self.waiting.front().map(|head| head.since)),
            Control::Codel(codel) => match self.waiting.front_mut() {
                None => codel.run_empty(),
                Some(head) => {
                    let behind = self.bytes - head.frame.payload.len();
                    if codel.judge(now, now.saturating_since(head.since), behind) {
                        let ecn = codel.config().ecn;
                        head.verdict = QueueVerdict::signal(&head.frame, self.inspect, ecn);
                    }
                }
            },
        }
        self.take()
    }

    /// Takes the packet at the head, whatever becomes of it.
    #[inline]
    pub(crate) fn take(&mut self) -> Option<Waiting> {
        let head = self.waiting.pop_front()?;
        self.bytes -= head.frame.payload.len();
        Some(head)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Waiting> {
        self.waiting.iter()
    }

    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}
