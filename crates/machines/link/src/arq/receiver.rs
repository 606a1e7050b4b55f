//! The receiver: reordering, acceptance of damaged packets, and ACKs.

use std::collections::VecDeque;

use windfall_base::seq::Seq32;
use windfall_base::{Check, DropReason, Frame};
use windfall_wire_link::pipe::{Ack, FlowPlace, IncrementPart, Probe, UNTOLD, Wish};

use super::flow_order::FlowOrder;
use super::history::History;
use super::increments::{Increment, IncrementStore};
use crate::combine::CopyStore;
use crate::framing::Mismatch;
use crate::output::Output;
use crate::window::Window;

/// A packet that is kept until the packets before it have arrived or are skipped.
#[derive(Debug)]
struct Held {
    frame: Frame,
    /// Its place in its flow, if it is ordered only within the flow.
    flow: Option<FlowPlace>,
    /// No better copy will arrive: the frame is undamaged, or its sender makes no further attempt.
    settled: bool,
    /// It is passed up even if it is damaged.
    accepted: bool,
}

/// The state of a packet in the window.
#[derive(Debug, Default)]
enum Place {
    /// No copy has been received.
    #[default]
    Empty,
    /// A copy is kept until the packets before it are settled.
    Held(Held),
    /// The packet was passed up in the order of its flow, before its turn on the link.
    Passed,
}

impl Place {
    fn is_settled(&self) -> bool {
        match self {
            Self::Empty => false,
            Self::Held(held) => held.settled,
            Self::Passed => true,
        }
    }
}

/// The contents of the header of a numbered frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Numbered {
    pub(crate) seq: Seq32,
    pub(crate) order: Seq32,
    pub(crate) settled: u16,
    pub(crate) wish: Wish,
}

/// The way in which a receiver handles damaged packets, and its limits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReceiverConfig {
    /// Passes up damaged packets, unless their sender says otherwise.
    pub(crate) accept_damaged: bool,
    /// Restores packets from several damaged copies.
    pub(crate) combine: bool,
    /// Keeps and reports damaged packets, for which the sender sends parity.
    pub(crate) increments: bool,
    /// The limits of reordered packets.
    pub(crate) window: Window,
}

/// Puts packets into order and builds ACKs.
#[derive(Debug)]
pub(crate) struct Receiver {
    config: ReceiverConfig,
    /// The first packet that was neither passed up nor skipped.
    next: Seq32,
    /// Entry `i` is packet `next + i`.
    places: VecDeque<Place>,
    flows: FlowOrder,
    held: usize,
    held_bytes: usize,
    /// Damaged copies of packets; `None` if copies are not combined.
    copies: Option<CopyStore>,
    /// Damaged packets for which parity may arrive; `None` if ACKs do not report them.
    increments: Option<IncrementStore>,
    history: History,
    /// The number of packets skipped since the last undamaged packet was passed up.
    lost: u16,
    ack_due: bool,
}

impl Receiver {
    pub(crate) fn new(config: ReceiverConfig) -> Self {
        let ReceiverConfig { combine, increments, window, .. } = config;
        Self {
            config,
            next: Seq32(0),
            places: VecDeque::new(),
            flows: FlowOrder::default(),
            held: 0,
            held_bytes: 0,
            copies: combine.then(|| CopyStore::new(window.bytes)),
            increments: increments.then(|| IncrementStore::new(window.bytes)),
            history: History::new(increments),
            lost: 0,
            ack_due: false,
        }
    }

    pub(crate) fn held(&self) -> usize {
        self.held
    }

    /// Passes up all kept packets, and restarts with packet number zero as the peer does.
    pub(crate) fn restart(&mut self, out: &mut Output<'_>) {
        while !self.places.is_empty() {
            self.advance(out);
        }
        *self = Self::new(self.config);
    }

    /// Returns `true` if a damaged packet is passed up, according to the header's `wish` or the
    /// default.
    pub(crate) fn accepts(&self, wish: Wish) -> bool {
        wish.accept_damaged.unwrap_or(self.config.accept_damaged)
    }

