//! The end of a direction: the peer's may overtake what was sent before it (`FIN`).

use windfall_base::{Duration, Instant};

use super::{Connection, FinState};
use crate::error::CloseReason;
use crate::event::SapEvent;

/// The time for which an end that has nothing more to say answers a peer that may not know it.
const FAREWELL: Duration = Duration::from_secs(3);
/// The least time for which the end waits for messages that it has overtaken, on a path of which
/// little is known.
const OVERTAKEN: Duration = Duration::from_millis(100);
/// The least time on a path that has shown how far packets overtake each other.
const LEAST: Duration = Duration::from_millis(25);
/// The number of packets that show it.
const SHOWN_BY: u64 = 64;

/// The end of the peer's direction, which may have overtaken approximate messages.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ending {
    /// The number of approximate messages that the peer has sent.
    pub(super) approximate: u32,
    /// The time at which the last packet before it turned out to be missing.
    noticed: Instant,
    /// The time at which missing packets count as lost.
    pub(super) due: Instant,
    /// The peer has reset the connection since.
    pub(super) then: Option<CloseReason>,
}

impl Connection {
    /// Handles the peer's announcement of its end in the packet `number`, after `approximate`
    /// approximate messages.
    pub(super) fn begin_ending(&mut self, now: Instant, number: u64, approximate: u32) {
        self.peer_finished = true;
        // It may have overtaken some of them. What turned out to be missing long before counts as
        // lost.
        let noticed = self.seen.missing_since(now, number);
        let due = noticed + self.end_patience();
        self.ending = Some(Ending { approximate, noticed, due, then: None });
        self.report_end(now);
        self.settle(now);
    }

    /// Reports the end of the peer's direction after everything that the peer sent has arrived, or
    /// counts as lost.
    pub(super) fn report_end(&mut self, now: Instant) {
        let Some(Ending { approximate, due, then, .. }) = self.ending else { return };
        let missing = approximate.wrapping_sub(self.inbox.approximates);
        if due > now && (1..1 << 31).contains(&missing) {
            return;
        }
        self.ending = None;
        self.deliver_partial(None);
        self.events.push_back(SapEvent::Finished { approximate });
        then.into_iter().for_each(|reason| self.end(reason));
    }

    /// Returns whether the end of this direction was announced, and the peer has everything precise
    /// before it.
    pub(super) fn has_said_all(&self) -> bool {
        self.sending != FinState::Open && self.is_flushed()
    }

    /// Ends the connection if both directions have ended.
    pub(super) fn settle(&mut self, now: Instant) {
        if !self.is_open() || !self.has_said_all() {
            return;
        }
        if self.peer_finished {
            // The peer may retransmit its FIN and needs an acknowledgement then, or it may be gone
            // before it has acknowledged this end's.
            if self.deadline.is_none() || self.released {
                let farewell = now + FAREWELL.max(self.timeout() * 3);
                self.deadline = Some(self.deadline.unwrap_or(farewell).min(farewell));
            }
        } else if self.released && self.sending == FinState::Acknowledged {
            self.abort(CloseReason::Closed);
        }
    }

    /// Learns that a packet came this long after a later one: so may those that an end has
    /// overtaken.
    pub(super) fn learn_disorder(&mut self, late: Duration) {
        self.inbox.partial.observe_disorder(late);
        let shown = self.overtaking();
        if let Some(ending) = &mut self.ending {
            ending.due = ending.due.max(ending.noticed + shown);
        }
    }

    /// Returns the time for which the end waits for what it may have overtaken.
    fn end_patience(&self) -> Duration {
        let shown = self.overtaking();
        if self.seen.next() > SHOWN_BY && shown > Duration::ZERO {
            return shown.max(LEAST);
        }
        shown.max(self.timeout()).max(OVERTAKEN)
    }

    /// Returns by how much the end may have overtaken what was sent before it, as far as the path
    /// has shown.
    fn overtaking(&self) -> Duration {
        // An end that only receives has no other sample than the handshake.
        let round_trip = self.round_trip().or(self.path.handshake).unwrap_or_default();
        // The end follows the last packet closely, and overtakes it by more than packets that were
        // sent apart have overtaken each other.
        (self.inbox.partial.longest_disorder() * 2).max(round_trip * 5 / 4)
    }
}
