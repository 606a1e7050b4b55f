//! What is lost, and what to send again: fast retransmit in the three ways that history has, by
//! counting duplicates here (RFC 2001, 6582), by selective acknowledgment in a file of its own.

use core::ops::Range;

use crate::config::Repair;
use crate::ranges::RangeSet;

mod sack;

pub use sack::Reported;

/// Duplicate acknowledgments that say that a segment is lost (RFC 5681, section 3.2).
const DUPLICATES: u64 = 3;

/// The sender's positions, in one place.
#[derive(Clone, Copy, Debug)]
pub struct Flow {
    /// The oldest unacknowledged position.
    pub una: u64,
    /// The next position to send.
    pub nxt: u64,
    /// The position after the last one ever sent.
    pub max: u64,
    /// Bytes of data in a full segment.
    pub mss: u64,
}

/// What an acknowledgment of new data means to a recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Nothing was being recovered: the window may grow.
    Normal,
    /// Recovery goes on.
    Partial,
    /// Recovery is over.
    Complete,
}

/// The state of loss recovery of one sender.
#[derive(Clone, Debug)]
pub struct Recovery {
    repair: Repair,
    limited_transmit: bool,
    duplicates: u64,
    active: bool,
    /// The end of what was sent when the last loss was noticed.
    recover: u64,
    /// Whether the last loss was noticed by a timeout.
    timed_out: bool,
    /// What duplicate acknowledgments add to the congestion window.
    inflation: u64,
    /// Where to send again at once.
    pending: Option<u64>,
    /// What the other end reports beyond holes.
    sacked: RangeSet,
    /// The end of what this recovery has sent again (RFC 6675, HighRxt).
    repaired: u64,
    /// Whether this recovery has sent its last segment again without evidence.
    rescued: bool,
    /// Bytes in the network as SACK sees it (RFC 6675, section 4).
    pipe: u64,
}

impl Recovery {
    /// Nothing lost yet.
    #[must_use]
    pub fn new(repair: Repair, limited_transmit: bool) -> Self {
        Self {
            repair,
            limited_transmit,
            duplicates: 0,
            active: false,
            recover: 0,
            timed_out: false,
            inflation: 0,
            pending: None,
            sacked: RangeSet::default(),
            repaired: 0,
            rescued: false,
            pipe: 0,
        }
    }

    /// Switches to repair by SACK, once both ends have agreed on it.
    pub fn use_sack(&mut self) {
        self.repair = Repair::Sack;
    }

    /// Whether losses are being recovered.
    #[must_use]
    pub const fn is_active(&self) -> bool {
        self.active
    }

