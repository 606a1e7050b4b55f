//! The accounting of an interface: ledger, counters, and events for an observer.

use std::collections::VecDeque;

use windfall_base::{
    DropReason, Duration, FlowId, Frame, Instant, Ledger, PacketCounters, PacketDrop, PacketEvent,
    PacketEventKind, Tag, TransitTiming,
};
use windfall_link::Pulled;
use windfall_queue::{Join, PacketQueue, QueueVerdict, Waiting};
use windfall_wire_net::mark_congestion;

use super::pace::Pace;
use crate::event::InterfaceEvent;

/// The maximum number of events that wait for the observer; further ones are only counted.
const EVENT_LIMIT: usize = 1 << 16;

/// The counts of an interface so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets received from the device.
    pub from_device: u64,
    /// Packets delivered to the device.
    pub to_device: u64,
    /// Of these, packets known to be damaged.
    pub damaged_to_device: u64,
    /// Bytes of the packets delivered to the device.
    pub bytes_to_device: u64,
    /// Packets of the device that the link has dequeued for transmission.
    pub taken_up: u64,
    /// Counts of the events of packets.
    pub packets: PacketCounters,
    /// Control frames given to the medium.
    pub control_sent: u64,
    /// Bytes given to the medium, headers, trailers and control frames included.
    pub bytes_sent: u64,
    /// Frames with packets, or unreadable ones, received from the medium.
    pub from_medium: u64,
    /// Control frames received from the medium.
    pub control_received: u64,
    /// Events that were dropped because the observer had not read the earlier ones.
    pub events_lost: u64,
}

/// The ledger of an interface, its counters, and the events that no observer has taken yet.
#[derive(Debug)]
pub(super) struct InterfaceAccount {
    observe: bool,
    events: VecDeque<InterfaceEvent>,
    pub(super) counters: Counters,
    /// The ledger without the held packets, which the parts of the interface count.
    ledger: Ledger,
    pace: Pace,
}

impl InterfaceAccount {
    pub(super) fn new(observe: bool) -> Self {
        Self {
            observe,
            events: VecDeque::new(),
            counters: Counters::default(),
            ledger: Ledger::default(),
            pace: Pace::default(),
        }
    }

    /// Keeps an event for the observer, if there is one.
    #[inline]
    pub(super) fn note(&mut self, event: InterfaceEvent) {
        if !self.observe {
            return;
        }
        if self.events.len() < EVENT_LIMIT {
            self.events.push_back(event);
        } else {
            self.counters.events_lost += 1;
        }
    }

    /// Counts an event of a packet, and keeps it for the observer.
    #[inline]
    pub(super) fn record(&mut self, event: PacketEvent) {
        self.ledger.record(&event.kind);
        self.counters.packets.record(&event.kind);
        self.note(InterfaceEvent::Packet(event));
    }

    /// Sets the expected transit time of frames.
    pub(super) fn set_passage(&mut self, passage: TransitTiming) {
        self.pace.slots = passage.slots.unwrap_or_default();
    }

    /// The account, with `held` packets still here.
    pub(super) fn ledger(&self, held: usize) -> Ledger {
        Ledger { held: held as u64, ..self.ledger.clone() }
    }

    /// Dequeues the next packet that can still arrive in time. `least` returns the minimum transit
    /// time for a length.
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

    /// Processes a packet that leaves a queue: ECN-marks it if requested. Returns `None` if active
    /// queue management drops it, if it would arrive after its lifetime, or if it is a repair that
    /// would make a packet `behind` it late.
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
            self.refused(frame.tag, DropReason::Aqm, frame.payload.len());
            return None;
        }
        let len = frame.payload.len();
        let is_late = expires.is_some_and(|expires| expires < now + least(len));
        let gives_way = !is_late
            && frame.covers.is_some()
            && behind.is_some_and(|behind| self.pace.gives_way(now, &least, &frame, behind));
        if is_late || gives_way {
            self.refused(frame.tag, DropReason::Expired, frame.payload.len());
            return None;
        }
        if verdict == QueueVerdict::Mark {
            self.mark(&mut frame);
        }
        self.pace.leaves(now, len, behind.is_some_and(|behind| !behind.is_empty()));
        // A repair packet does not count as a packet of the device.
        self.counters.taken_up += u64::from(frame.covers.is_none());
        Some(Pulled { frame, expires })
    }

    /// Counts the packets that another one displaced from its queue.
    ///
    /// # Errors
    /// The reason for which the new packet was dropped.
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
            self.refused(frame.tag, DropReason::QueueFull, frame.payload.len());
        }
    }

    /// Sets CE in a packet if it is ECN-capable (RFC 3168).
    pub(super) fn mark(&mut self, frame: &mut Frame) {
        let Some(marked) = mark_congestion(&frame.payload) else { return };
        frame.payload = marked;
        self.record(PacketEventKind::Marked.of_packet(frame.tag));
    }

    /// Counts a packet that came from the device, or was generated here.
    pub(super) fn taken(&mut self) {
        self.ledger.taken += 1;
    }

    /// Counts a received packet, or a frame that may have been one.
    pub(super) fn arrived(&mut self) {
        self.ledger.taken += 1;
        self.counters.from_medium += 1;
    }

    /// Counts a received frame that was consumed here, because it was no packet.
    pub(super) fn consumed(&mut self) {
        self.ledger.given += 1;
        self.counters.control_received += 1;
    }

    pub(super) fn queued(&mut self, tag: Option<Tag>, flow: FlowId, len: usize, queue: usize) {
        self.record(PacketEventKind::Queued { flow, len, queue }.of_packet(tag));
    }

    //= S0.5
    /// Counts a packet that was dropped before the link had it.
    pub(super) fn refused(&mut self, tag: Option<Tag>, reason: DropReason, len: usize) {
        self.record(PacketEvent::dropped(tag, PacketDrop::at_sender(reason, len)));
    }

    /// Counts a packet, or a copy of it, that was dropped after its arrival. `kept` says whether
    /// its sender keeps a copy.
    pub(super) fn discarded(
        &mut self,
        tag: Option<Tag>,
        kept: bool,
        reason: DropReason,
        len: usize,
    ) {
        self.record(PacketEvent::dropped(tag, PacketDrop::at_receiver(kept, reason, len)));
    }

    /// Counts a packet that is delivered to the device.
    pub(super) fn delivered(&mut self, frame: &Frame) {
        let len = frame.payload.len();
        let is_damaged = frame.damage.is_damaged();
        self.counters.to_device += 1;
        self.counters.bytes_to_device += len as u64;
        self.counters.damaged_to_device += u64::from(is_damaged);
        // Only an observer needs the description of the damage.
        let damage = (self.observe && is_damaged).then(|| Box::new(frame.damage.clone()));
        self.record(PacketEventKind::Delivered { len, damage }.of_packet(frame.tag));
    }

    #[inline]
    pub(super) fn poll_event(&mut self) -> Option<InterfaceEvent> {
        self.events.pop_front()
    }
}
