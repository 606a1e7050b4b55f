//! How the packets of a window become frames.

use core::fmt;
use std::collections::VecDeque;

use windfall_base::seq::Seq32;
use windfall_base::{DropReason, Frame, Instant};
use windfall_wire_link::coded::WindowNumber;
use windfall_wire_link::pipe::Number;

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
pub(crate) struct Whole(pub(crate) Arq);

impl Framer for Whole {
    /// The packet, and the transmission of its last attempt.
    type Packet = (Undecided, Option<Seq32>);

    fn begin(&self, pulled: Pulled) -> Self::Packet {
        (Undecided::new(pulled, self.0), None)
    }

    fn frame(
        &mut self,
        now: Instant,
        (packet, last): &mut Self::Packet,
        WindowNumber { seq, order, settled }: WindowNumber,
        events: &mut VecDeque<LinkEvent>,
    ) -> Option<Frame> {
        if packet.has_expired(now) {
            return None;
        }
        *last = Some(order);
        Some(packet.attempt(Number::Window { seq, order, settled }, events))
    }

    fn settle(&mut self, packet: &mut Self::Packet, order: Seq32, arrived: bool) -> Fate {
        let (packet, last) = packet;
        match (arrived, *last == Some(order)) {
            (true, _) => Fate::Done,
            (false, false) => Fate::Open,
            (false, true) if packet.is_used_up() => Fate::UsedUp,
            (false, true) => Fate::Again,
        }
    }

    fn wants_more(_: &Self::Packet) -> bool {
        false
    }

    fn len((packet, _): &Self::Packet) -> usize {
        packet.len()
    }

    fn attempts((packet, _): &Self::Packet) -> u32 {
        packet.attempts()
    }

    fn acknowledged((packet, _): &Self::Packet) -> LinkEvent {
        packet.acknowledged()
    }

    fn dropped((packet, _): &Self::Packet, reason: DropReason) -> LinkEvent {
        packet.dropped(reason)
    }
}