    /// Records the number of a frame. Returns the distance of its packet from `next`, or `None` if
    /// the number is invalid.
    fn hear(&mut self, numbered: Numbered, out: &mut Output<'_>) -> Option<i32> {
        if !self.history.hear(numbered.order) {
            return None;
        }
        if numbered.settled != UNTOLD {
            self.pass_to(numbered.seq + u32::from(numbered.settled).wrapping_neg(), out);
        }
        Some(numbered.seq.distance_from(self.next))
    }

    /// Records a frame with a part of a packet; fails if the receiver does not need the part.
    pub(crate) fn hear_part(
        &mut self,
        numbered: Numbered,
        out: &mut Output<'_>,
    ) -> Result<(), DropReason> {
        let place = self.hear(numbered, out).ok_or(DropReason::Malformed)?;
        let has = |place: usize| !matches!(self.places.get(place), None | Some(Place::Empty));
        match usize::try_from(place) {
            Ok(place) if place >= self.config.window.packets => Err(DropReason::ReceiveBuffer),
            Ok(place) if !has(place) => Ok(()),
            _ => {
                self.ack_due = true;
                self.history.arrive(numbered.order);
                Err(DropReason::Duplicate)
            }
        }
    }

    /// Records whether all parts in a frame have arrived. An ACK is due at once only if a part is
    /// missing or the packet is complete.
    pub(crate) fn note_part(&mut self, order: Seq32, whole: bool, is_last: bool) {
        if whole {
            self.history.arrive(order);
        }
        self.ack_due |= is_last || !whole;
    }

    /// Takes a packet that was reassembled from its parts. `flow` is its place in its flow, if it
    /// is ordered only within the flow.
    pub(crate) fn complete(
        &mut self,
        numbered: Numbered,
        flow: Option<FlowPlace>,
        frame: Frame,
        out: &mut Output<'_>,
    ) {
        if let Ok(place) = usize::try_from(numbered.seq.distance_from(self.next)) {
            let good = frame.damage.frame == Check::Good;
            let accepted = self.accepts(numbered.wish);
            self.keep(place, Held { frame, flow, settled: true, accepted }, good, out);
        }
    }

    /// Returns `true` if packet `seq` was passed up or skipped.
    pub(crate) fn is_past(&self, seq: Seq32) -> bool {
        seq.is_before(self.next)
    }

    /// Restores a damaged packet from its stored copies, unless the packet was received before.
    fn mend(
        &mut self,
        seq: Seq32,
        place: i32,
        frame: &mut Frame,
        mismatch: Mismatch,
        out: &mut Output<'_>,
    ) {
        let Some(copies) = &mut self.copies else { return };
        copies.forget_before(self.next);
        let Ok(place) = usize::try_from(place) else { return };
        let is_done = self.places.get(place).is_some_and(Place::is_settled);
        if place < self.config.window.packets && !is_done {
            copies.take(seq, frame, mismatch, out);
        }
    }

    //= S3.10
    //= S3.48
    /// Takes a frame with an intact header; `mismatch` is the difference of its frame check. `flow`
    /// is its place in its flow, if it is ordered only within the flow.
    pub(crate) fn take(
        &mut self,
        numbered: Numbered,
        flow: Option<FlowPlace>,
        mut frame: Frame,
        mismatch: Mismatch,
        out: &mut Output<'_>,
    ) {
        let Some(place) = self.hear(numbered, out) else {
            return out.discard(&frame, DropReason::Malformed);
        };
        self.ack_due = true;
        self.mend(numbered.seq, place, &mut frame, mismatch, out);
        self.keep_copy(numbered, place, &mut frame, out);
        let good = frame.damage.frame == Check::Good;
        if place < 0 {
            // The packet was received before, and its ACK was lost: only the ACK is repeated.
            let reason = if good { DropReason::Duplicate } else { DropReason::FrameCheck };
            self.note_arrival(good, numbered.order);
            return out.discard(&frame, reason);
        }
        //= S0.6
        // A damaged packet is passed up if its owner accepts damage, but it is never acknowledged.
        if !good && !self.accepts(numbered.wish) {
            return out.discard(&frame, DropReason::FrameCheck);
        }
        let place = place as usize;
        let bytes = self.held_bytes.saturating_add(frame.payload.len());
        let window = self.config.window;
        if place >= window.packets || (place > 0 && bytes > window.bytes) {
            return out.discard(&frame, DropReason::ReceiveBuffer);
        }
        self.note_arrival(good, numbered.order);
        let settled = good || numbered.wish.last;
        self.keep(place, Held { frame, flow, settled, accepted: true }, good, out);
    }

