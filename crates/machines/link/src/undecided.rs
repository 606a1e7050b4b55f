//! A packet that is not acknowledged yet: its sender keeps a copy, and may retransmit it.

use std::collections::VecDeque;
use std::sync::Arc;

use windfall_base::{
    Check, Class, CoveredPacket, DropReason, Frame, FrameParts, Instant, PacketDrop, PacketEvent,
    PacketEventKind, Payload, Picked, Tag,
};
use windfall_wire_link::pipe::{Number, Wish};

use crate::framing::seal;
use crate::persistence::Arq;
use crate::window::Pulled;

/// The packet, and the number of its attempts.
#[derive(Debug)]
pub(crate) struct Undecided {
    payload: Payload,
    class: Class,
    covers: Option<Arc<[CoveredPacket]>>,
    tag: Option<Tag>,
    expires: Option<Instant>,
    /// The packet was already damaged when this station received it.
    is_damaged: bool,
    /// The number of attempts made.
    attempts: u32,
    /// The maximum number of attempts; `None` for no limit.
    limit: Option<u32>,
}

impl Undecided {
    /// Creates a packet without attempts. The packet's class sets the limit of attempts, or else
    /// `arq`.
    pub(crate) fn new(pulled: Pulled, arq: Arq) -> Self {
        let Pulled { frame: Frame { payload, tag, parts, .. }, expires } = pulled;
        let parts = parts.map_or_else(FrameParts::default, |parts| *parts);
        let class = parts.class;
        let is_damaged = parts.damage.is_damaged();
        // A receiver never acknowledges a damaged packet, so further attempts would be useless.
        let limit = if is_damaged { Some(1) } else { arq.limit(&class) };
        let covers = parts.covers;
        Self { payload, class, covers, tag, expires, is_damaged, attempts: 0, limit }
    }

    /// Returns the class that the packet's owner requested.
    pub(crate) fn class(&self) -> &Class {
        &self.class
    }

    /// Returns the packet.
    pub(crate) fn payload(&self) -> &Payload {
        &self.payload
    }

    /// Returns the length of the packet in bytes.
    pub(crate) fn len(&self) -> usize {
        self.payload.len()
    }

    /// Returns the number of attempts made.
    pub(crate) fn attempts(&self) -> u32 {
        self.attempts
    }

    /// Returns `true` if the packet's lifetime has ended at `at`, the time of its arrival.
    pub(crate) fn has_expired(&self, at: Instant) -> bool {
        self.expires.is_some_and(|expires| expires < at)
    }

    /// Returns `true` if no attempt is left.
    pub(crate) fn is_used_up(&self) -> bool {
        self.limit.is_some_and(|limit| self.attempts >= limit)
    }

    /// Returns `true` if the number of attempts is limited.
    pub(crate) fn is_limited(&self) -> bool {
        self.limit.is_some()
    }

    /// Returns `true` if one attempt is left.
    pub(crate) fn is_last_attempt(&self) -> bool {
        self.limit.is_some_and(|limit| self.attempts + 1 >= limit)
    }

    /// Builds the frame of another attempt. A packet that has only one attempt is not kept.
    pub(crate) fn attempt(&mut self, number: Number, events: &mut VecDeque<PacketEvent>) -> Frame {
        self.attempt_with(number, self.payload.clone(), events)
    }

    /// Builds the frame of another attempt that carries `contents` in place of the packet.
    pub(crate) fn attempt_with(
        &mut self,
        number: Number,
        contents: Payload,
        events: &mut VecDeque<PacketEvent>,
    ) -> Frame {
        self.attempts += 1;
        let kept = self.limit != Some(1);
        let class = self.class;
        // What was picked happens to the first frame of the packet; others repair that.
        self.class.picked = Picked::NONE;
        let mut frame = Frame { tag: self.tag, kept, ..Frame::packet(contents).with_class(class) };
        if self.covers.is_some() {
            frame.covers.clone_from(&self.covers);
        }
        frame.set_expiry(self.expires);
        if self.is_damaged {
            frame.damage.frame = Check::Bad;
        }
        let wish = Wish { last: self.is_used_up(), accept_damaged: self.class.accept_damaged };
        seal(&mut frame, number, wish);
        let sent = PacketEventKind::Sent { attempt: self.attempts, len: frame.len(), kept };
        events.push_back(sent.of_packet(frame.tag));
        frame
    }

    /// Returns the event that reports the acknowledgement.
    pub(crate) fn acknowledged(&self) -> PacketEvent {
        PacketEventKind::Acknowledged.of_packet(self.tag)
    }

    /// Returns the event that reports the drop.
    pub(crate) fn dropped(&self, reason: DropReason) -> PacketEvent {
        PacketEvent::dropped(self.tag, PacketDrop::at_sender(reason, self.len()))
    }
}
