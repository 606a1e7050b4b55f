//! Recovery by time: RACK, the probe of the tail (TLP, RFC 8985), and timeouts that prove spurious
//! (F-RTO, RFC 5682).

use core::ops::Range;

use windfall_base::{Duration, Instant, RangeSet};

use super::delivery::{Rates, Sample, Snapshot};
use super::flight::{Flight, Sent};
use super::rack::{Echo, Rack};
use super::{Recovery, SendSequence};
use crate::config::LossRecovery;

/// The progress of finding out whether the last timeout was spurious.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum FrtoState {
    /// There is none.
    #[default]
    Settled,
    /// Only the first segment was sent again (RFC 5682, section 3.1, step 1).
    Open,
    /// That was acknowledged, and new data are to leave before anything is repaired (step 2).
    Tries,
    /// They have been sent: the next acknowledgment decides.
    Tried,
}

/// The probe of the tail whose answer is awaited.
#[derive(Clone, Copy, Debug)]
struct TailProbe {
    start: u64,
    /// SND.NXT when it was sent.
    end: u64,
    /// It carried nothing new.
    repeated: bool,
}

/// The wish for recovery by time, from the first data on: many connections wait without any.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    uses_frto: bool,
    rates: bool,
}

/// The state of recovery by time.
#[derive(Clone, Debug)]
pub(super) struct Timed {
    pub(super) flight: Flight,
    rack: Rack,
    probe: Option<TailProbe>,
    /// The data of the last probe that a timeout came before the answer to, if they left again: a
    /// report that they arrived twice may still come.
    late_probe: Option<Range<u64>>,
    uses_frto: bool,
    frto: FrtoState,
    /// Data sent only once, before the timeout under examination, have arrived since.
    original_arrived: bool,
    /// The longest round trip of newly acknowledged data that were sent once.
    longest: Option<Duration>,
    /// The rates of delivery, where congestion control models the path.
    rates: Option<Box<Rates>>,
}

/// The losses that time-based detection finds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Judgement {
    /// A recovery must begin.
    pub begins: bool,
    /// Losses were found.
    pub found: bool,
    /// When to check again.
    pub again_at: Option<Instant>,
}

/// The answer to the probe of the tail in an acknowledgment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProbeAnswer {
    /// None is in it.
    None,
    /// Nothing was lost.
    Intact,
    /// The probe repaired a loss: congestion control must react to it.
    Repaired,
}

impl Timed {
    pub(super) fn new(Wanted { uses_frto, rates }: Wanted) -> Self {
        Self {
            flight: Flight::default(),
            rack: Rack::new(rates),
            rates: rates.then(|| Box::new(Rates::new())),
            probe: None,
            late_probe: None,
            uses_frto,
            frto: FrtoState::Settled,
            original_arrived: false,
            longest: None,
        }
    }

    pub(super) fn is_quiet(&self) -> bool {
        self.flight.repeated.is_empty() && self.rack.lost.is_empty() && self.probe.is_none()
    }

    pub(super) fn on_sent(
        &mut self,
        now: Instant,
        range: &Range<u64>,
        flow: &SendSequence,
        sacked: &RangeSet,
    ) {
        let in_flight = if self.rates.is_some() { self.in_flight(flow, sacked) } else { 0 };
        let len = range.end - range.start;
        let then = self.rates.as_mut().map(|rates| rates.on_sent(now, len, in_flight));
        self.flight.on_sent(now, range, flow.max, then.unwrap_or(0));
        if range.start < flow.max {
            self.rack.lost.remove(range.clone());
        } else if self.frto == FrtoState::Tries {
            self.frto = FrtoState::Tried;
        }
    }

    /// Returns the bytes in the network: neither reported nor lost.
    pub(super) fn in_flight(&self, flow: &SendSequence, sacked: &RangeSet) -> u64 {
        let lost = &self.rack.lost;
        let gone = if flow.nxt == flow.max {
            sacked.total() + lost.total()
        } else {
            sacked.count_within(flow.una..flow.nxt) + lost.count_within(flow.una..flow.nxt)
        };
        (flow.nxt - flow.una).saturating_sub(gone)
    }

    /// Returns the data that are marked lost and not retransmitted yet.
    pub(super) const fn lost(&self) -> &RangeSet {
        &self.rack.lost
    }

    /// Returns the bytes that the account of the rates holds for lost so far.
    pub(super) fn counted_losses(&self) -> u64 {
        self.rates.as_ref().map_or(0, |rates| rates.lost)
    }

