//! Stop and wait over a medium that acknowledges each unit at once: one packet under way to a
//! peer, the next when this one is settled (S3.2, S3.10).

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

/// Bytes of the frame of a packet beside those of the packet.
const UNIT_BESIDE: usize = UNIT_LEN + FCS_LEN;

/// The exchange of packets with one peer, both directions.
///
/// Its caller owns the air time. It calls `next_unit` when there is some, `take_outcome` when the
/// fate of that unit is known, `take_unit` for units of the peer.
#[derive(Debug)]
pub struct StopAndWait {
    arq: Arq,
    accept_damaged: bool,
    passage: TransitTiming,
    /// The packet under way.
    current: Option<Undecided>,
    /// The number of the packet under way, or of the last.
    seq: Seq16,
    /// The last packet that was passed up.
    received: Option<Seq16>,
    /// Damaged copies of a packet, by its number, if they are combined.
    copies: Option<(Seq16, Copies)>,
    deliveries: VecDeque<Frame>,
    events: VecDeque<PacketEvent>,
}

impl StopAndWait {
    /// An exchange in which nothing was sent; damaged copies of a packet are put together if
    /// `combine` is set.
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

    /// Tells it the time that its frames take.
    pub fn set_passage(&mut self, passage: TransitTiming) {
        self.passage = passage;
    }

    /// Returns `true` if a packet is under way that may have to be retransmitted.
    #[must_use]
    pub fn has_unit(&self) -> bool {
        self.current.is_some()
    }

    /// The next unit: the packet under way once more, else a new one from `pull`.
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

    /// Learns the fate of the last unit: the feedback of its ACK, or none.
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

    /// Takes a unit of the peer; the returned feedback goes back at once as the ACK.
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
        // The last attempt's damaged packet is passed up if asked, but never acknowledged.
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

    /// Packets that the exchange holds.
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

/// Returns the number of packets between the last one that was passed up and this one.
//= S4.27
fn lost_between(last: Option<Seq16>, seq: Seq16) -> u16 {
    let ahead = last.map_or(0, |last| seq.0.wrapping_sub(last.0));
    // Numbers far ahead come from a peer that restarted.
    if ahead < u16::MAX / 2 { ahead.saturating_sub(1) } else { 0 }
}
