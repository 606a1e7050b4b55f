//! Loss recovery: detects losses and chooses the data to retransmit. Fast retransmit on duplicate
//! acknowledgments is in this file (RFC 2001, 6582). SACK and time-based detection have files of
//! their own.

use core::ops::Range;

use windfall_base::{Duration, Instant, RangeSet};

use crate::config::LossRecovery;

mod delivery;
mod flight;
mod frto;
mod prr;
mod rack;
mod sack;
mod timed;
mod undo;

pub(crate) use delivery::{Sample, Snapshot};
pub(crate) use frto::TimeoutVerdict;
pub(crate) use rack::{Echo, is_older};
pub(crate) use sack::reported_duplicate;
pub(crate) use timed::{ProbeAnswer, Totals};

/// Duplicate acknowledgments that indicate a loss (RFC 5681, section 3.2).
const DUPLICATES: u64 = 3;

/// The send sequence variables (RFC 9293, section 3.3.1), with the segment size.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SendSequence {
    /// The oldest unacknowledged position.
    pub una: u64,
    /// The next position to send.
    pub nxt: u64,
    /// The position after the last one ever sent.
    pub max: u64,
    /// Bytes of data in a full segment.
    pub mss: u64,
}

/// The effect of an acknowledgment of new data on a recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecoveryProgress {
    /// Nothing was being recovered: the window may grow.
    Normal,
    /// The acknowledgment is partial: recovery continues.
    Partial,
    /// Recovery is over.
    Complete,
}

/// The state of loss recovery of one sender.
#[derive(Clone, Debug)]
pub(crate) struct Recovery {
    repair: LossRecovery,
    limited_transmit: bool,
    duplicates: u64,
    active: bool,
    /// SND.NXT when the last loss was detected: `recover` of RFC 6582, RecoveryPoint of RFC 6675.
    recover: u64,
    /// Set if the last loss was noticed by a timeout: what the basic F-RTO knows of it.
    timeout: Option<frto::BasicFrto>,
    /// The inflation of the congestion window by duplicate acknowledgments.
    inflation: u64,
    /// The bytes that were in flight when recovery began or last made progress: each duplicate
    /// acknowledgment answers one segment of them (RFC 5681, section 3.2, step 4).
    most_inflation: u64,
    /// The position to retransmit at once.
    pending: Option<u64>,
    /// The ranges that the peer reports beyond holes.
    sacked: RangeSet,
    /// The end of the data retransmitted in this recovery (RFC 6675, HighRxt).
    repaired: u64,
    /// Partial acknowledgments of this recovery.
    partial: u64,
    /// Set once this recovery has retransmitted its last segment without evidence.
    rescued: bool,
    /// Bytes in the network as SACK sees it (RFC 6675, section 4).
    pipe: u64,
    /// Recoveries use proportional rate reduction (RFC 9937); the state of the current one.
    reduces_by_rate: bool,
    rate: Option<prr::Rate>,
    /// Bytes that the acknowledgment at hand says have arrived.
    delivered: u64,
    /// The transmission records for time-based loss detection (RFC 8985).
    timed: Option<Box<timed::Timed>>,
    /// The wish for that, until the first data leave.
    wanted: Option<timed::Wanted>,
    /// The last reduction, while it may prove to be without need.
    undo: Option<Box<undo::Undo>>,
}

impl Recovery {
    /// Creates the state in which nothing is lost.
    #[must_use]
    pub(crate) fn new(repair: LossRecovery, limited_transmit: bool) -> Self {
        Self {
            repair,
            limited_transmit,
            duplicates: 0,
            active: false,
            recover: 0,
            timeout: None,
            inflation: 0,
            most_inflation: 0,
            pending: None,
            sacked: RangeSet::default(),
            repaired: 0,
            partial: 0,
            rescued: false,
            pipe: 0,
            reduces_by_rate: false,
            rate: None,
            delivered: 0,
            timed: None,
            wanted: None,
            undo: None,
        }
    }

    /// Switches to recovery by SACK, once it is negotiated.
    pub(crate) fn use_sack(&mut self) {
        self.repair = LossRecovery::Sack;
    }

    /// Enables proportional rate reduction in recoveries by SACK (RFC 9937).
    pub(crate) fn use_rate(&mut self) {
        self.reduces_by_rate = true;
    }

    /// Returns whether losses are being recovered.
    #[must_use]
    pub(crate) const fn is_active(&self) -> bool {
        self.active
    }

    /// Returns whether something that left before the last timeout is not acknowledged.
    #[must_use]
    pub(crate) const fn repairs_timeout(&self, flow: &SendSequence) -> bool {
        self.timeout.is_some() && flow.una <= self.recover
    }