    /// Keeps a damaged packet for later parity, or restores it by parity already received.
    fn keep_copy(
        &mut self,
        numbered: Numbered,
        place: i32,
        frame: &mut Frame,
        out: &mut Output<'_>,
    ) {
        let Some(place) = self.open_place(place) else { return };
        let Some(store) = &mut self.increments else { return };
        store.forget_before(self.next);
        if frame.damage.frame == Check::Good {
            return store.forget(numbered.seq);
        }
        if frame.damage.missing > 0 || place >= self.config.window.packets {
            return;
        }
        match store.take_copy(numbered.seq, frame, out) {
            Increment::Made(made) => *frame = made,
            Increment::Kept => self.history.keep(numbered.order),
            Increment::Useless => {}
        }
    }

    /// Returns the window index of a packet; `None` if the packet was received undamaged.
    fn open_place(&self, place: i32) -> Option<usize> {
        let place = usize::try_from(place).ok()?;
        let is_done = self.places.get(place).is_some_and(Place::is_settled);
        (!is_done).then_some(place)
    }

    /// Takes parity of a packet, and passes the packet up if the parity restores it. `flow` is its
    /// place in its flow, if it is ordered only within the flow.
    pub(crate) fn take_parity(
        &mut self,
        numbered: Numbered,
        part: IncrementPart,
        flow: Option<FlowPlace>,
        mut frame: Frame,
        out: &mut Output<'_>,
    ) {
        let Some(place) = self.hear(numbered, out) else {
            return out.discard(&frame, DropReason::Malformed);
        };
        self.ack_due = true;
        let Some(place) = self.open_place(place) else {
            self.history.arrive(numbered.order);
            return out.discard(&frame, DropReason::Duplicate);
        };
        let taken = match &mut self.increments {
            Some(store) => store.take_parity(numbered.seq, part, &frame, out),
            None => Increment::Useless,
        };
        match taken {
            Increment::Made(made) => {
                self.history.arrive(numbered.order);
                let new = Held { frame: made, flow, settled: true, accepted: true };
                self.keep(place, new, true, out);
            }
            taken => {
                if matches!(taken, Increment::Kept) {
                    self.history.keep(numbered.order);
                }
                // The sender keeps a copy, and reports the outcome.
                frame.kept = true;
                out.discard(&frame, DropReason::FrameCheck);
                if numbered.wish.last {
                    self.settle(place, out);
                }
            }
        }
    }

    /// Passes up the kept copy of a packet, in order, because no better copy will arrive.
    fn settle(&mut self, place: usize, out: &mut Output<'_>) {
        let Some(Place::Held(held)) = self.places.get_mut(place) else { return };
        held.settled = true;
        if let Some(flow) = held.flow {
            self.drain_flow(flow.flow, out);
        }
        self.drain(out);
    }

    /// Stores a packet in the window, and passes up the packets that are now in order.
    fn keep(&mut self, place: usize, new: Held, good: bool, out: &mut Output<'_>) {
        let flow = new.flow;
        self.hold(place, new, good, out);
        if let (Some(flow), Place::Held(_)) = (flow, &self.places[place]) {
            self.flows.arrive(flow, self.next + place as u32);
            self.drain_flow(flow.flow, out);
        }
        self.drain(out);
    }

    /// Handles a probe.
    pub(crate) fn take_probe(
        &mut self,
        probe: Probe,
        out: &mut Output<'_>,
    ) -> Result<(), DropReason> {
        if !self.history.hear(probe.order) {
            return Err(DropReason::Malformed);
        }
        self.history.arrive(probe.order);
        self.ack_due = true;
        self.pass_to(probe.base, out);
        Ok(())
    }