    /// Takes every loss back that was counted after the first `lost` bytes: none of them was one.
    pub(super) fn take_back_losses(&mut self, lost: u64) {
        if let Some(rates) = &mut self.rates {
            rates.take_back_losses(lost);
        }
    }

    /// Clears the loss marks: the data may still arrive, which shows whether a timeout was
    /// spurious.
    pub(super) fn reconsider(&mut self, flow: &SendSequence) {
        self.frto = FrtoState::Settled;
        self.rack.reconsider(flow, &mut self.flight);
    }

    fn on_arrival(&mut self, range: &Range<u64>, recover: u64, echo: &Echo, overtook: bool) {
        if self.frto != FrtoState::Settled {
            let mut once = self.flight.repeated.gaps(range.start..range.end.min(recover));
            self.original_arrived |= once.next().is_some();
        }
        let sent = self.rack.on_arrival(range, &self.flight, echo, overtook);
        if let Some(sent) = sent.filter(|sent| !sent.repeated) {
            let measured = echo.now.saturating_since(sent.at);
            self.longest = self.longest.max(Some(measured));
        }
        if let Some(rates) = &mut self.rates {
            rates.on_arrival(echo.now, range.end - range.start, sent, overtook);
        }
    }
}

impl Recovery {
    /// Notices losses by time from here on, with `uses_frto` whether timeouts are spurious, and
    /// with `rates` how fast data are delivered.
    pub(crate) const fn use_time(&mut self, uses_frto: bool, rates: bool) {
        self.wanted = Some(Wanted { uses_frto, rates });
    }

    /// Returns the bytes that are lost and not sent again, and those that are sent again.
    pub(crate) fn lost_and_repeated(&self, flow: &SendSequence) -> (u64, u64) {
        self.timed.as_ref().map_or((0, 0), |timed| {
            let again = timed.flight.again.iter().filter(|sent| sent.end > flow.una);
            let again = again.map(|sent| sent.end - sent.start.max(flow.una)).sum();
            (timed.lost().total(), again)
        })
    }

    /// Returns whether losses are noticed by time.
    pub(crate) fn is_timed(&self) -> bool {
        self.timed.is_some() && self.repair == LossRecovery::Sack
    }

    /// Marks `range` as delivered, part of it perhaps again.
    pub(super) fn note_arrival(&mut self, range: Range<u64>, flow: &SendSequence, echo: &Echo) {
        let Some(timed) = &mut self.timed else {
            let known = if self.sacked.is_empty() { 0 } else { self.known_in(&range) };
            self.delivered += range.end - range.start - known;
            return;
        };
        let overtook = timed.rack.is_overtaking(range.start, flow.una, &self.sacked);
        if self.sacked.is_empty() {
            self.delivered += range.end - range.start;
            timed.on_arrival(&range, self.recover, echo, overtook);
        } else {
            for gap in self.sacked.gaps(range.clone()) {
                self.delivered += gap.end - gap.start;
                timed.on_arrival(&gap, self.recover, echo, overtook);
            }
        }
        if !timed.rack.lost.is_empty() {
            timed.rack.lost.remove(range);
        }
        timed.flight.release(flow.una);
    }

    fn known_in(&self, range: &Range<u64>) -> u64 {
        self.sacked.count_within(range.clone())
    }

    /// Returns the exact round trip of the latest delivered segment, if it was sent once.
    pub(crate) fn sample(&self) -> Option<Duration> {
        self.timed.as_ref()?.rack.sample()
    }

    /// Returns the longest round trip of the data that the current acknowledgment newly covers and
    /// that were sent once.
    pub(crate) fn longest(&self) -> Option<Duration> {
        self.timed.as_ref()?.longest
    }

    /// Forgets the round trips of the acknowledgments before, predicted ones included.
    pub(super) fn forget_longest(&mut self) {
        if let Some(timed) = &mut self.timed {
            timed.longest = None;
        }
    }

    /// Returns when the byte at `position` was sent last, if that is recorded.
    pub(crate) fn left_at(&self, position: u64) -> Option<Instant> {
        let latest = self.timed.as_ref()?.flight.latest(&(position..position + 1));
        latest.map(|sent| sent.at)
    }

    /// Returns the range that holds everything that seems lost.
    pub(crate) fn lost_extent(&self, flow: &SendSequence) -> Range<u64> {
        let timed = self.timed.as_ref().filter(|_| self.is_timed());
        let extent = timed.and_then(|timed| {
            let first = timed.rack.lost.iter().next()?;
            Some(first.start..timed.rack.lost.end()?)
        });
        extent.unwrap_or(flow.una..flow.una + 1)
    }