    /// Returns whether nothing hints at a loss.
    #[must_use]
    pub(crate) fn is_quiet(&self) -> bool {
        !self.active
            && self.duplicates == 0
            && self.pending.is_none()
            && self.sacked.is_empty()
            && self.timeout.is_none_or(|it| it == frto::BasicFrto::Settled)
            && self.timed.as_ref().is_none_or(|timed| timed.is_quiet())
    }

    /// Counts a duplicate acknowledgment; returns whether recovery must begin.
    #[must_use]
    pub(crate) fn on_duplicate(&mut self, flow: &SendSequence) -> bool {
        if self.is_timed() {
            return false;
        }
        self.duplicates += 1;
        if self.active {
            if self.repair == LossRecovery::Sack {
                self.pipe = self.measure_pipe(flow);
            } else {
                self.inflation = (self.inflation + flow.mss).min(self.most_inflation);
            }
            return false;
        }
        let lost = self.duplicates >= DUPLICATES
            || (self.repair == LossRecovery::Sack && self.lost_below(flow) > flow.una);
        if lost && self.may_begin(flow) {
            return true;
        }
        if self.limited_transmit && self.repair != LossRecovery::Sack {
            self.inflation = flow.mss * self.duplicates.min(DUPLICATES - 1);
        }
        false
    }

    /// Returns whether the losses of the last recovery are repaired (RFC 6582, section 3.2, step
    /// 2).
    fn may_begin(&self, flow: &SendSequence) -> bool {
        match self.repair {
            // A higher count does not begin it again, as 4.4BSD compares for equality.
            LossRecovery::Net3 => self.duplicates == DUPLICATES,
            LossRecovery::NewReno | LossRecovery::Sack if self.timeout.is_some() => {
                flow.una > self.recover
            }
            LossRecovery::NewReno | LossRecovery::Sack => flow.una >= self.recover,
        }
    }

    /// Returns the most by which duplicate acknowledgments inflate the window; Net/3 has no bound.
    fn inflation_bound(&self, flow: &SendSequence) -> u64 {
        if self.repair == LossRecovery::Net3 { u64::MAX } else { flow.max - flow.una }
    }

    /// Begins recovery; the congestion window has been reduced to `target` already.
    pub(crate) fn begin(&mut self, flow: &SendSequence, target: u64) {
        self.active = true;
        self.recover = flow.max;
        self.timeout = None;
        self.pending = Some(flow.una);
        self.partial = 0;
        self.rescued = false;
        self.undo = self.new_undo(false, flow);
        self.repaired = flow.una;
        self.most_inflation = self.inflation_bound(flow);
        let inflation = (DUPLICATES * flow.mss).min(self.most_inflation);
        self.inflation = if self.repair == LossRecovery::Sack { 0 } else { inflation };
        self.pipe = self.measure_pipe(flow);
        if self.reduces_by_rate && self.repair == LossRecovery::Sack {
            let before = flow.max - flow.una - self.sacked.total() + self.delivered;
            self.rate = Some(prr::Rate::new(target, before));
        }
    }

    /// Begins the account of an acknowledgment.
    pub(crate) fn begin_account(&mut self) {
        self.delivered = 0;
        self.forget_longest();
    }

    /// Ends the account of an acknowledgment, which has advanced or not.
    pub(crate) fn settle(&mut self, flow: &SendSequence, is_safe: bool) {
        let delivered = core::mem::take(&mut self.delivered);
        if !self.active {
            self.rate = None;
        } else if let Some(mut rate) = self.rate {
            rate.on_delivered(delivered, self.in_flight(flow), is_safe, flow.mss);
            self.rate = Some(rate);
        }
    }

    /// Returns the window in force while congestion control allows `window`.
    #[must_use]
    pub(crate) fn window(&self, window: u64) -> u64 {
        self.rate.map_or(window + self.inflation, |rate| rate.window)
    }

    /// Takes an acknowledgment of `acked` new bytes; `flow` is as it is after them.
    pub(crate) fn on_progress(
        &mut self,
        acked: u64,
        flow: &SendSequence,
        echo: &Echo,
    ) -> RecoveryProgress {
        self.duplicates = 0;
        self.note_arrival(flow.una.saturating_sub(acked)..flow.una, flow, echo);
        self.sacked.remove(0..flow.una);
        self.repaired = self.repaired.max(flow.una);
        self.explain_by_echo(flow.una, echo);
        if !self.active {
            self.inflation = 0;
            self.pending = None;
            return RecoveryProgress::Normal;
        }
        if flow.una >= self.recover || self.repair == LossRecovery::Net3 {
            self.leave();
            return RecoveryProgress::Complete;
        }
        match self.repair {
            LossRecovery::Sack => self.pipe = self.measure_pipe(flow),
            // RFC 6582, section 3.2, step 3: deflate by the data acknowledged, add one segment
            // back.
            _ => {
                let back = if acked >= flow.mss { flow.mss } else { 0 };
                self.inflation = self.inflation.saturating_sub(acked) + back;
                self.most_inflation = self.inflation_bound(flow);
                self.partial += 1;
                self.pending = Some(flow.una);
            }
        }
        RecoveryProgress::Partial
    }

