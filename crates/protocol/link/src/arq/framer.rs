//! How the packets of a window become frames.

use core::fmt;
use std::collections::VecDeque;

use windfall_base::seq::Seq32;
use windfall_base::{DropReason, Frame, Instant};
use windfall_wire_link::coded::WindowNumber;
use windfall_wire_link::pipe::{IncrementPart, Number};

use super::flow_order::{FlowNumbers, OwnFlow};
use super::increments::{Choice, LEVELS, blocks, fits, parity_of};
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

/// The receiver's report of a transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reported {
    /// It has not come, or was damaged and of no use.
    Lost,
    /// It came damaged, and is kept until more of its packet comes.
    Kept,
    /// It came undamaged.
    Whole,
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

    /// Learns the fate of a transmission.
    fn settle(&mut self, packet: &mut Self::Packet, order: Seq32, reported: Reported) -> Fate;

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

/// Each packet in a frame of its own, repeated whole, or by its parity where the receiver keeps
/// what was damaged.
#[derive(Debug)]
pub(crate) struct Whole {
    arq: Arq,
    flows: FlowNumbers,
    choice: Choice,
}

impl Whole {
    pub(crate) fn new(arq: Arq) -> Self {
        Self { arq, flows: FlowNumbers::default(), choice: Choice::default() }
    }
}

/// A packet that is repeated whole.
#[derive(Debug)]
pub(crate) struct WholePacket {
    packet: Undecided,
    /// The transmission of its last attempt.
    last: Option<Seq32>,
    own: OwnFlow,
    repetition: Repetition,
}

/// The way in which a packet goes again.
#[derive(Debug, Default)]
enum Repetition {
    /// As a copy: the receiver keeps nothing of it.
    #[default]
    Copy,
    /// It is kept damaged, and how it goes on is open.
    Undecided,
    /// By its parity, of which this level was sent last.
    Parity { level: usize, parity: Vec<u8> },
    /// As a copy: parity is not worth its bytes, or was not enough.
    Exhausted,
}

impl Whole {
    /// Makes the next increment of a packet that its receiver keeps damaged; `None` if a copy is
    /// the better attempt.
    fn increment(
        &mut self,
        packet: &mut WholePacket,
        place: WindowNumber,
        events: &mut VecDeque<LinkEvent>,
    ) -> Option<Frame> {
        let len = packet.packet.len();
        let next = match &packet.repetition {
            Repetition::Copy | Repetition::Exhausted => return None,
            Repetition::Undecided => self.choice.first(len).map(|level| (0, level)),
            Repetition::Parity { level, .. } => {
                let sent = LEVELS[*level];
                let next = level + 1;
                LEVELS.get(next).filter(|more| fits(len, sent, **more)).map(|_| (sent, next))
            }
        };
        let old = core::mem::replace(&mut packet.repetition, Repetition::Exhausted);
        let Some((sent, level)) = next else {
            if matches!(old, Repetition::Parity { .. }) {
                self.choice.note_enough(None);
            }
            return None;
        };
        let parity = match old {
            Repetition::Parity { parity, .. } => parity,
            _ => parity_of(packet.packet.payload()),
        };
        let (first, count) = (sent as u8, (LEVELS[level] - sent) as u8);
        let WindowNumber { seq, order, settled } = place;
        let part = IncrementPart { packet: len as u16, first, count };
        let number = Number::Increment { seq, order, settled, part };
        let blocks = blocks(len);
        let contents = parity[sent * blocks..LEVELS[level] * blocks].to_vec();
        packet.repetition = Repetition::Parity { level, parity };
        Some(packet.packet.attempt_with(number, contents.into(), events))
    }

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
        let own = OwnFlow::of(packet.class(), expires);
        WholePacket { own, packet, last: None, repetition: Repetition::Copy }
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
        // What keeps order within its flow alone must name it in every frame.
        let parity = match number {
            Number::Window { .. } => self.increment(packet, place, events),
            _ => None,
        };
        let frame = parity.unwrap_or_else(|| packet.packet.attempt(number, events));
        if !frame.kept {
            self.flows.finish(&packet.own);
        }
        Some(frame)
    }

    fn settle(&mut self, packet: &mut WholePacket, order: Seq32, reported: Reported) -> Fate {
        let arrived = reported == Reported::Whole;
        match (&packet.repetition, reported) {
            (Repetition::Parity { level, .. }, Reported::Whole) => {
                self.choice.note_enough(Some(*level));
            }
            (Repetition::Parity { .. }, _) => {}
            (Repetition::Copy, Reported::Kept) => {
                self.choice.note_copy(false);
                packet.repetition = Repetition::Undecided;
            }
            _ => self.choice.note_copy(arrived),
        }
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