    /// Returns whether everything that seems lost lies in one of these ranges.
    pub(crate) fn is_lost_within(&self, ranges: impl Iterator<Item = Range<u64>>) -> bool {
        let Some(timed) = &self.timed else { return false };
        let mut lost = timed.rack.lost.clone();
        ranges.for_each(|range| lost.remove(range));
        lost.is_empty()
    }

    /// Takes the report that `range` arrived twice, unless a probe of the tail explains it: that
    /// leaves again without a sign of loss, so its copy shows no reordering.
    pub(crate) fn on_duplicate_reported(&mut self, range: &Range<u64>, flow: &SendSequence) {
        if let Some(timed) = &mut self.timed
            && timed.probe.is_none()
            && timed.late_probe.take_if(|probe| probe.contains(&range.start)).is_none()
        {
            timed.rack.on_duplicate_reported(flow);
        }
    }

    pub(super) fn note_recovered(&mut self) {
        if let Some(timed) = &mut self.timed {
            timed.rack.on_recovered();
        }
    }

    /// Returns the losses detected by now, and whether a recovery must begin.
    pub(crate) fn judge(
        &mut self,
        now: Instant,
        flow: &SendSequence,
        smoothed: Option<Duration>,
    ) -> Judgement {
        let recovers = self.active || self.repairs_timeout(flow);
        let may_begin = !self.active && self.may_begin(flow);
        let is_timed = self.is_timed();
        let Some(timed) = self.timed.as_mut().filter(|_| is_timed) else {
            return Judgement::default();
        };
        let Timed { rack, flight, .. } = &mut **timed;
        let before = rack.lost.total();
        let again_at = rack.judge(now, flow, flight, &self.sacked, smoothed, recovers);
        let found = rack.lost.total() > before;
        Judgement { begins: may_begin && !rack.lost.is_empty(), found, again_at }
    }

    pub(super) fn mark_at_timeout(
        &mut self,
        now: Instant,
        flow: &SendSequence,
        smoothed: Option<Duration>,
    ) {
        // RFC 5682, section 3.1, step 1: no detection while an earlier timeout is being repaired. A
        // timeout in a recovery shows nothing: the awaited segment may have been retransmitted
        // already (RFC 5682, section 2.1, step 1).
        let is_first = !self.active && !self.repairs_timeout(flow);
        let is_timed = self.is_timed();
        let probe = self.repeated_probe();
        let Some(timed) = self.timed.as_mut().filter(|_| is_timed) else { return };
        let Timed { rack, flight, .. } = &mut **timed;
        rack.on_timeout(now, flow, flight, &self.sacked, smoothed);
        timed.probe = None;
        timed.late_probe = probe.or(timed.late_probe.take());
        timed.frto = if timed.uses_frto && is_first { FrtoState::Open } else { FrtoState::Settled };
        timed.original_arrived = false;
    }

    /// Clears the loss marks: all data are retransmitted in order.
    pub(crate) fn forget_losses(&mut self) {
        if let Some(timed) = &mut self.timed {
            timed.rack.lost.clear();
        }
    }

    /// Returns the next piece that is marked as lost.
    pub(super) fn next_marked(&mut self, flow: &SendSequence, window: u64) -> Option<Range<u64>> {
        let in_flight = self.in_flight(flow);
        // The first retransmission of a recovery ignores the window (RFC 6675, section 5, step
        // 4.3).
        let is_first = self.pending.take().is_some();
        let timed = self.timed.as_ref()?;
        if matches!(timed.frto, FrtoState::Tries | FrtoState::Tried) {
            return None;
        }
        let lost = timed.rack.lost.iter().next()?;
        let end = lost.end.min(lost.start + flow.mss);
        (is_first || in_flight + (end - lost.start) <= window).then_some(lost.start..end)
    }

    /// Gives up to send new data in order to learn of a timeout whether it was spurious, as there
    /// are none that may leave; returns whether that was wanted.
    pub(crate) fn end_trial(&mut self) -> bool {
        match &mut self.timed {
            Some(timed) if timed.frto == FrtoState::Tries => {
                timed.frto = FrtoState::Settled;
                true
            }
            _ => false,
        }
    }

