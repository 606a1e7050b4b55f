//! The exchange with one peer over a medium that acknowledges at once, uncoded or coded.

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
    /// Uncoded: each packet has one frame, which is retransmitted as a whole.
    Plain {
        /// The limit of retransmissions.
        arq: Arq,
        /// Passes up packets with a wrong frame check, unless their sender says otherwise (S0.5).
        accept_damaged: bool,
        /// Restores packets from several damaged copies.
        combine: bool,
    },
    /// In coded blocks, of which only the failed ones are retransmitted.
    Coded(CodedConfig),
}

impl From<Arq> for Framing {
    /// Uses uncoded frames; damaged packets are not passed up.
    fn from(arq: Arq) -> Self {
        Self::Plain { arq, accept_damaged: false, combine: false }
    }
}

/// The exchange of packets with one peer, in both directions.
///
/// The caller owns the air time. It calls `next_unit` when it has air time, `take_outcome` when the
/// outcome of that unit is known, and `take_unit` for each unit from the peer.
#[derive(Debug)]
#[expect(missing_docs, reason = "the variants are those of Framing")]
pub enum Exchange {
    Plain(Box<StopAndWait>),
    Coded(Box<Coded>),
}

impl Exchange {
    /// Creates an exchange in which nothing was sent.
    #[must_use]
    pub fn new(framing: Framing) -> Self {
        match framing {
            Framing::Plain { arq, accept_damaged, combine } => {
                Self::Plain(Box::new(StopAndWait::new(arq, accept_damaged, combine)))
            }
            Framing::Coded(config) => Self::Coded(Box::new(Coded::new(config))),
        }
    }

    /// Sets the transmission time of its frames.
    pub fn set_passage(&mut self, passage: TransitTiming) {
        match self {
            Self::Plain(link) => link.set_passage(passage),
            Self::Coded(link) => link.set_passage(passage),
        }
    }

    /// Returns `true` if a packet is pending that may have to be retransmitted.
    #[must_use]
    pub fn has_unit(&self) -> bool {
        match self {
            Self::Plain(link) => link.has_unit(),
            Self::Coded(link) => link.has_unit(),
        }
    }

    /// Returns the next unit: of the pending packet, or else of a new one from `pull`.
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

    /// Handles the outcome of the last unit: the feedback of its ACK, or `None` if no ACK came.
    pub fn take_outcome(&mut self, feedback: Option<&Feedback>) {
        match self {
            Self::Plain(link) => link.take_outcome(feedback),
            Self::Coded(link) => link.take_outcome(feedback),
        }
    }

    /// Handles a unit from the peer; the caller returns the feedback at once as the ACK.
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

    /// Returns the number of packets that the exchange holds.
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
