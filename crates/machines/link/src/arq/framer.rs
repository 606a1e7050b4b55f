//! How the packets of a window become frames.

use core::fmt;
use core::ops::Range;
use std::collections::VecDeque;

use windfall_base::seq::Seq32;
use windfall_base::{DropReason, Frame, FramesOfPacket, Instant, PacketEvent, TransitTiming};
use windfall_wire_link::check::FCS_LEN;
use windfall_wire_link::coded::WindowNumber;
use windfall_wire_link::pipe::{Data, IN_FLOW_LEN, IncrementPart, Number};

use super::flow_order::{FlowNumbers, OwnFlow};
use super::increments::{Choice, LEVELS, PARITY, blocks, enough_alone, fits, parity_of};
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
    /// The receiver has acknowledged it.
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

/// Makes the frames of packets, and interprets their fates.
pub(crate) trait Framer: fmt::Debug {
    /// A packet whose fate is open.
    type Packet: fmt::Debug;

    /// Takes up a packet.
    fn begin(&self, pulled: Pulled) -> Self::Packet;

    /// Makes the next frame, and reports it; `None` if the packet's lifetime has ended by `now`.
    fn frame(
        &mut self,
        now: Instant,
        packet: &mut Self::Packet,
        place: WindowNumber,
        events: &mut VecDeque<PacketEvent>,
    ) -> Option<Frame>;

    /// Learns the fate of a transmission.
    fn settle(&mut self, packet: &mut Self::Packet, order: Seq32, reported: Reported) -> Fate;

    /// Returns `true` if the current report describes how a transmission that is not whole arrived.
    fn has_heard_of(&self, _order: Seq32) -> bool {
        false
    }

    /// Returns `true` if another frame of the packet can go at once.
    fn wants_more(packet: &Self::Packet) -> bool;

    /// Returns the latest moment at which the whole packet is worth sending, if there is one.
    fn latest_start(packet: &Self::Packet) -> Option<Instant>;

    /// The length of the packet, in bytes.
    fn len(packet: &Self::Packet) -> usize;

    /// Returns the number of attempts made.
    fn attempts(packet: &Self::Packet) -> u32;

    /// Returns the event to report when the packet has arrived.
    fn acknowledged(packet: &Self::Packet) -> PacketEvent;

    /// Returns the event to report when the packet is given up.
    fn dropped(packet: &Self::Packet, reason: DropReason) -> PacketEvent;
}

/// Each packet in a frame of its own, repeated whole, or by its parity if the receiver keeps
/// damaged packets.
#[derive(Debug)]
pub(crate) struct Whole {
    arq: Arq,
    pub(crate) passage: TransitTiming,
    flows: FlowNumbers,
    choice: Choice,
}

impl Whole {
    pub(crate) fn new(arq: Arq) -> Self {
        let (flows, choice) = (FlowNumbers::default(), Choice::default());
        Self { arq, passage: TransitTiming::default(), flows, choice }
    }
}

/// A packet that is repeated whole.
#[derive(Debug)]
pub(crate) struct WholePacket {
    packet: Undecided,
    /// The transmission of its last attempt.
    last: Option<Seq32>,
    own: OwnFlow,
    /// The latest moment at which it is worth sending.
    latest: Option<Instant>,
    repetition: Repetition,
    /// The last attempt came and was not enough.
    is_short: bool,
    /// It has few attempts, and less than a copy of it is under way.
    is_under_way: bool,
}

/// The way in which a packet goes again.
#[derive(Debug, Default)]
enum Repetition {
    /// As a copy: the receiver keeps nothing of it.
    #[default]
    Copy,
    /// It is kept damaged, and its next attempt is not decided.
    Undecided,
    /// By its parity, of which this level was sent last.
    Parity { level: usize, parity: Vec<u8> },
    /// By parity that is enough by itself; then by copies.
    Alone,
    /// As a copy: parity is not worth its bytes, or was not enough.
    Exhausted,
}

impl Whole {
    /// Makes the next increment of a packet that its receiver keeps damaged; `None` if a copy is
    /// the better attempt.
    fn increment(
        &mut self,
        packet: &mut WholePacket,
        number: Number,
        events: &mut VecDeque<PacketEvent>,
    ) -> Option<Frame> {
        if packet.packet.is_last_attempt() {
            return self.increment_alone(packet, number, events);
        }
        let len = packet.packet.len();
        // If attempts are few, each must be worth as much as a copy.
        let least = if packet.packet.is_limited() { self.choice.least() } else { 0.0 };
        let is_limited = packet.packet.is_limited();
        let next = match &packet.repetition {
            Repetition::Copy | Repetition::Exhausted | Repetition::Alone => return None,
            Repetition::Undecided => {
                let first = self.choice.first(len, least);
                first.filter(|_| !is_limited || self.choice.has_room()).map(|level| (0, level))
            }
            Repetition::Parity { level, .. } => {
                let (sent, next) = (LEVELS[*level], level + 1);
                let more = LEVELS.get(next).filter(|more| fits(len, sent, **more));
                let is_worth = self.choice.reaches(next, next) >= least
                    && (!is_limited || self.choice.is_trusted());
                more.filter(|_| is_worth).map(|_| (sent, next))
            }
        };
        if next.is_none() && is_limited {
            return self.increment_alone(packet, number, events);
        }
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
        let frame = part_of(packet, (&parity, sent..LEVELS[level]), number, events);
        packet.repetition = Repetition::Parity { level, parity };
        if is_limited {
            self.note_under_way(packet, true);
        }
        Some(frame)
    }