    /// Continues the detection of a spurious timeout with an acknowledgment (RFC 5682, section
    /// 3.1); returns `true` if the timeout was spurious. `has_more` is whether new data may be
    /// sent.
    pub(crate) fn detect_spurious_rto(
        &mut self,
        flow: &SendSequence,
        advanced: bool,
        has_more: bool,
    ) -> bool {
        let recover = self.recover;
        let Some(timed) = self.timed.as_mut().filter(|it| it.frto != FrtoState::Settled) else {
            return false;
        };
        let is_spurious = timed.original_arrived && flow.una < recover;
        timed.frto = match timed.frto {
            FrtoState::Open if advanced && !is_spurious && flow.una < recover && has_more => {
                FrtoState::Tries
            }
            _ => FrtoState::Settled,
        };
        if is_spurious {
            timed.reconsider(flow);
            self.timeout = None;
            if let Some(undo) = self.undo.take() {
                timed.take_back_losses(undo.lost_before());
            }
        }
        is_spurious
    }

    /// Returns whether a probe of the tail may be awaited (RFC 8985, section 7.2).
    pub(crate) fn may_probe(&self, flow: &SendSequence) -> bool {
        let timed = self.timed.as_ref().filter(|_| self.is_timed());
        timed.is_some_and(|timed| timed.probe.is_none() && timed.rack.lost.is_empty())
            && !self.active
            && self.sacked.is_empty()
            && !self.repairs_timeout(flow)
    }

    /// Notes that `range` leaves as a probe of the tail; it was `repeated` if it left before.
    pub(crate) fn on_probe(&mut self, range: &Range<u64>, repeated: bool) {
        if let Some(timed) = &mut self.timed {
            timed.probe = Some(TailProbe { start: range.start, end: range.end, repeated });
        }
    }

    /// Returns the data that left again as a probe of the tail whose answer is awaited.
    pub(super) fn repeated_probe(&self) -> Option<Range<u64>> {
        let probe = self.timed.as_ref()?.probe.filter(|probe| probe.repeated)?;
        Some(probe.start..probe.end)
    }

    /// Returns the outcome of the probe after an acknowledgment of `ack` (section 7.4); `reported`
    /// if it has a D-SACK, `bare` if it reports nothing else.
    pub(crate) fn answer_probe(&mut self, ack: u64, reported: bool, bare: bool) -> ProbeAnswer {
        let Some(timed) = &mut self.timed else { return ProbeAnswer::None };
        let Some(probe) = timed.probe.filter(|probe| ack >= probe.end) else {
            return ProbeAnswer::None;
        };
        let answer = if !probe.repeated || reported {
            ProbeAnswer::Intact
        } else if ack > probe.end {
            ProbeAnswer::Repaired
        } else if bare {
            ProbeAnswer::Intact
        } else {
            return ProbeAnswer::None;
        };
        timed.probe = None;
        answer
    }

    /// Returns the losses marked since the last call, with the rates at that time.
    pub(crate) fn take_marked(&mut self) -> Vec<Loss> {
        let Some(timed) = &mut self.timed else { return Vec::new() };
        let Timed { rack, rates: Some(rates), .. } = &mut **timed else { return Vec::new() };
        let marked = core::mem::take(&mut rack.marked);
        let note = |sent: Sent| {
            rates.lost += sent.end - sent.start;
            let then = rates.snapshot(sent.then)?;
            Some(Loss { len: sent.end - sent.start, then, totals: totals(rates) })
        };
        marked.into_iter().filter_map(note).collect()
    }

    /// Returns the delivery-rate sample of the current acknowledgment, and the totals of delivered
    /// and lost data.
    pub(crate) fn take_rate(
        &mut self,
        now: Instant,
        least: Option<Duration>,
    ) -> Option<(Sample, Totals)> {
        let Timed { flight, rates: Some(rates), .. } = &mut **self.timed.as_mut()? else {
            return None;
        };
        let sample = rates.sample(now, least);
        rates.release(flight);
        Some((sample?, totals(rates)))
    }

    /// Notes that there is nothing to send although the window would let it.
    pub(crate) fn note_app_limited(&mut self, flow: &SendSequence) {
        let in_flight = self.in_flight(flow);
        if let Some(timed) = &mut self.timed
            && timed.rack.lost.is_empty()
            && let Some(rates) = &mut timed.rates
        {
            rates.note_app_limited(in_flight);
        }
    }
}

fn totals(rates: &Rates) -> Totals {
    Totals { delivered: rates.delivered, lost: rates.lost }
}

/// The totals that a connection has delivered and lost, in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Totals {
    pub delivered: u64,
    pub lost: u64,
}

/// A piece that was marked as lost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Loss {
    pub len: u64,
    pub then: Snapshot,
    pub totals: Totals,
}
