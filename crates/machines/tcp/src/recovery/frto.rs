//! Timeouts that prove spurious where losses are not detected by time: the basic F-RTO algorithm
//! (RFC 5682, section 2.1).
//!
//! Without SACK, only the order of events tells. After the timeout one segment is repeated, and
//! then new data leave. An acknowledgment that still advances answers data that were sent once.

use core::ops::Range;

use super::{Recovery, SendSequence};

/// The new segments that leave before anything else is repeated (step 2b).
const TRIALS: u64 = 2;

/// The progress of finding out whether the last timeout was spurious.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BasicFrto {
    /// It is settled.
    Settled,
    /// The first segment is to be repeated (step 1).
    Begun,
    /// Only that has been repeated, up to `repaired`.
    Repeated,
    /// That was acknowledged: new data leave, and the next acknowledgment decides (step 3).
    Trial,
    /// Something else was repeated meanwhile, so that an advance shows nothing any more.
    Void,
}

/// The evidence of an acknowledgment on the last timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TimeoutVerdict {
    /// It shows nothing.
    None,
    /// Data that were sent once arrived after it: it was spurious.
    Spurious,
    /// It was right, or nothing can be shown, after new data have left: everything is repeated.
    Right,
}

impl Recovery {
    /// Returns whether a timeout may be examined: it repeats none before it, and comes in no
    /// recovery (step 1).
    pub(crate) fn may_begin_basic_frto(&self, flow: &SendSequence) -> bool {
        !self.active && !self.repairs_timeout(flow) && !self.is_timed()
    }

    /// Begins to examine the timeout that was noted last.
    pub(crate) const fn begin_basic_frto(&mut self) {
        self.timeout = Some(BasicFrto::Begun);
    }

    /// Notes that `range` leaves. If more than the first segment is repeated, nothing can be shown.
    pub(super) fn note_sent_after_timeout(&mut self, range: &Range<u64>, flow: &SendSequence) {
        let Some(frto) = self.timeout.as_mut().filter(|_| range.start < flow.max) else { return };
        *frto = match frto {
            BasicFrto::Begun if range.start == flow.una => {
                self.repaired = range.end;
                BasicFrto::Repeated
            }
            BasicFrto::Trial | BasicFrto::Void => BasicFrto::Void,
            _ => BasicFrto::Settled,
        };
    }

    /// Continues the examination with an acknowledgment that `advanced` or is a `duplicate`.
    /// `has_more` is whether new data may be sent.
    pub(crate) fn judge_timeout(
        &mut self,
        flow: &SendSequence,
        advanced: bool,
        duplicate: bool,
        has_more: bool,
    ) -> TimeoutVerdict {
        let Some(frto) = self.timeout.filter(|_| advanced || duplicate) else {
            return TimeoutVerdict::None;
        };
        let is_whole = flow.una >= self.repaired && flow.una < self.recover;
        match frto {
            BasicFrto::Repeated if advanced && is_whole && has_more => {
                self.timeout = Some(BasicFrto::Trial);
                TimeoutVerdict::None
            }
            BasicFrto::Trial if advanced => {
                self.timeout = None;
                if let Some(undo) = self.undo.take()
                    && let Some(timed) = &mut self.timed
                {
                    timed.take_back_losses(undo.lost_before());
                }
                TimeoutVerdict::Spurious
            }
            BasicFrto::Trial | BasicFrto::Void => {
                self.settle_timeout();
                TimeoutVerdict::Right
            }
            BasicFrto::Settled | BasicFrto::Begun | BasicFrto::Repeated => {
                self.settle_timeout();
                TimeoutVerdict::None
            }
        }
    }

    /// Ends the examination.
    pub(super) fn settle_timeout(&mut self) {
        self.timeout = self.timeout.map(|_| BasicFrto::Settled);
    }

    /// Returns whether new data are to leave before anything is repeated.
    pub(crate) fn tries_new_data(&self, flow: &SendSequence) -> bool {
        self.timeout == Some(BasicFrto::Trial) && flow.max < self.recover + TRIALS * flow.mss
    }

    /// Ends the examination if no new data have left: there are none that may.
    pub(crate) fn end_basic_trial(&mut self, flow: &SendSequence) {
        if flow.max == self.recover {
            self.settle_timeout();
        }
    }
}
