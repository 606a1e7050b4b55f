//! An exchange with one peer over a medium that acknowledges at once, in either framing.

use windfall_base::{Frame, Instant, PacketEvent, TransitTiming};
use windfall_wire_link::wavelan::Feedback;

use crate::arrival::Arrival;
use crate::coded::{Coded, CodedConfig};
use crate::persistence::Arq;
use crate::stop_and_wait::StopAndWait;
use crate::window::Pulled;

/// The framing of packets for one peer. Both ends must agree.
#[derive(Clone, Debug, PartialEq)]
pub enum Framing {
    /// Each packet in a frame of its own, repeated whole.
    Plain {
        /// The retransmission of packets.
        arq: Arq,
        /// Pass up packets whose frame check failed, where their sender did not say (S0.5).
        accept_damaged: bool,
        /// Make whole packets from damaged copies.
        combine: bool,
    },
    /// In coded blocks.
    Coded(CodedConfig),
}

impl From<Arq> for Framing {
    /// Plain frames; none is passed up damaged.
    fn from(arq: Arq) -> Self {
        Self::Plain { arq, accept_damaged: false, combine: false }
    }
}

/// The exchange of packets with one peer, both directions.
///
/// Its caller owns the air time. It calls `next_unit` when there is some, `take_outcome` when the
/// fate of that unit is known, `take_unit` for units of the peer.
#[derive(Debug)]
#[expect(missing_docs, reason = "the variants are those of Framing")]
pub enum Exchange {
    Plain(Box<StopAndWait>),
    Coded(Box<Coded>),
}

impl Exchange {
    /// An exchange in which nothing was sent.
    #[must_use]
    pub fn new(framing: Framing) -> Self {
        match framing {
            Framing::Plain { arq, accept_damaged, combine } => {
                Self::Plain(Box::new(StopAndWait::new(arq, accept_damaged, combine)))
            }
            Framing::Coded(config) => Self::Coded(Box::new(Coded::new(config))),
        }
    }

    /// Tells it the time that its frames take.
    pub fn set_passage(&mut self, passage: TransitTiming) {
        match self {
            Self::Plain(link) => link.set_passage(passage),
            Self::Coded(link) => link.set_passage(passage),
        }
    }

    /// Returns `true` if a packet is under way that may have to be retransmitted.
    #[must_use]
    pub fn has_unit(&self) -> bool {
        match self {
            Self::Plain(link) => link.has_unit(),
            Self::Coded(link) => link.has_unit(),
        }
    }

    /// The next unit: of the packet under way, else of a new one from `pull`.
    pub fn next_unit(
        &mut self,
        now: Instant,
        pull: impl FnMut() -> Option<Pulled>,
    ) -> Option<Frame> {
        match self {
            Self::Plain(link) => link.next_unit(now, pull),
            Self::Coded(link) => link.next_unit(now, pull),
        }
    }

    /// Learns the fate of the last unit: the feedback of its ACK, or none.
    pub fn take_outcome(&mut self, feedback: Option<&Feedback>) {
        match self {
            Self::Plain(link) => link.take_outcome(feedback),
            Self::Coded(link) => link.take_outcome(feedback),
        }
    }

    /// Takes a unit of the peer; the feedback goes back at once as the ACK.
    pub fn take_unit(&mut self, unit: Frame) -> (Arrival, Option<Feedback>) {
        match self {
            Self::Plain(link) => (Arrival::Packet, link.take_unit(unit)),
            Self::Coded(link) => link.take_unit(unit),
        }
    }

    /// Yields the next packet for the layer above, in order.
    pub fn poll_delivery(&mut self) -> Option<Frame> {
        match self {
            Self::Plain(link) => link.poll_delivery(),
            Self::Coded(link) => link.poll_delivery(),
        }
    }

    /// Yields the next event.
    pub fn poll_event(&mut self) -> Option<PacketEvent> {
        match self {
            Self::Plain(link) => link.poll_event(),
            Self::Coded(link) => link.poll_event(),
        }
    }

    /// Packets that the exchange holds.
    #[must_use]
    pub fn held(&self) -> usize {
        match self {
            Self::Plain(link) => link.held(),
            Self::Coded(link) => link.held(),
        }
    }
}

#[cfg(test)]
mod tests;
