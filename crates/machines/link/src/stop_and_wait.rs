//! Stop-and-wait ARQ over a medium that acknowledges each unit at once. One packet is pending for
//! each peer, and the next follows when it is acknowledged or dropped (S3.2, S3.10).

use std::collections::VecDeque;

use windfall_base::seq::Seq16;
use windfall_base::{
    Check, DropReason, Frame, FramesOfPacket, Instant, PacketEvent, TransitTiming,
};
use windfall_fec::copies::Copies;
use windfall_wire_link::check::FCS_LEN;
use windfall_wire_link::pipe::{Number, UNIT_LEN};
use windfall_wire_link::wavelan::Feedback;

use crate::combine::mend;
use crate::framing::{Opened, open};
use crate::output::Output;
use crate::persistence::Arq;
use crate::undecided::Undecided;
use crate::window::Pulled;

/// The bytes of a unit beside the packet.
const UNIT_BESIDE: usize = UNIT_LEN + FCS_LEN;

/// The exchange of packets with one peer, in both directions.
///
/// The caller owns the air time. It calls `next_unit` when it has air time, `take_outcome` when the
/// outcome of that unit is known, and `take_unit` for each unit from the peer.
#[derive(Debug)]
pub struct StopAndWait {
    arq: Arq,
    accept_damaged: bool,
    passage: TransitTiming,
    /// The pending packet.
    current: Option<Undecided>,
    /// The number of the pending packet, or of the last one.
    seq: Seq16,
    /// The number of the last packet that was passed up.
    received: Option<Seq16>,
    /// The damaged copies of one packet and its number; `None` if copies are not combined.
    copies: Option<(Seq16, Copies)>,
    deliveries: VecDeque<Frame>,
    events: VecDeque<PacketEvent>,
}

impl StopAndWait {
    /// Creates an exchange in which nothing was sent. If `combine` is set, damaged copies of a
    /// packet are combined.
    #[must_use]
    pub fn new(arq: Arq, accept_damaged: bool, combine: bool) -> Self {
        Self {
            arq,
            accept_damaged,
            passage: TransitTiming::default(),
            current: None,
            seq: Seq16(0),
            received: None,
            copies: combine.then(|| (Seq16(0), Copies::default())),
            deliveries: VecDeque::new(),
            events: VecDeque::new(),
        }
    }

    /// Sets the transmission time of its frames.
    pub fn set_passage(&mut self, passage: TransitTiming) {
        self.passage = passage;
    }

    /// Returns `true` if a packet is pending that may have to be retransmitted.
    #[must_use]
    pub fn has_unit(&self) -> bool {
        self.current.is_some()
    }

    /// Returns the next unit: the pending packet again, or else a new one from `pull`.
    pub fn next_unit(
        &mut self,
        now: Instant,
        mut pull: impl FnMut() -> Option<Pulled>,
    ) -> Option<Frame> {
        //= S3.16
        while self.current.as_ref().is_none_or(|current| {
            let frame = FramesOfPacket::one(current.len(), current.len() + UNIT_BESIDE);
            current.has_expired(now + self.passage.time(frame))
        }) {
            self.give_up(DropReason::Expired);
            self.current = Some(Undecided::new(pull()?, self.arq));
            self.seq = self.seq.next();
        }
        let current = self.current.as_mut()?;
        let unit = current.attempt(Number::Unit(self.seq), &mut self.events);
        if !unit.kept {
            self.current = None;
        }
        Some(unit)
    }

    /// Handles the outcome of the last unit: the feedback of its ACK, or `None` if no ACK came.
    pub fn take_outcome(&mut self, feedback: Option<&Feedback>) {
        let Some(current) = &self.current else { return };
        if feedback.is_some_and(|feedback| feedback[..] == self.seq.0.to_be_bytes()) {
            self.events.push_back(current.acknowledged());
            self.current = None;
        } else if current.is_used_up() {
            //= S3.12
            self.give_up(DropReason::RetryLimit);
        }
    }

    /// Handles a unit from the peer; the caller returns the feedback at once as the ACK.
    pub fn take_unit(&mut self, mut unit: Frame) -> Option<Feedback> {
        let mut out = Output { deliveries: &mut self.deliveries, events: &mut self.events };
        let (seq, wish, mismatch) = match open(&mut unit) {
            Ok(Opened::Data(data, mismatch)) => match data.number {
                Number::Unit(seq) => (seq, data.wish, mismatch),
                _ => {
                    out.discard(&unit, DropReason::Malformed);
                    return None;
                }
            },
            Ok(Opened::Control(_)) => {
                out.discard(&unit, DropReason::Malformed);
                return None;
            }
            Err(reason) => {
                out.discard(&unit, reason);
                return None;
            }
        };
        let known = self.received == Some(seq);
        if let Some((number, copies)) = &mut self.copies {
            if *number != seq {
                (*number, *copies) = (seq, Copies::default());
            }
            if !known && unit.damage.frame != Check::Good {
                mend(copies, &mut unit, mismatch, usize::MAX, &mut out);
            }
        }
        let good = unit.damage.frame == Check::Good;
        //= S0.6
        // The last attempt of a damaged packet is passed up if its owner accepts damage, but it is
        // never acknowledged.
        let welcome = wish.last && wish.accept_damaged.unwrap_or(self.accept_damaged);
        if !good && (known || !welcome) {
            out.discard(&unit, DropReason::FrameCheck);
        } else if known {
            out.discard(&unit, DropReason::Duplicate);
        } else {
            if good {
                unit.damage.lost_before = lost_between(self.received, seq);
            }
            self.received = Some(seq);
            out.deliver(unit);
        }
        good.then(|| seq.0.to_be_bytes().into_iter().collect())
    }

    /// Yields the next packet for the layer above, in order.
    pub fn poll_delivery(&mut self) -> Option<Frame> {
        self.deliveries.pop_front()
    }

    /// Yields the next event.
    pub fn poll_event(&mut self) -> Option<PacketEvent> {
        self.events.pop_front()
    }

    /// Returns the number of packets that the exchange holds.
    #[must_use]
    pub fn held(&self) -> usize {
        usize::from(self.current.is_some()) + self.deliveries.len()
    }

    fn give_up(&mut self, reason: DropReason) {
        if let Some(current) = self.current.take() {
            self.events.push_back(current.dropped(reason));
        }
    }
}

//= S4.27
/// Returns the number of packets lost between the last one that was passed up and this one.
fn lost_between(last: Option<Seq16>, seq: Seq16) -> u16 {
    let ahead = last.map_or(0, |last| seq.0.wrapping_sub(last.0));
    // A number far ahead comes from a peer that restarted.
    if ahead < u16::MAX / 2 { ahead.saturating_sub(1) } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_far_ahead_is_that_of_a_peer_that_has_restarted() {
        let between = |last: u16, seq: u16| lost_between(Some(Seq16(last)), Seq16(seq));
        assert_eq!(lost_between(None, Seq16(7)), 0);
        assert_eq!(
            [between(7, 7), between(7, 8), between(7, 10), between(65_535, 2)],
            [0, 0, 2, 2]
        );
        assert_eq!([between(1, 32_767), between(1, 32_768), between(1, 0)], [32_765, 0, 0]);
    }
}
