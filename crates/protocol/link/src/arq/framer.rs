//! How the packets of a window become frames.

use core::fmt;
use std::collections::VecDeque;

use windfall_base::seq::Seq32;
use windfall_base::{DropReason, Frame, Instant};
use windfall_wire_link::coded::WindowNumber;
use windfall_wire_link::pipe::Number;

use super::flow_order::{FlowNumbers, OwnFlow};
use crate::event::LinkEvent;
use crate::persistence::Arq;
use crate::undecided::Undecided;
use crate::window::Pulled;

/// The fate of a packet by that of one of its transmissions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It is as open as before.
    Open,
    /// Some of it must be sent again.
    Again,
    /// The receiver has it.
    Done,
    /// No attempt is left.
    UsedUp,
}

/// Makes the frames of packets, and knows what their fate means.
pub(crate) trait Framer: fmt::Debug {
    /// A packet whose fate is open.
    type Packet: fmt::Debug;

    /// Takes up a packet.
    fn begin(&self, pulled: Pulled) -> Self::Packet;

    /// Makes the next frame, and reports it; `None` if the packet is worthless by `now`.
    fn frame(
        &mut self,
        now: Instant,
        packet: &mut Self::Packet,
        place: WindowNumber,
        events: &mut VecDeque<LinkEvent>,
    ) -> Option<Frame>;

    /// Learns whether a transmission has arrived undamaged.
    fn settle(&mut self, packet: &mut Self::Packet, order: Seq32, arrived: bool) -> Fate;

    /// Returns `true` if another frame of the packet can go at once.
    fn wants_more(packet: &Self::Packet) -> bool;

    /// The length of the packet, in bytes.
    fn len(packet: &Self::Packet) -> usize;

    /// Returns the number of attempts made.
    fn attempts(packet: &Self::Packet) -> u32;

    /// Returns the event to report when the packet has arrived.
    fn acknowledged(packet: &Self::Packet) -> LinkEvent;

    /// Returns the event to report when the packet is given up.
    fn dropped(packet: &Self::Packet, reason: DropReason) -> LinkEvent;
}

/// Each packet in a frame of its own, repeated whole.
#[derive(Debug)]
pub(crate) struct Whole {
    arq: Arq,
    flows: FlowNumbers,
}

impl Whole {
    pub(crate) fn new(arq: Arq) -> Self {
        Self { arq, flows: FlowNumbers::default() }
    }
}

/// A packet that is repeated whole.
#[derive(Debug)]
pub(crate) struct WholePacket {
    packet: Undecided,
    /// The transmission of its last attempt.
    last: Option<Seq32>,
    own: OwnFlow,
}

impl Whole {
    fn number(&mut self, now: Instant, packet: &mut WholePacket, place: WindowNumber) -> Number {
        let WindowNumber { seq, order, settled } = place;
        match self.flows.place_of(now, &mut packet.own) {
            Some(place) => Number::Flow { seq, order, settled, place },
            None => Number::Window { seq, order, settled },
        }
    }
}

impl Framer for Whole {
    type Packet = WholePacket;

    fn begin(&self, pulled: Pulled) -> WholePacket {
        let expires = pulled.expires;
        let packet = Undecided::new(pulled, self.arq);
        WholePacket { own: OwnFlow::of(packet.class(), expires), packet, last: None }
    }

    fn frame(
        &mut self,
        now: Instant,
        packet: &mut WholePacket,
        place: WindowNumber,
        events: &mut VecDeque<LinkEvent>,
    ) -> Option<Frame> {
        if packet.packet.has_expired(now) {
            self.flows.finish(&packet.own);
            return None;
        }
        packet.last = Some(place.order);
        let number = self.number(now, packet, place);
        let frame = packet.packet.attempt(number, events);
        if !frame.kept {
            self.flows.finish(&packet.own);
        }
        Some(frame)
    }

    fn settle(&mut self, packet: &mut WholePacket, order: Seq32, arrived: bool) -> Fate {
        let fate = match (arrived, packet.last == Some(order)) {
            (true, _) => Fate::Done,
            (false, false) => Fate::Open,
            (false, true) if packet.packet.is_used_up() => Fate::UsedUp,
            (false, true) => Fate::Again,
        };
        if matches!(fate, Fate::Done | Fate::UsedUp) {
            self.flows.finish(&packet.own);
        }
        fate
    }

    fn wants_more(_: &WholePacket) -> bool {
        false
    }

    fn len(packet: &WholePacket) -> usize {
        packet.packet.len()
    }

    fn attempts(packet: &WholePacket) -> u32 {
        packet.packet.attempts()
    }

    fn acknowledged(packet: &WholePacket) -> LinkEvent {
        packet.packet.acknowledged()
    }

    fn dropped(packet: &WholePacket, reason: DropReason) -> LinkEvent {
        packet.packet.dropped(reason)
    }
}