    /// Returns the ACK if one is due.
    #[inline]
    pub(crate) fn poll_ack(&mut self) -> Option<Ack> {
        self.ack_due.then(|| self.ack())
    }

    fn ack(&mut self) -> Ack {
        let (first, arrived, kept, more) = self.history.report();
        self.ack_due = more;
        // The second bitmap costs bytes and is usually empty, so it is omitted then.
        let kept = kept.filter(|kept| kept.iter().any(|it| it));
        Ack { next: self.next, first, arrived, kept }
    }

    fn note_arrival(&mut self, good: bool, order: Seq32) {
        if good {
            self.history.arrive(order);
        }
    }

    /// Stores a packet, in place of a worse copy. Of two damaged copies the later one is kept.
    fn hold(&mut self, place: usize, new: Held, good: bool, out: &mut Output<'_>) {
        if place >= self.places.len() {
            self.places.resize_with(place + 1, Place::default);
        }
        let is_done = match &self.places[place] {
            Place::Empty => false,
            Place::Held(old) => old.frame.damage.frame == Check::Good,
            Place::Passed => true,
        };
        if is_done {
            let reason = if good { DropReason::Duplicate } else { DropReason::FrameCheck };
            return out.discard(&new.frame, reason);
        }
        self.held += 1;
        self.held_bytes += new.frame.payload.len();
        if let Place::Held(old) = core::mem::replace(&mut self.places[place], Place::Held(new)) {
            self.release(&old);
            out.discard(&old.frame, DropReason::FrameCheck);
        }
    }

    fn release(&mut self, held: &Held) {
        self.held -= 1;
        self.held_bytes -= held.frame.payload.len();
    }

    /// Passes up the settled packets at the start of the window.
    fn drain(&mut self, out: &mut Output<'_>) {
        while self.places.front().is_some_and(Place::is_settled) {
            self.advance(out);
        }
    }

    /// Passes up the settled packets at the head of a flow.
    fn drain_flow(&mut self, flow: u16, out: &mut Output<'_>) {
        while let Some(seq) = self.flows.first(flow)
            && let Ok(place) = usize::try_from(seq.distance_from(self.next))
            && matches!(self.places.get(place), Some(Place::Held(held)) if held.settled)
        {
            let passed = core::mem::replace(&mut self.places[place], Place::Passed);
            self.pass_up(passed, out);
        }
    }

    //= S4.27
    /// Passes a packet up; returns its flow if it is ordered only within the flow.
    fn pass_up(&mut self, place: Place, out: &mut Output<'_>) -> Option<u16> {
        let mut held = match place {
            Place::Held(held) => held,
            Place::Passed => return None,
            Place::Empty => {
                self.lost = self.lost.saturating_add(1);
                return None;
            }
        };
        self.release(&held);
        if held.frame.damage.frame == Check::Good {
            held.frame.damage.lost_before = core::mem::take(&mut self.lost);
        }
        out.finish(held.frame, held.accepted);
        let flow = held.flow?;
        self.flows.pass(flow);
        Some(flow.flow)
    }

    /// Skips the packets before `base`, which the sender will not send again. A damaged copy is
    /// then passed up if its owner accepts damage.
    fn pass_to(&mut self, base: Seq32, out: &mut Output<'_>) {
        while self.next.is_before(base) && !self.places.is_empty() {
            self.advance(out);
        }
        if self.next.is_before(base) {
            let skipped = u16::try_from(base.distance_from(self.next)).unwrap_or(u16::MAX);
            self.lost = self.lost.saturating_add(skipped);
            self.next = base;
        }
        self.drain(out);
    }

    fn advance(&mut self, out: &mut Output<'_>) {
        let place = self.places.pop_front().unwrap_or_default();
        self.next = self.next.next();
        if let Some(flow) = self.pass_up(place, out) {
            self.drain_flow(flow, out);
        }
    }
}
