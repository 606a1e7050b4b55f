//! The books of an interface: account, counters, and events for an observer.

use std::collections::VecDeque;

use windfall_base::{
    DropReason, Drops, Duration, FlowId, Frame, Instant, Ledger, Tag, TransitTiming,
};
use windfall_link::{LinkEvent, Pulled};
use windfall_queue::{Join, PacketQueue, QueueVerdict, Waiting};
use windfall_wire_net::mark_congestion;

use super::pace::Pace;
use crate::event::InterfaceEvent;

/// Events that wait for their reader at most; later ones are counted and not kept.
const EVENT_LIMIT: usize = 1 << 16;

/// The counts of an interface so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets that the device brought.
    pub from_device: u64,
    /// Packets handed to the device.
    pub to_device: u64,
    /// Of these, packets known to be damaged.
    pub damaged_to_device: u64,
    /// Bytes of the packets handed to the device.
    pub bytes_to_device: u64,
    /// Packets of the device that the link took from its queue to send them.
    pub taken_up: u64,
    /// Frames with packets given to the medium, repetitions included.
    pub sent: u64,
    /// Of these, repetitions.
    pub repeated: u64,
    /// Control frames given to the medium.
    pub control_sent: u64,
    /// Bytes given to the medium, headers, trailers and control frames included.
    pub bytes_sent: u64,
    /// Frames with packets, or unreadable ones, that the medium brought.
    pub from_medium: u64,
    /// Control frames that the medium brought.
    pub control_received: u64,
    /// Packets that were marked, since the queue was long or the medium would have lost them.
    pub marked: u64,
    /// Packets that were made whole from damaged copies.
    pub combined: u64,
    /// Packets that were made from repairs, or put right by them.
    pub repaired: u64,
    /// Packets that the peer has acknowledged.
    pub acknowledged: u64,
    /// Events that found no room because no reader took the earlier ones.
    pub events_lost: u64,
}

/// InterfaceAccount, counters and events.
#[derive(Debug)]
pub(super) struct InterfaceAccount {
    observe: bool,
    events: VecDeque<InterfaceEvent>,
    pub(super) counters: Counters,
    pub(super) taken: u64,
    given: u64,
    drops: Drops,
    pace: Pace,
}

impl InterfaceAccount {
    pub(super) fn new(observe: bool) -> Self {
        Self {
            observe,
            events: VecDeque::new(),
            counters: Counters::default(),
            taken: 0,
            given: 0,
            drops: Drops::default(),
            pace: Pace::default(),
        }
    }

    #[inline]
    fn note(&mut self, event: InterfaceEvent) {
        if self.events.len() < EVENT_LIMIT {
            self.events.push_back(event);
        } else {
            self.counters.events_lost += 1;
        }
    }

    /// Learns what slots add to the time of frames.
    pub(super) fn set_passage(&mut self, passage: TransitTiming) {
        self.pace.slots = passage.slots.unwrap_or_default();
    }

    /// The account, with `held` packets still here.
    pub(super) fn ledger(&self, held: usize) -> Ledger {
        let (taken, given, drops) = (self.taken, self.given, self.drops.clone());
        Ledger { taken, given, held: held as u64, drops }
    }

    /// The next packet of a queue that is still worth sending; `least` is the time that one of such
    /// a length takes at least to its receiver.
    pub(super) fn pull(
        &mut self,
        now: Instant,
        least: impl Fn(usize) -> Duration,
        queue: &mut PacketQueue,
    ) -> Option<Pulled> {
        loop {
            let waiting = queue.pop(now)?;
            if let Some(pulled) = self.dequeue_checked(now, &least, waiting, Some(queue)) {
                return Some(pulled);
            }
        }
    }

    /// A packet that leaves a queue, marked if it is to be; `None` if it has waited too long to
    /// arrive in time, or is a repair for which one that stays `behind` would be late.
    pub(super) fn dequeue_checked(
        &mut self,
        now: Instant,
        least: impl Fn(usize) -> Duration,
        waiting: Waiting,
        behind: Option<&PacketQueue>,
    ) -> Option<Pulled> {
        let expires = waiting.expires();
        let Waiting { mut frame, verdict, since } = waiting;
        if frame.covers.is_none() {
            self.pace.note_arrival(since);
        }
        if verdict == QueueVerdict::Drop {
            self.dropped(frame.tag, false, DropReason::Aqm, frame.payload.len());
            return None;
        }
        let len = frame.payload.len();
        let is_late = expires.is_some_and(|expires| expires < now + least(len));
        let gives_way = !is_late
            && frame.covers.is_some()
            && behind.is_some_and(|behind| self.pace.gives_way(now, &least, &frame, behind));
        if is_late || gives_way {
            self.dropped(frame.tag, false, DropReason::Expired, frame.payload.len());
            return None;
        }
        if verdict == QueueVerdict::Mark {
            self.mark(&mut frame);
        }
        self.pace.leaves(now, len, behind.is_some_and(|behind| !behind.is_empty()));
        // A repair is no packet of the device.
        self.counters.taken_up += u64::from(frame.covers.is_none());
        Some(Pulled { frame, expires })
    }