    /// Makes an attempt, never weaker than a copy, at a packet that its receiver keeps damaged:
    /// enough parity to restore the packet whatever the damage of the kept copy.
    fn increment_alone(
        &mut self,
        packet: &mut WholePacket,
        number: Number,
        events: &mut VecDeque<PacketEvent>,
    ) -> Option<Frame> {
        let parity = match core::mem::take(&mut packet.repetition) {
            Repetition::Undecided => parity_of(packet.packet.payload()),
            Repetition::Parity { level, parity } => {
                if packet.is_short {
                    self.choice.note_more(level);
                }
                parity
            }
            other => {
                packet.repetition = other;
                return None;
            }
        };
        self.note_under_way(packet, false);
        // The last symbols differ from those sent before as far as possible.
        let symbols = PARITY - enough_alone(packet.packet.len())..PARITY;
        packet.repetition = Repetition::Alone;
        Some(part_of(packet, (&parity, symbols), number, events))
    }

    fn note_under_way(&mut self, packet: &mut WholePacket, is_under_way: bool) {
        if core::mem::replace(&mut packet.is_under_way, is_under_way) != is_under_way {
            self.choice.count_under_way(is_under_way);
        }
    }

    fn number(&mut self, now: Instant, packet: &mut WholePacket, place: WindowNumber) -> Number {
        let WindowNumber { seq, order, settled } = place;
        match self.flows.place_of(now, &mut packet.own) {
            Some(place) => Number::Flow { seq, order, settled, place },
            None => Number::Window { seq, order, settled },
        }
    }
}

/// Makes the frame with these symbols of each block of a packet's parity; `copy` numbers a copy in
/// its place.
fn part_of(
    packet: &mut WholePacket,
    (parity, symbols): (&[u8], Range<usize>),
    copy: Number,
    events: &mut VecDeque<PacketEvent>,
) -> Frame {
    let len = packet.packet.len();
    let (first, count) = (symbols.start as u8, symbols.len() as u8);
    let part = IncrementPart { packet: len as u16, first, count };
    let number = match copy {
        Number::Window { seq, order, settled } => {
            Number::Increment { seq, order, settled, part, place: None }
        }
        Number::Flow { seq, order, settled, place } => {
            Number::Increment { seq, order, settled, part, place: Some(place) }
        }
        other => other,
    };
    let contents = parity[symbols.start * blocks(len)..symbols.end * blocks(len)].to_vec();
    packet.packet.attempt_with(number, contents.into(), events)
}

impl Framer for Whole {
    type Packet = WholePacket;

    fn begin(&self, pulled: Pulled) -> WholePacket {
        let (expires, len) = (pulled.expires, pulled.frame.payload.len());
        let packet = Undecided::new(pulled, self.arq);
        let frame = FramesOfPacket::one(len, len + IN_FLOW_LEN + FCS_LEN);
        let latest = expires.map(|expires| self.passage.latest_start(expires, frame));
        let own = OwnFlow::of(packet.class(), latest);
        let repetition = Repetition::default();
        let (is_short, is_under_way) = (false, false);
        WholePacket { own, latest, packet, last: None, repetition, is_short, is_under_way }
    }

    fn frame(
        &mut self,
        now: Instant,
        packet: &mut WholePacket,
        place: WindowNumber,
        events: &mut VecDeque<PacketEvent>,
    ) -> Option<Frame> {
        let number = self.number(now, packet, place);
        let len = packet.packet.len();
        let frame = FramesOfPacket::one(len, len + Data::len(number) + FCS_LEN);
        if packet.packet.has_expired(now + self.passage.time(frame)) {
            self.flows.finish(&packet.own);
            self.note_under_way(packet, false);
            return None;
        }
        packet.last = Some(place.order);
        let parity = self.increment(packet, number, events);
        let frame = parity.unwrap_or_else(|| packet.packet.attempt(number, events));
        if !frame.kept {
            self.flows.finish(&packet.own);
        }
        Some(frame)
    }

    fn settle(&mut self, packet: &mut WholePacket, order: Seq32, reported: Reported) -> Fate {
        let arrived = reported == Reported::Whole;
        if packet.last == Some(order) {
            packet.is_short = reported == Reported::Kept;
        }
        match (&packet.repetition, reported) {
            (Repetition::Parity { level, .. }, Reported::Whole) => {
                self.choice.note_enough(Some(*level));
            }
            (Repetition::Parity { .. } | Repetition::Alone, _) => {}
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
            self.note_under_way(packet, false);
            self.flows.finish(&packet.own);
        }
        fate
    }

    fn wants_more(_: &WholePacket) -> bool {
        false
    }

    fn latest_start(packet: &WholePacket) -> Option<Instant> {
        packet.latest
    }

    fn len(packet: &WholePacket) -> usize {
        packet.packet.len()
    }

    fn attempts(packet: &WholePacket) -> u32 {
        packet.packet.attempts()
    }

    fn acknowledged(packet: &WholePacket) -> PacketEvent {
        packet.packet.acknowledged()
    }

    fn dropped(packet: &WholePacket, reason: DropReason) -> PacketEvent {
        packet.packet.dropped(reason)
    }
}
