//! Coded blocks over a full-duplex pipe: many packets are in flight in one window, as with uncoded
//! frames, and ACKs carry reports of blocks.
//!
//! The ACK's bitmap lists the transmissions that were received completely. After the bitmap, a
//! record for each transmission gives the outcome of its blocks, so only failed blocks are
//! retransmitted. If a record is lost, all blocks of an incomplete transmission are sent again.

use std::collections::{BTreeMap, VecDeque};

use windfall_base::seq::Seq32;
use windfall_base::{DropReason, Frame, FramesOfPacket, Instant, PacketEvent, TransitTiming};
use windfall_wire_link::coded::{
    Head, MAX_BLOCKS, Number, Record, WindowNumber, encode_records, parse_records,
};
use windfall_wire_link::pipe::Header;

use super::begun::Begun;
use super::packet::{Flight, Packet, Planning, Softness};
use super::{codes, received};
use crate::arq::flow_order::{FlowNumbers, OwnFlow};
use crate::arq::framer::{Fate, Framer, Reported};
use crate::arq::receiver::{Numbered, Receiver, ReceiverConfig};
use crate::arq::sender::Sender;
use crate::arrival::Arrival;
use crate::output::Output;
use crate::persistence::Arq;
use crate::policy::{Cost, Outcome, Policy, PolicyChoice};
use crate::window::Pulled;

/// The maximum number of records after one ACK; older ones are dropped.
const MOST_RECORDS: usize = 128;

/// The configuration of coded blocks over a pipe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coding {
    /// The policy that chooses frame size and parity.
    pub policy: PolicyChoice,
    /// Frames have the number of blocks that the policy chooses, even for a short packet.
    pub padded: bool,
    /// The air time of a frame.
    pub cost: Cost,
}

/// One end of a pipe with coded frames.
#[derive(Debug)]
pub(crate) struct Pipelined {
    sender: Sender<Coder>,
    receiver: Receiver,
    combine: bool,
    /// The packets in reassembly, by packet number.
    begun: BTreeMap<u32, Begun>,
    /// The records that have not been sent yet.
    records: VecDeque<Record>,
}

impl Pipelined {
    /// Creates one end that has sent and received nothing.
    pub(crate) fn new(coding: Coding, arq: Arq, config: ReceiverConfig) -> Self {
        let Coding { policy, padded, cost } = coding;
        let policy = policy.build(cost);
        let flows = FlowNumbers::default();
        let reported = VecDeque::new();
        let softness = Softness::default();
        let passage = TransitTiming::default();
        let coder = Coder { policy, softness, arq, padded, passage, flows, reported };
        // Copies of blocks are combined before the packet is whole.
        let receiver = ReceiverConfig { combine: false, increments: false, ..config };
        Self {
            sender: Sender::new(coder, config.window),
            receiver: Receiver::new(receiver),
            combine: config.combine,
            begun: BTreeMap::new(),
            records: VecDeque::new(),
        }
    }

    pub(crate) fn set_passage(&mut self, passage: TransitTiming) {
        self.sender.framer.passage = passage;
    }

    /// Handles a frame from the medium.
    pub(crate) fn handle_frame(
        &mut self,
        now: Instant,
        frame: &Frame,
        out: &mut Output<'_>,
    ) -> Arrival {
        let taken = match Header::parse(&frame.header, &frame.trailer) {
            Ok(Header::Probe(probe)) => {
                self.receiver.take_probe(probe, out).map(|()| Arrival::Control)
            }
            Ok(Header::Ack(ack)) => {
                // Without its records, an ACK still lists the complete transmissions.
                let records = parse_records(&frame.payload.to_bytes()).unwrap_or_default();
                self.sender.framer.reported = records.into();
                let is_ours = self.sender.take_ack(now, &ack, out.events);
                self.sender.framer.reported.clear();
                if is_ours { Ok(Arrival::Control) } else { Err(DropReason::Malformed) }
            }
            Ok(Header::Data(_)) => Err(DropReason::NotForUs),
            Err(_) => match codes::open_header(&frame.header) {
                Ok(head) => self.take_blocks(&head, frame, out),
                Err(reason) => Err(reason),
            },
        };
        // The sender has dropped these packets.
        self.abandon(Receiver::is_past, out);
        taken.unwrap_or_else(|reason| {
            out.discard(frame, reason);
            Arrival::Packet
        })
    }