    /// Enters the packets that another one displaced from its queue.
    ///
    /// # Errors
    /// The reason why the packet that came was refused.
    #[inline]
    pub(super) fn record_enqueue(&mut self, join: Join) -> Result<(), DropReason> {
        match join {
            Join::Joined => Ok(()),
            Join::Displaced(heads) => {
                self.displaced(heads);
                Ok(())
            }
            Join::Refused(_, reason) => Err(reason),
        }
    }

    fn displaced(&mut self, heads: Vec<Waiting>) {
        for Waiting { frame, .. } in heads {
            self.dropped(frame.tag, false, DropReason::QueueFull, frame.payload.len());
        }
    }

    /// Marks a packet that met congestion here, if its sender understands that.
    pub(super) fn mark(&mut self, frame: &mut Frame) {
        let Some(marked) = mark_congestion(&frame.payload) else { return };
        frame.payload = marked;
        self.counters.marked += 1;
        self.event(InterfaceEvent::Marked { tag: frame.tag });
    }

    /// The medium brought a packet, or something that could not be told from one.
    pub(super) fn arrived(&mut self) {
        self.taken += 1;
        self.counters.from_medium += 1;
    }

    /// A frame that the link passed up ended here as it should: it was no packet.
    pub(super) fn consumed(&mut self) {
        self.given += 1;
        self.counters.control_received += 1;
    }

    pub(super) fn queued(&mut self, tag: Option<Tag>, flow: FlowId, len: usize, queue: usize) {
        if self.observe {
            self.note(InterfaceEvent::Queued { tag, flow, len, queue });
        }
    }

    //= S0.5
    pub(super) fn dropped(&mut self, tag: Option<Tag>, kept: bool, reason: DropReason, len: usize) {
        self.drops.count(reason);
        if self.observe {
            self.note(InterfaceEvent::Dropped { tag, kept, reason, len });
        }
    }

    /// A packet goes to the device.
    pub(super) fn delivered(&mut self, frame: &Frame) {
        let len = frame.payload.len();
        self.given += 1;
        self.counters.to_device += 1;
        self.counters.bytes_to_device += len as u64;
        self.counters.damaged_to_device += u64::from(frame.damage.is_damaged());
        if self.observe {
            let damage = frame.damage.clone();
            self.note(InterfaceEvent::Delivered { tag: frame.tag, len, damage });
        }
    }

    /// Something happened that is not in the books.
    pub(super) fn event(&mut self, event: InterfaceEvent) {
        if self.observe {
            self.note(event);
        }
    }

    /// Takes down what the link reports.
    pub(super) fn link(&mut self, event: LinkEvent) {
        match event {
            LinkEvent::Sent { tag, attempt, len, kept } => {
                self.counters.sent += 1;
                self.counters.repeated += u64::from(attempt > 1);
                self.given += u64::from(!kept);
                if self.observe {
                    self.note(InterfaceEvent::Sent { tag, attempt, len, kept });
                }
            }
            LinkEvent::Acknowledged { tag } => {
                self.given += 1;
                self.counters.acknowledged += 1;
                if self.observe {
                    self.note(InterfaceEvent::Acknowledged { tag });
                }
            }
            LinkEvent::Repaired { tag, was_missing } => {
                self.counters.repaired += 1;
                // A repair that replaces a lost packet adds a packet to the account.
                self.taken += u64::from(was_missing);
                self.event(InterfaceEvent::Repaired { tag, was_missing });
            }
            LinkEvent::Combined { tag, copies } => {
                self.counters.combined += 1;
                self.event(InterfaceEvent::Combined { tag, copies });
            }
            LinkEvent::Dropped { tag, kept, reason, len } => {
                self.dropped(tag, kept, reason, len);
            }
        }
    }

    #[inline]
    pub(super) fn poll_event(&mut self) -> Option<InterfaceEvent> {
        self.events.pop_front()
    }
}
