//! The conversion of the packets of a window into frames.

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

/// The state of a packet after the outcome of one of its transmissions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Nothing has changed.
    Open,
    /// A part of the packet must be retransmitted.
    Again,
    /// The receiver has acknowledged it.
    Done,
    /// No attempt is left.
    UsedUp,
}

/// The receiver's report of a transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reported {
    /// The transmission did not arrive, or was damaged and useless.
    Lost,
    /// The transmission arrived damaged, and the receiver keeps it until more of its packet
    /// arrives.
    Kept,
    /// The transmission arrived undamaged.
    Whole,
}

/// Builds the frames of packets, and handles the outcomes of transmissions.
pub(crate) trait Framer: fmt::Debug {
    /// A packet that is not acknowledged yet.
    type Packet: fmt::Debug;

    /// Begins a packet.
    fn begin(&self, pulled: Pulled) -> Self::Packet;

    /// Builds and reports the next frame; `None` if the packet's lifetime has ended by `now`.
    fn frame(
        &mut self,
        now: Instant,
        packet: &mut Self::Packet,
        place: WindowNumber,
        events: &mut VecDeque<PacketEvent>,
    ) -> Option<Frame>;

    /// Handles the outcome of a transmission.
    fn settle(&mut self, packet: &mut Self::Packet, order: Seq32, reported: Reported) -> Fate;

    /// Returns `true` if the current report contains details of a transmission that did not arrive
    /// whole.
    fn has_heard_of(&self, _order: Seq32) -> bool {
        false
    }

    /// Returns `true` if another frame of the packet can be sent at once.
    fn wants_more(packet: &Self::Packet) -> bool;

    /// Returns the latest time at which the whole packet is worth sending; `None` without a
    /// lifetime.
    fn latest_start(packet: &Self::Packet) -> Option<Instant>;

    /// Returns the length of the packet in bytes.
    fn len(packet: &Self::Packet) -> usize;

    /// Returns the number of attempts made.
    fn attempts(packet: &Self::Packet) -> u32;

    /// Returns the event that reports the acknowledgement.
    fn acknowledged(packet: &Self::Packet) -> PacketEvent;

    /// Returns the event that reports the drop.
    fn dropped(packet: &Self::Packet, reason: DropReason) -> PacketEvent;
}

/// Sends each packet in one frame. Retransmits whole packets, or parity if the receiver keeps
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
        let flows = FlowNumbers::default();
        let choice = Choice::default();
        Self { arq, passage: TransitTiming::default(), flows, choice }
    }
}

/// A packet that is sent in one frame.
#[derive(Debug)]
pub(crate) struct WholePacket {
    packet: Undecided,
    /// The transmission number of its last attempt.
    last: Option<Seq32>,
    own: OwnFlow,
    /// The latest time at which the packet is worth sending.
    latest: Option<Instant>,
    repetition: Repetition,
    /// The receiver keeps the last attempt damaged: it did not suffice.
    is_short: bool,
    /// The packet has few attempts, and a frame shorter than a copy of it is in flight.
    is_under_way: bool,
}

/// The form of the next retransmission.
#[derive(Debug, Default)]
enum Repetition {
    /// A copy: the receiver keeps nothing of the packet.
    #[default]
    Copy,
    /// The receiver keeps a damaged copy; the form is not decided yet.
    Undecided,
    /// Parity; `level` was sent last.
    Parity { level: usize, parity: Vec<u8> },
    /// Parity that suffices without any copy, and after it copies.
    Alone,
    /// A copy: parity would cost as much as a copy, or did not suffice.
    Exhausted,
}

impl Whole {
    /// Builds the next increment for a packet that its receiver keeps damaged; `None` if a copy is
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
        // If the number of attempts is limited, each must succeed as often as a copy.
        let least = if packet.packet.is_limited() { self.choice.least() } else { 0.0 };
        let is_limited = packet.packet.is_limited();
        let next = match &packet.repetition {
            Repetition::Copy | Repetition::Exhausted | Repetition::Alone => return None,
            Repetition::Undecided => {
                let first = self.choice.first(len, least);
                first.filter(|_| !is_limited || self.choice.has_room()).map(|level| (0, level))
            }
            Repetition::Parity { level, .. } => {
                let sent = LEVELS[*level];
                let next = level + 1;
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
        let frame = part_of(packet, &parity, sent..LEVELS[level], number, events);
        packet.repetition = Repetition::Parity { level, parity };
        if is_limited {
            self.note_under_way(packet, true);
        }
        Some(frame)
    }

    /// Builds an attempt with enough parity to restore the packet without the kept copy. It is
    /// never weaker than a copy.
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
        // The last symbols overlap as little as possible with the symbols sent before.
        let symbols = PARITY - enough_alone(packet.packet.len())..PARITY;
        packet.repetition = Repetition::Alone;
        Some(part_of(packet, &parity, symbols, number, events))
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

/// Builds a frame with these symbols of each block's parity; `copy` is the number of a copy sent in
/// its place.
fn part_of(
    packet: &mut WholePacket,
    parity: &[u8],
    symbols: Range<usize>,
    copy: Number,
    events: &mut VecDeque<PacketEvent>,
) -> Frame {
    let len = packet.packet.len();
    let first = symbols.start as u8;
    let count = symbols.len() as u8;
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
        let expires = pulled.expires;
        let len = pulled.frame.payload.len();
        let packet = Undecided::new(pulled, self.arq);
        let frame = FramesOfPacket::one(len, len + IN_FLOW_LEN + FCS_LEN);
        let latest = expires.map(|expires| self.passage.latest_start(expires, frame));
        let own = OwnFlow::of(packet.class(), latest);
        let repetition = Repetition::default();
        let is_short = false;
        let is_under_way = false;
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
