//! Packets in coded blocks over a medium that acknowledges at once. Frame size and code adapt to
//! the link, only failed blocks are retransmitted, and received blocks are kept (S3.18–S3.21).
//!
//! A policy chooses the number of blocks in a frame and the parity of each block. The receiver
//! keeps every good block and reports the outcome of each. The next frame carries the missing
//! parts, coded as the policy then decides. One packet is pending at a time, until it is complete
//! or dropped (S3.48).

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
    /// The maximum number of consecutive failed frames, after which the packet is dropped.
    pub arq: Arq,
    /// Frames have the number of blocks that the policy chooses, even for a short packet.
    pub padded: bool,
    /// Accepts blocks whose check failed, unless their sender says otherwise (S0.5).
    pub accept_damaged: bool,
    /// Restores blocks from several failed copies.
    pub combine: bool,
    /// The air time of a frame.
    pub cost: Cost,
}

/// The exchange of packets with one peer, in both directions.
///
/// The caller owns the air time, as with [`StopAndWait`](crate::StopAndWait).
#[derive(Debug)]
pub struct Coded {
    sender: Sender,
    receiver: Receiver,
    deliveries: VecDeque<Frame>,
    events: VecDeque<PacketEvent>,
}

impl Coded {
    /// Creates an exchange in which nothing was sent.
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

    /// Sets the transmission time of its frames.
    pub fn set_passage(&mut self, passage: TransitTiming) {
        self.sender.passage = passage;
    }

    /// Returns `true` if a packet is pending.
    #[must_use]
    pub fn has_unit(&self) -> bool {
        self.sender.is_busy()
    }

    /// Returns the next unit: missing parts of the pending packet, or else of a new one from
    /// `pull`.
    pub fn next_unit(
        &mut self,
        now: Instant,
        pull: impl FnMut() -> Option<Pulled>,
    ) -> Option<Frame> {
        self.sender.next_unit(now, pull, &mut self.events)
    }

    /// Handles the outcome of the last unit: the feedback of its ACK, or `None` if no ACK came.
    pub fn take_outcome(&mut self, feedback: Option<&Feedback>) {
        let report = feedback.and_then(|feedback| Report::parse(feedback).ok());
        self.sender.take_outcome(report.as_ref(), &mut self.events);
    }

    /// Handles a unit from the peer; the caller returns the feedback at once as the ACK.
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

    /// Returns the number of packets that the exchange holds, including incomplete ones.
    #[must_use]
    pub fn held(&self) -> usize {
        usize::from(self.sender.is_busy())
            + usize::from(self.receiver.is_busy())
            + self.deliveries.len()
    }
}

/// Returns the outcomes as a policy learns them. A block that was combined from several copies
/// counts as failed, because its parity did not suffice in this copy.
fn received(fates: &[Fate]) -> Fates {
    let in_this_copy = |fate: &Fate| if *fate == Fate::Combined { Fate::Failed } else { *fate };
    fates.iter().map(in_this_copy).collect()
}

#[cfg(test)]
mod tests;
