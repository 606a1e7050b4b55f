//! The receiver: passes up packets in order, repaired if possible.

use std::collections::VecDeque;

use windfall_base::{Check, DropReason, Frame, Instant, PacketEvent, Tag};
use windfall_fec::Cover;
use windfall_wire_link::repair::{Covered, RepairTrailer};

use super::stream::{CoveredNumber, ReceivingStream};
use super::{MOST_STREAMS, RepairConfig, trailer};
use crate::arrival::Arrival;
use crate::output::Output;

/// Takes packets and repairs from a link, and passes packets up.
///
/// A missing or damaged packet delays the later packets of its stream, until a repair restores it
/// or the delay of the code is over. A damaged packet is then passed up if damage is accepted.
/// Packets whose owner accepts any order are not delayed, and no packet is delayed beyond its
/// lifetime.
#[derive(Debug)]
pub struct RepairReceiver {
    config: RepairConfig,
    accept_damaged: bool,
    /// The streams, the most recently received one last.
    streams: Vec<ReceivingStream>,
    deliveries: VecDeque<Frame>,
    events: VecDeque<PacketEvent>,
}

impl RepairReceiver {
    /// Creates a receiver without streams. If `accept_damaged` is set, it passes up damaged packets
    /// unless their sender says otherwise.
    #[must_use]
    pub fn new(config: RepairConfig, accept_damaged: bool) -> Self {
        let deliveries = VecDeque::new();
        let events = VecDeque::new();
        Self { config, accept_damaged, streams: Vec::new(), deliveries, events }
    }

    /// Takes a frame that the link passed up, damaged or not. Repairs count as control frames.
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
                stream.take_repair(now, cover, check, &frame, &mut out);
                Arrival::Control
            }
        };
        self.streams.push(stream);
        arrival
    }

    /// Gives up the packets whose delay is over.
    pub fn handle_timeout(&mut self, now: Instant) {
        let mut out = Output { deliveries: &mut self.deliveries, events: &mut self.events };
        self.streams.iter_mut().for_each(|stream| stream.release(now, &mut out));
    }

    /// Passes up all held packets and drops the streams, because the sender has restarted.
    pub fn restart(&mut self) {
        let mut out = Output { deliveries: &mut self.deliveries, events: &mut self.events };
        self.streams.drain(..).for_each(|mut stream| stream.close(&mut out));
    }

    /// Sets whether damaged packets are passed up by default.
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

    /// Returns when to call `handle_timeout` next.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        let due = self.streams.iter().filter_map(ReceivingStream::due).min();
        due.map(|due| (due, "a packet that waits for a repair"))
    }

    /// Returns the missing packets that a received repair may still restore.
    pub fn awaited(&self) -> impl Iterator<Item = Tag> + '_ {
        self.streams.iter().flat_map(ReceivingStream::awaited)
    }

    /// Returns the number of packets that the receiver holds.
    #[must_use]
    pub fn held(&self) -> usize {
        let waiting: usize = self.streams.iter().map(ReceivingStream::held).sum();
        waiting + self.deliveries.len()
    }

    /// Removes a stream from the list. A new stream replaces the one that was idle longest.
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
