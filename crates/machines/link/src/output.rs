//! The output of the receiving side of a link.

use std::collections::VecDeque;

use windfall_base::{Check, Class, DropReason, Frame, PacketDrop, PacketEvent};

/// The queues to which the receiver adds packets and events.
pub(crate) struct Output<'a> {
    pub(crate) deliveries: &'a mut VecDeque<Frame>,
    pub(crate) events: &'a mut VecDeque<PacketEvent>,
}

impl Output<'_> {
    pub(crate) fn deliver(&mut self, mut frame: Frame) {
        frame.kept = false;
        frame.set_class(Class::NONE);
        self.deliveries.push_back(frame);
    }

    /// Passes up a packet of which no better copy will arrive, if it is undamaged or damage is
    /// accepted (S0.5).
    pub(crate) fn finish(&mut self, frame: Frame, accepts: bool) {
        if accepts || frame.damage.frame == Check::Good {
            self.deliver(frame);
        } else {
            self.discard(&frame, DropReason::FrameCheck);
        }
    }

    pub(crate) fn discard(&mut self, frame: &Frame, reason: DropReason) {
        let tag = frame.tag;
        let kept = frame.kept;
        let len = frame.payload.len();
        self.events
            .push_back(PacketEvent::dropped(tag, PacketDrop::at_receiver(kept, reason, len)));
    }
}