    /// Ends a recovery.
    fn leave(&mut self) {
        self.active = false;
        self.inflation = 0;
        self.pending = None;
        self.rate = None;
        self.note_recovered();
    }

    /// Returns whether the retransmission timer continues instead of being restarted. In the
    /// impatient variant, only the first partial acknowledgment restarts it, so a timeout ends a
    /// recovery that takes a round trip for each loss (RFC 6582, section 3.2, step 3, and section
    /// 4).
    #[must_use]
    pub(crate) fn keeps_timer(&self) -> bool {
        self.active && self.repair == LossRecovery::NewReno && self.partial > 1
    }

    /// Returns whether SACK has reported all of `range`.
    #[must_use]
    pub(crate) fn is_reported(&self, range: Range<u64>) -> bool {
        !self.sacked.is_empty()
            && self.sacked.count_within(range.clone()) == range.end - range.start
    }

    /// Returns the number of bytes below `position` that SACK has reported.
    #[must_use]
    pub(crate) fn reported_below(&self, position: u64) -> u64 {
        if self.sacked.is_empty() { 0 } else { self.sacked.count_within(0..position) }
    }

    /// Handles a retransmission timeout: everything in flight counts as lost, or all that was sent
    /// long enough ago. It is the `first` unless nothing was acknowledged since another.
    pub(crate) fn on_timeout(
        &mut self,
        now: Instant,
        flow: &SendSequence,
        smoothed: Option<Duration>,
        first: bool,
    ) {
        // The receiver has reneged if SND.UNA lies in a range that SACK reported (RFC 2018, section
        // 8).
        if self.sacked.containing(flow.una).is_some() {
            self.sacked.clear();
        }
        // One within a recovery belongs to the reduction that began it.
        if first && !self.active {
            self.undo = self.new_undo(true, flow);
        } else if let Some(undo) = &mut self.undo {
            undo.on_later_timeout();
        }
        self.mark_at_timeout(now, flow, smoothed);
        self.active = false;
        self.timeout = Some(frto::BasicFrto::Settled);
        self.recover = flow.max;
        self.duplicates = 0;
        self.inflation = 0;
        self.pending = None;
        self.rate = None;
    }

    /// Returns the positions to retransmit now, if any. `window` is the congestion window.
    pub(crate) fn next_repair(&mut self, flow: &SendSequence, window: u64) -> Option<Range<u64>> {
        if self.is_timed() {
            return self.next_marked(flow, window);
        }
        if let Some(at) = self.pending.take() {
            let at = at.max(flow.una);
            return (at < flow.max).then(|| self.whole(at, flow));
        }
        self.next_lost(flow, window)
    }

    /// Returns a full-sized segment from `at`, ending before data that the peer has.
    fn whole(&self, at: u64, flow: &SendSequence) -> Range<u64> {
        let end = (at + flow.mss).min(flow.max);
        let next = self.sacked.following(at).map_or(end, |range| range.start.max(at + 1));
        at..end.min(next)
    }

    /// Notes that `range` is sent; the part below SND.MAX is a retransmission.
    pub(crate) fn on_sent(
        &mut self,
        now: Instant,
        range: &Range<u64>,
        flow: &SendSequence,
        repair: bool,
    ) {
        let len = range.end - range.start;
        self.note_repeated(now, range, flow);
        self.note_sent_after_timeout(range, flow);
        self.pipe += len;
        if repair && self.active {
            self.repaired = self.repaired.max(range.end);
        }
        if let Some(rate) = &mut self.rate {
            rate.on_sent(len);
        }
        if let Some(wanted) = self.wanted.take() {
            self.timed = Some(Box::new(timed::Timed::new(wanted)));
        }
        if let Some(timed) = &mut self.timed {
            timed.on_sent(now, range, flow, &self.sacked);
        }
    }

    /// Returns the number of bytes that the network holds.
    #[must_use]
    pub(crate) fn in_flight(&self, flow: &SendSequence) -> u64 {
        if let Some(timed) = self.timed.as_ref().filter(|_| self.repair == LossRecovery::Sack) {
            return timed.in_flight(flow, &self.sacked);
        }
        if self.repair == LossRecovery::Sack && self.active {
            return self.pipe;
        }
        let sent = flow.nxt - flow.una;
        let counts =
            self.repair == LossRecovery::Sack && (self.limited_transmit || flow.nxt < flow.max);
        if counts && !self.sacked.is_empty() {
            sent - self.sacked.count_within(flow.una..flow.nxt)
        } else {
            sent
        }
    }

    /// Returns the inflation of the congestion window by duplicate acknowledgments.
    #[must_use]
    pub(crate) const fn inflation(&self) -> u64 {
        self.inflation
    }
}

#[cfg(test)]
mod tests;
