//! One queue, first in, first out.

use std::collections::VecDeque;

use windfall_base::{DropReason, Frame, Instant};

use crate::codel::Codel;
use crate::limits::Limits;
use crate::pie::{CanMark, Pie};
use crate::waiting::{Inspect, Join, QueueVerdict, Waiting};

/// First in, first out, with what keeps it short.
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
        let is_refused = match self.control {
            Control::Head => !self.limits.can_hold(len),
            _ => !self.has_room(len),
        };
        if is_refused {
            return Join::Refused(frame, DropReason::QueueFull);
        }
        let mut displaced = Vec::new();
        while !self.has_room(len) {
            displaced.extend(self.take());
        }
        let mut verdict = QueueVerdict::Pass;
        if let Control::Pie(pie) = &mut self.control {
            pie.update(now, self.waiting.front().map(|head| head.since));
            if let Some(CanMark(ecn)) = pie.judge(self.bytes) {
                verdict = QueueVerdict::signal(&frame, self.inspect, ecn);
            }
        }
        if verdict == QueueVerdict::Drop {
            return Join::Refused(frame, DropReason::Aqm);
        }
        if self.waiting.len() >= self.limits.mark {
            verdict = QueueVerdict::Mark;
        }
        self.put(now, frame, verdict);
        Join::after(displaced)
    }

    /// Puts a packet at the tail, whatever the limits are.
    pub(crate) fn put(&mut self, now: Instant, frame: Frame, verdict: QueueVerdict) {
        self.bytes += frame.payload.len();
        self.waiting.push_back(Waiting { since: now, frame, verdict });
    }

    fn has_room(&self, len: usize) -> bool {
        self.limits.have_room(self.waiting.len(), self.bytes, len)
    }

    pub(crate) fn pop(&mut self, now: Instant) -> Option<Waiting> {
        if let Control::Pie(pie) = &mut self.control {
            pie.update(now, self.waiting.front().map(|head| head.since));
        }
        let Some(mut head) = self.take() else {
            if let Control::Codel(codel) = &mut self.control {
                codel.run_empty();
            }
            return None;
        };
        if let Control::Codel(codel) = &mut self.control
            && codel.judge(now, now.saturating_since(head.since), self.bytes)
        {
            head.verdict = QueueVerdict::signal(&head.frame, self.inspect, codel.config().ecn);
        }
        Some(head)
    }

    /// Takes the packet at the head, whatever becomes of it.
    pub(crate) fn take(&mut self) -> Option<Waiting> {
        let head = self.waiting.pop_front()?;
        self.bytes -= head.frame.payload.len();
        Some(head)
    }

    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}