    /// Takes the blocks of a frame with this header.
    fn take_blocks(
        &mut self,
        head: &Head,
        frame: &Frame,
        out: &mut Output<'_>,
    ) -> Result<Arrival, DropReason> {
        let (WindowNumber { seq, order, settled }, flow) = match head.number {
            Number::Window(place) => (place, None),
            Number::Flow(place, flow) => (place, Some(flow)),
            Number::Unit(_) => return Err(DropReason::NotForUs),
        };
        let numbered = Numbered { seq, order, settled, wish: head.wish };
        self.receiver.hear_part(numbered, out)?;
        let mut arrival = Arrival::More;
        let begun = self.begun.entry(seq.0).or_insert_with(|| {
            arrival = Arrival::Packet;
            Begun::new(head, frame, self.combine)
        });
        if !begun.fits(head) {
            return Err(DropReason::Malformed);
        }
        let welcome = head.wish.last && self.receiver.accepts(head.wish);
        let fates = begun.take(head, frame, welcome);
        let again = begun.is_whole() && !begun.is_consistent();
        if again {
            begun.restart();
        }
        let whole = !again && fates.iter().all(|fate| fate.is_taken());
        self.receiver.note_part(order, whole, begun.is_whole());
        if self.records.len() == MOST_RECORDS {
            self.records.pop_front();
        }
        self.records.push_back(Record { order, again, fates });
        if begun.is_whole()
            && let Some(begun) = self.begun.remove(&seq.0)
        {
            begun.report(out);
            self.receiver.complete(numbered, flow, begun.into_frame(), out);
        }
        Ok(arrival)
    }

    /// Restarts the receiver with packet number zero, as the peer does.
    pub(crate) fn restart_receiver(&mut self, out: &mut Output<'_>) {
        self.abandon(|_, _| true, out);
        self.receiver.restart(out);
        self.records.clear();
    }

    /// Drops the oldest packets in reassembly for which `is_past` holds.
    fn abandon(&mut self, is_past: fn(&Receiver, Seq32) -> bool, out: &mut Output<'_>) {
        while let Some(first) = self.begun.first_entry()
            && is_past(&self.receiver, Seq32(*first.key()))
        {
            let mut frame = first.remove().into_frame();
            // The sender reports the drop of the packet; this reports only its received parts.
            frame.kept = true;
            out.discard(&frame, DropReason::Uncorrectable);
        }
    }

    /// Returns the next frame for an idle medium.
    pub(crate) fn poll_transmit(
        &mut self,
        now: Instant,
        events: &mut VecDeque<PacketEvent>,
        pull: impl FnMut() -> Option<Pulled>,
    ) -> Option<Frame> {
        if let Some(ack) = self.receiver.poll_ack() {
            let (header, trailer) = ack.encode();
            let payload = encode_records(self.records.make_contiguous()).into();
            self.records.clear();
            return Some(Frame { payload, ..Frame::control(header, trailer) });
        }
        let packet = self.sender.poll_packet(now, events, pull);
        packet.or_else(|| self.sender.poll_probe(now))
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        self.sender.handle_timeout(now);
    }

    pub(crate) fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        self.sender.poll_timeout()
    }

    /// Returns the number of packets that the link holds, including incomplete ones.
    pub(crate) fn held(&self) -> usize {
        self.sender.held() + self.receiver.held() + self.begun.len()
    }
}

/// Builds coded frames as the policy chooses.
#[derive(Debug)]
pub(crate) struct Coder {
    policy: Box<dyn Policy>,
    softness: Softness,
    arq: Arq,
    padded: bool,
    passage: TransitTiming,
    flows: FlowNumbers,
    /// The records of the last ACK that have not been used yet.
    reported: VecDeque<Record>,
}

/// A pending packet and its frames in flight.
#[derive(Debug)]
pub(crate) struct Open {
    packet: Packet,
    own: OwnFlow,
    /// The latest time at which the whole packet is worth sending.
    latest: Option<Instant>,
    flights: VecDeque<(Seq32, Flight)>,
}

