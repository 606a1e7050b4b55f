//! The receiving side: packets in order, repaired where they can be.

use std::collections::VecDeque;

use windfall_base::{Check, DropReason, Frame, Instant, PacketEvent, Tag};
use windfall_fec::Cover;
use windfall_wire_link::repair::{Covered, RepairTrailer};

use super::stream::{CoveredNumber, ReceivingStream};
use super::{MOST_STREAMS, RepairConfig, trailer};
use crate::arrival::Arrival;
use crate::output::Output;

/// Takes packets and repairs from a link, and passes up packets.
///
/// A missing or damaged packet holds up the later ones of its stream, until a repair restores it or
/// the delay of the code is over. Then a damaged one is passed up if damage is accepted. It holds
/// up no packet whose owner accepts any order, and none beyond its lifetime.
#[derive(Debug)]
pub struct RepairReceiver {
    config: RepairConfig,
    accept_damaged: bool,
    /// The streams, that heard last at the end.
    streams: Vec<ReceivingStream>,
    deliveries: VecDeque<Frame>,
    events: VecDeque<PacketEvent>,
}

impl RepairReceiver {
    /// A receiver that has heard nothing; it passes up damaged packets whose sender did not say
    /// if `accept_damaged` is set.
    #[must_use]
    pub fn new(config: RepairConfig, accept_damaged: bool) -> Self {
        let (deliveries, events) = (VecDeque::new(), VecDeque::new());
        Self { config, accept_damaged, streams: Vec::new(), deliveries, events }
    }

    /// Takes a frame that the link passed up, damaged or not. Repairs are control frames.
    pub fn handle_frame(&mut self, now: Instant, mut frame: Frame) -> Arrival {
        let Some(RepairTrailer { stream, number, kind }) = trailer::take_off(&mut frame.payload)
        else {
            let is_damaged = frame.damage.frame == Check::Bad || frame.damage.missing > 0;
            let reason = if is_damaged { DropReason::FrameCheck } else { DropReason::Malformed };
            let mut out = Output { deliveries: &mut self.deliveries, events: &mut self.events };
            out.discard(&frame, reason);
            return Arrival::Packet;
        };
        let mut stream = self.stream(stream, number);
        let mut out = Output { deliveries: &mut self.deliveries, events: &mut self.events };
        let arrival = match kind {
            Covered::Packet { check, accept_damaged, unordered } => {
                let accepted = accept_damaged.unwrap_or(self.accept_damaged);
                let packet = CoveredNumber { number, check, accepted, unordered };
                stream.take_packet(now, packet, frame, &mut out);
                Arrival::Packet
            }
            Covered::Repair { count, row, before, check } => {
                frame.payload.advance(before.into());
                let cover = Cover { first: number, count, row };
                stream.take_repair(now, (cover, check), &frame, &mut out);
                Arrival::Control
            }
        };
        self.streams.push(stream);
        arrival
    }

    /// Gives up the packets that have waited long enough.
    pub fn handle_timeout(&mut self, now: Instant) {
        let mut out = Output { deliveries: &mut self.deliveries, events: &mut self.events };
        self.streams.iter_mut().for_each(|stream| stream.release(now, &mut out));
    }

    /// Passes up all held packets and drops the streams, because those of the sender restart.
    pub fn restart(&mut self) {
        let mut out = Output { deliveries: &mut self.deliveries, events: &mut self.events };
        self.streams.drain(..).for_each(|mut stream| stream.close(&mut out));
    }

    /// Sets whether damaged packets are passed up whose sender did not say.
    pub fn set_accept_damaged(&mut self, accept: bool) {
        self.accept_damaged = accept;
    }

    /// Yields the next packet for the layer above.
    pub fn poll_delivery(&mut self) -> Option<Frame> {
        self.deliveries.pop_front()
    }

    /// Yields the next event.
    pub fn poll_event(&mut self) -> Option<PacketEvent> {
        self.events.pop_front()
    }

    /// Says when to call `handle_timeout` next.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        let due = self.streams.iter().filter_map(ReceivingStream::due).min();
        due.map(|due| (due, "a packet that waits for a repair"))
    }

    /// The packets that have not come, and that a repair which has come may make yet.
    pub fn awaited(&self) -> impl Iterator<Item = Tag> + '_ {
        self.streams.iter().flat_map(ReceivingStream::awaited)
    }

    /// Packets that wait here.
    #[must_use]
    pub fn held(&self) -> usize {
        let waiting: usize = self.streams.iter().map(ReceivingStream::held).sum();
        waiting + self.deliveries.len()
    }

    /// Takes a stream out; a new one takes the place of the one that was idle longest.
    fn stream(&mut self, id: u32, number: u32) -> ReceivingStream {
        if let Some(at) = self.streams.iter().position(|stream| stream.id == id) {
            return self.streams.remove(at);
        }
        if self.streams.len() == MOST_STREAMS {
            let mut out = Output { deliveries: &mut self.deliveries, events: &mut self.events };
            self.streams.remove(0).close(&mut out);
        }
        ReceivingStream::new(id, self.config, number)
    }
}