    /// Whether nothing hints at a loss.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        !self.active && self.duplicates == 0 && self.pending.is_none() && self.sacked.is_empty()
    }

    /// Duplicate acknowledgments in a row.
    #[must_use]
    pub const fn duplicates(&self) -> u64 {
        self.duplicates
    }

    /// Counts a duplicate acknowledgment; says whether recovery must begin.
    #[must_use]
    pub fn on_duplicate(&mut self, flow: &Flow) -> bool {
        self.duplicates += 1;
        if self.active {
            if self.repair == Repair::Sack {
                self.pipe = self.measure_pipe(flow);
            } else {
                self.inflation += flow.mss;
            }
            return false;
        }
        let lost = self.duplicates >= DUPLICATES
            || (self.repair == Repair::Sack && self.lost_below(flow) > flow.una);
        if lost && self.may_begin(flow) {
            return true;
        }
        if self.limited_transmit && self.repair != Repair::Sack {
            self.inflation = flow.mss * self.duplicates.min(DUPLICATES - 1);
        }
        false
    }

    /// Whether the losses of the last recovery are behind (RFC 6582, section 3.2, step 2).
    fn may_begin(&self, flow: &Flow) -> bool {
        match self.repair {
            // A repeated count does not begin it again, as 4.4BSD compares for equality.
            Repair::Net3 => self.duplicates == DUPLICATES,
            Repair::NewReno | Repair::Sack if self.timed_out => flow.una > self.recover,
            Repair::NewReno | Repair::Sack => flow.una >= self.recover,
        }
    }

    /// Begins recovery; the congestion window has been reduced already.
    pub fn begin(&mut self, flow: &Flow) {
        self.active = true;
        self.recover = flow.max;
        self.timed_out = false;
        self.pending = Some(flow.una);
        self.rescued = false;
        self.repaired = flow.una;
        self.inflation = if self.repair == Repair::Sack { 0 } else { DUPLICATES * flow.mss };
        self.pipe = self.measure_pipe(flow);
    }

    /// Takes an acknowledgment of `acked` new bytes; `flow` is as it is after them.
    pub fn on_progress(&mut self, acked: u64, flow: &Flow) -> Progress {
        self.duplicates = 0;
        self.sacked.remove_below(flow.una);
        self.repaired = self.repaired.max(flow.una);
        if !self.active {
            self.inflation = 0;
            self.pending = None;
            return Progress::Normal;
        }
        if flow.una >= self.recover || self.repair == Repair::Net3 {
            self.active = false;
            self.inflation = 0;
            self.pending = None;
            return Progress::Complete;
        }
        match self.repair {
            Repair::Sack => self.pipe = self.measure_pipe(flow),
            // RFC 6582, section 3.2, step 3: deflate by what left, add one segment back.
            _ => {
                let back = if acked >= flow.mss { flow.mss } else { 0 };
                self.inflation = self.inflation.saturating_sub(acked) + back;
                self.pending = Some(flow.una);
            }
        }
        Progress::Partial
    }

    /// The retransmission timer fired: everything in flight counts as lost.
    pub fn on_timeout(&mut self, flow: &Flow) {
        self.active = false;
        self.timed_out = true;
        self.recover = flow.max;
        self.duplicates = 0;
        self.inflation = 0;
        self.pending = None;
        // What was reported and is not acknowledged although it comes next has been thrown away.
        if self.sacked.containing(flow.una).is_some() {
            self.sacked.clear();
        }
    }

    /// Sends `position` again at once, without a reduction or a recovery of its own.
    pub fn request(&mut self, position: u64) {
        self.pending.get_or_insert(position);
    }

    /// What to send again now, if anything: the range of positions. `window` is the congestion
    /// window.
    pub fn next_repair(&mut self, flow: &Flow, window: u64) -> Option<Range<u64>> {
        if let Some(at) = self.pending.take() {
            let at = at.max(flow.una);
            return (at < flow.max).then(|| self.whole(at, flow));
        }
        self.next_lost(flow, window)
    }

    /// A full segment from `at`, ending before what the other end has.
    fn whole(&self, at: u64, flow: &Flow) -> Range<u64> {
        let end = (at + flow.mss).min(flow.max);
        let next = self.sacked.following(at).map_or(end, |range| range.start.max(at + 1));
        at..end.min(next)
    }

    /// Notes that `range` was sent.
    pub fn on_sent(&mut self, range: &Range<u64>, repeated: bool) {
        self.pipe += range.end - range.start;
        if repeated && self.active {
            self.repaired = self.repaired.max(range.end);
        }
    }

    /// Bytes that the network holds.
    #[must_use]
    pub fn in_flight(&self, flow: &Flow) -> u64 {
        if self.repair == Repair::Sack && self.active {
            return self.pipe;
        }
        let sent = flow.nxt - flow.una;
        let counts = self.repair == Repair::Sack && (self.limited_transmit || flow.nxt < flow.max);
        if counts && !self.sacked.is_empty() {
            sent - self.sacked.count_within(flow.una..flow.nxt)
        } else {
            sent
        }
    }

    /// What duplicate acknowledgments add to the congestion window.
    #[must_use]
    pub const fn inflation(&self) -> u64 {
        self.inflation
    }
}

#[cfg(test)]
mod tests;