impl Framer for Coder {
    type Packet = Open;

    fn begin(&self, pulled: Pulled) -> Open {
        let expires = pulled.expires;
        let len = pulled.frame.payload.len();
        let packet = Packet::new(pulled, self.arq);
        let whole = FramesOfPacket::one(len, len + Planning::FLOW);
        let latest = expires.map(|expires| self.passage.latest_start(expires, whole));
        let own = OwnFlow::of(packet.class(), latest);
        Open { own, latest, packet, flights: VecDeque::new() }
    }

    fn frame(
        &mut self,
        now: Instant,
        Open { packet, own, flights, .. }: &mut Open,
        place: WindowNumber,
        events: &mut VecDeque<PacketEvent>,
    ) -> Option<Frame> {
        let policy = &mut *self.policy;
        let softness = &mut self.softness;
        let round_trip = self.passage.delay.saturating_mul(2);
        let padded = self.padded;
        let passage = self.passage;
        let beside = if own.is_any() { Planning::FLOW } else { Planning::WINDOW };
        let planning = Planning { padded, passage, beside, round_trip };
        let Some(plan) = packet.plan(now, policy, softness, &planning) else {
            self.flows.finish(own);
            return None;
        };
        let number = match self.flows.place_of(now, own) {
            Some(flow) => Number::Flow(place, flow),
            None => Number::Window(place),
        };
        let (flight, frame) = packet.frame(number, plan, self.padded, events);
        if packet.is_sent_for_good() {
            self.flows.finish(own);
        }
        flights.push_back((place.order, flight));
        Some(frame)
    }

    fn settle(&mut self, open: &mut Open, order: Seq32, reported: Reported) -> Fate {
        let arrived = reported == Reported::Whole;
        let Open { packet, own, flights, .. } = open;
        let Some(at) = flights.iter().position(|(number, _)| *number == order) else {
            return Fate::Open;
        };
        let Some((_, flight)) = flights.remove(at) else { return Fate::Open };
        let plan = flight.plan;
        let carried = Packet::coded_bytes(&flight.head);
        // If a transmission was received twice, the last report counts.
        let told = self.reported.iter().rposition(|record| record.order == order);
        let record = told.and_then(|at| self.reported.remove(at));
        match &record {
            Some(record) => {
                let fates = received(&record.fates);
                self.policy.learn(plan, carried, Outcome::Report(&fates));
                self.softness.hear(&flight, &record.fates);
            }
            // The transmission was complete, but its number of corrected symbols was not reported.
            None if arrived => {}
            None => self.policy.learn(plan, carried, Outcome::Silence),
        }
        let whole = [windfall_wire_link::coded::Fate::Good(0); MAX_BLOCKS];
        match &record {
            Some(Record { again: true, .. }) => {
                packet.settle(&flight, &[]);
                packet.restart();
            }
            _ if arrived => packet.settle(&flight, &whole[..flight.head.stretches.len()]),
            Some(record) => packet.settle(&flight, &record.fates),
            None => packet.settle(&flight, &[]),
        }
        let fate = match packet {
            _ if packet.is_complete() => Fate::Done,
            _ if packet.is_used_up() => Fate::UsedUp,
            _ if packet.unsent.is_empty() => Fate::Open,
            _ => Fate::Again,
        };
        if matches!(fate, Fate::Done | Fate::UsedUp) {
            self.flows.finish(own);
        }
        fate
    }

    fn has_heard_of(&self, order: Seq32) -> bool {
        self.reported.iter().any(|record| record.order == order)
    }

    fn wants_more(open: &Open) -> bool {
        !open.packet.unsent.is_empty()
    }

    fn latest_start(open: &Open) -> Option<Instant> {
        open.latest
    }

    fn len(open: &Open) -> usize {
        open.packet.len()
    }

    fn attempts(open: &Open) -> u32 {
        open.packet.tries + 1
    }

    fn acknowledged(open: &Open) -> PacketEvent {
        open.packet.acknowledged()
    }

    fn dropped(open: &Open, reason: DropReason) -> PacketEvent {
        open.packet.dropped(reason)
    }
}

#[cfg(test)]
mod tests;
