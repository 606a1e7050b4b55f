//! A queue for each transport flow, under controlled delay, served by deficit round robin
//! (RFC 8290).

use std::collections::VecDeque;

use windfall_base::{DropReason, Frame, Instant};

use crate::codel::Codel;
use crate::limits::Limits;
use crate::management::FairConfig;
use crate::single::{Control, SingleQueue};
use crate::waiting::{Inspect, Join, QueueVerdict, Waiting};

/// The queues of flows; new flows are served before old ones (RFC 8290, section 4.2).
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
    /// The credits of the flow in bytes, that is its deficit counter.
    deficit: i64,
    /// The flow is in one of the two lists.
    is_listed: bool,
}

impl FairQueue {
    pub(crate) fn new(config: FairConfig, limits: Limits, inspect: Inspect) -> Self {
        // The limits apply to the whole, not to each flow.
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

    /// Enqueues a packet; while there is no room, the longest queue drops its head (RFC 8290,
    /// section 4.1.3).
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

    /// Resets all flows, because the queue is empty.
    ///
    /// A simulated link polls only while packets wait. A kernel's driver would poll the empty queue
    /// too, so this method does what that poll would do.
    fn run_empty(&mut self, now: Instant) {
        for place in self.new.drain(..).chain(self.old.drain(..)) {
            let flow = &mut self.flows[place];
            flow.is_listed = false;
            // Tells the CoDel state of the flow that its queue is empty.
            let _ = flow.queue.pop(now);
        }
    }

    /// Removes the head of the queue with most bytes; empty packets count by their number.
    fn take_from_longest(&mut self) -> Option<Waiting> {
        let longest =
            self.flows.iter_mut().max_by_key(|flow| (flow.queue.bytes(), flow.queue.len()))?;
        longest.queue.take().inspect(|head| {
            self.len -= 1;
            self.bytes -= head.frame.payload.len();
        })
    }

    /// Dequeues the next packet, and whether CoDel drops or marks it (RFC 8290, section 4.2).
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
                // A new flow moves to the old list first, so that it cannot be new all the time
                // (RFC 8290, section 4.2).
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
