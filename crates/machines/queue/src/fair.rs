//! A queue for each transport flow, under controlled delay, served by deficit round robin
//! (RFC 8290).

use std::collections::VecDeque;

use windfall_base::{DropReason, Frame, Instant};

use crate::codel::Codel;
use crate::limits::Limits;
use crate::management::FairConfig;
use crate::single::{Control, SingleQueue};
use crate::waiting::{Inspect, Join, QueueVerdict, Waiting};

/// Queues of flows, of which those that have just begun come first.
#[derive(Debug)]
pub(crate) struct FairQueue {
    flows: Vec<Flow>,
    /// Flows that have begun to send, which are served first.
    new: VecDeque<usize>,
    /// Flows that have had a turn.
    old: VecDeque<usize>,
    quantum: i64,
    limits: Limits,
    inspect: Inspect,
    len: usize,
    bytes: usize,
}

#[derive(Debug)]
struct Flow {
    queue: SingleQueue,
    /// Bytes that it may send before its turn is over.
    deficit: i64,
    /// It stands in one of the two lists.
    is_listed: bool,
}

impl FairQueue {
    pub(crate) fn new(config: FairConfig, limits: Limits, inspect: Inspect) -> Self {
        // The whole has the limits, not each flow.
        let flow = |_| Flow {
            queue: SingleQueue::new(limits, inspect, Control::Codel(Codel::new(config.codel))),
            deficit: 0,
            is_listed: false,
        };
        Self {
            flows: (0..config.flows.max(1)).map(flow).collect(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            quantum: i64::from(config.quantum.max(1)),
            limits,
            inspect,
            len: 0,
            bytes: 0,
        }
    }

    /// Takes a packet; while there is no room, the longest queue gives up its head
    /// (RFC 8290, section 4.1.3).
    pub(crate) fn push(&mut self, now: Instant, frame: Frame) -> Join {
        let len = frame.payload.len();
        if !self.limits.can_hold(len) {
            return Join::Refused(frame, DropReason::QueueFull);
        }
        if self.len == 0 {
            self.run_empty(now);
        }
        let mut displaced = Vec::new();
        while !self.limits.have_room(self.len, self.bytes, len) {
            displaced.extend(self.take_from_longest());
        }
        let place = ((self.inspect)(&frame).flow % self.flows.len() as u64) as usize;
        let flow = &mut self.flows[place];
        flow.queue.put(now, frame, QueueVerdict::Pass);
        self.len += 1;
        self.bytes += len;
        if !flow.is_listed {
            flow.is_listed = true;
            flow.deficit = self.quantum;
            self.new.push_back(place);
        }
        Join::after(displaced)
    }

    /// Ends all turns: nothing waits, so no flow has anything to make good.
    ///
    /// A link finds out here as well if it asks only while packets wait, unlike a card of a kernel.
    fn run_empty(&mut self, now: Instant) {
        for place in self.new.drain(..).chain(self.old.drain(..)) {
            let flow = &mut self.flows[place];
            flow.is_listed = false;
            // Its control learns that it is empty.
            let _ = flow.queue.pop(now);
        }
    }

    /// Takes the head of the queue with most bytes; packets without any count by their number.
    fn take_from_longest(&mut self) -> Option<Waiting> {
        let longest =
            self.flows.iter_mut().max_by_key(|flow| (flow.queue.bytes(), flow.queue.len()))?;
        longest.queue.take().inspect(|head| {
            self.len -= 1;
            self.bytes -= head.frame.payload.len();
        })
    }

    /// Gives the next packet, and its fate (RFC 8290, section 4.2).
    pub(crate) fn pop(&mut self, now: Instant) -> Option<Waiting> {
        if self.len == 0 {
            self.run_empty(now);
            return None;
        }
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let place = *list.front()?;
            let flow = &mut self.flows[place];
            if flow.deficit <= 0 {
                flow.deficit += self.quantum;
                list.pop_front();
                self.old.push_back(place);
                continue;
            }
            let Some(head) = flow.queue.pop(now) else {
                list.pop_front();
                // A new flow has a turn among the old ones before it may be new again.
                if is_new && !self.old.is_empty() {
                    self.old.push_back(place);
                } else {
                    flow.is_listed = false;
                }
                continue;
            };
            let len = head.frame.payload.len();
            self.len -= 1;
            self.bytes -= len;
            if head.verdict != QueueVerdict::Drop {
                flow.deficit -= len as i64;
            }
            return Some(head);
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

#[cfg(test)]
mod tests;
