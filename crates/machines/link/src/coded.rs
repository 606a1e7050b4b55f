//! Packets in coded blocks over a medium that acknowledges at once: shrinking, coding, repeating
//! only what failed, and keeping what arrived (S3.18–S3.21).
//!
//! A policy says how many blocks a frame has and how much parity each. The receiver keeps every
//! good block and reports each; what it lacks goes into the next frame, coded as the policy says by
//! then. A packet is under way until it is complete or given up; the next one waits (S3.48).

mod begun;
mod blocks;
mod codes;
mod packet;
pub mod pipelined;
mod receiver;
mod sender;
mod stream;

use std::collections::VecDeque;

use windfall_base::{DropReason, Frame, Instant, PacketEvent, TransitTiming};
use windfall_wire_link::coded::{Fate, Head, Number, Report};
use windfall_wire_link::wavelan::Feedback;

use crate::arrival::Arrival;
use crate::output::Output;
use crate::persistence::Arq;
use crate::policy::{Cost, PolicyChoice};
use crate::window::Pulled;
use begun::Fates;
use receiver::Receiver;
use sender::Sender;

/// The configuration of an exchange in coded blocks.
#[derive(Clone, Debug, PartialEq)]
pub struct CodedConfig {
    /// The policy that chooses size and parity.
    pub policy: PolicyChoice,
    /// The frames in a row that may fail in part or whole before their packet is given up.
    pub arq: Arq,
    /// Frames have as many whole blocks as the policy says, however short the packet.
    pub padded: bool,
    /// Take blocks that their checks reject, where their sender did not say (S0.5).
    pub accept_damaged: bool,
    /// Make whole blocks from failed copies.
    pub combine: bool,
    /// The cost of a frame.
    pub cost: Cost,
}

/// The exchange of packets with one peer, both directions.
///
/// Its caller owns the air time, as with [`StopAndWait`](crate::StopAndWait).
#[derive(Debug)]
pub struct Coded {
    sender: Sender,
    receiver: Receiver,
    deliveries: VecDeque<Frame>,
    events: VecDeque<PacketEvent>,
}

impl Coded {
    /// An exchange in which nothing was sent.
    #[must_use]
    pub fn new(config: CodedConfig) -> Self {
        let receiver = Receiver::new(config.accept_damaged, config.combine);
        Self {
            sender: Sender::new(config),
            receiver,
            deliveries: VecDeque::new(),
            events: VecDeque::new(),
        }
    }

    /// Tells it the time that its frames take.
    pub fn set_passage(&mut self, passage: TransitTiming) {
        self.sender.passage = passage;
    }

    /// Returns `true` if a packet is under way.
    #[must_use]
    pub fn has_unit(&self) -> bool {
        self.sender.is_busy()
    }

    /// The next unit: the missing parts of the current packet, else a packet from `pull`.
    pub fn next_unit(
        &mut self,
        now: Instant,
        pull: impl FnMut() -> Option<Pulled>,
    ) -> Option<Frame> {
        self.sender.next_unit(now, pull, &mut self.events)
    }

    /// Learns the fate of the last unit: the feedback of its ACK, or none.
    pub fn take_outcome(&mut self, feedback: Option<&Feedback>) {
        let report = feedback.and_then(|feedback| Report::parse(feedback).ok());
        self.sender.take_outcome(report.as_ref(), &mut self.events);
    }

    /// Takes a unit of the peer; the feedback goes back at once as the ACK.
    pub fn take_unit(&mut self, mut unit: Frame) -> (Arrival, Option<Feedback>) {
        let mut out = Output { deliveries: &mut self.deliveries, events: &mut self.events };
        match codes::open_header(&unit.header) {
            Ok(Head { number: Number::Window(_) | Number::Flow(..), .. }) => {
                out.discard(&unit, DropReason::NotForUs);
                (Arrival::Packet, None)
            }
            Ok(head @ Head { number: Number::Unit(seq), .. }) => {
                unit.header.clear();
                let (arrival, report) = self.receiver.take(seq, &head, &unit, &mut out);
                (arrival, report.map(|report| report.encode()))
            }
            Err(reason) => {
                out.discard(&unit, reason);
                (Arrival::Packet, None)
            }
        }
    }

    /// Yields the next packet for the layer above, in order.
    pub fn poll_delivery(&mut self) -> Option<Frame> {
        self.deliveries.pop_front()
    }

    /// Yields the next event.
    pub fn poll_event(&mut self) -> Option<PacketEvent> {
        self.events.pop_front()
    }

    /// Packets that the exchange holds, begun ones that were not completed included.
    #[must_use]
    pub fn held(&self) -> usize {
        usize::from(self.sender.is_busy())
            + usize::from(self.receiver.is_busy())
            + self.deliveries.len()
    }
}

/// Returns the fates that a policy learns of a report: a block that was combined from several
/// copies had too little parity in this one, so that it counts as failed.
fn received(fates: &[Fate]) -> Fates {
    let in_this_copy = |fate: &Fate| if *fate == Fate::Combined { Fate::Failed } else { *fate };
    fates.iter().map(in_this_copy).collect()
}

#[cfg(test)]
mod tests;
