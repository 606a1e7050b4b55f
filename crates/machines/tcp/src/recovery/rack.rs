//! Time-based loss detection (RACK, RFC 8985): a segment sent before one that has arrived is lost,
//! unless it arrives within a round trip and the reordering window, which grows with the reordering
//! seen.

use core::ops::Range;

use windfall_base::{Duration, Instant, RangeSet};

use super::flight::{Flight, Sent};
use super::{DUPLICATES, SendSequence};

/// Recoveries for which a reordering window that grew is kept (section 6.2, step 4).
const PERSISTENCE: u8 = 16;

/// The part of an acknowledgment that shows which of several transmissions has arrived.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Echo {
    /// When the acknowledgment came.
    pub now: Instant,
    /// The age of the timestamp that it echoes, in milliseconds.
    pub age: Option<u32>,
    /// The least round trip of the connection so far.
    pub least: Option<Duration>,
}

/// The state of RACK: its measures of the path, and the positions that it holds for lost.
#[derive(Clone, Debug)]
pub(super) struct Rack {
    /// The latest transmission that has arrived, and its round trip.
    newest: Option<Sent>,
    round_trip: Duration,
    least: Option<Duration>,
    /// The highest position that has arrived.
    farthest: u64,
    /// A segment arrived after one that was sent later.
    is_reordered: bool,
    /// The reordering window, in quarters of the least round trip; the recoveries that it keeps its
    /// size for.
    multiplier: u32,
    persists: u8,
    /// A report of a duplicate counts once until this is acknowledged.
    round: Option<u64>,
    /// Below this every first transmission is judged.
    judged: u64,
    /// The positions that are lost and did not leave again.
    pub(super) lost: RangeSet,
    /// The pieces that were marked since it was last asked for, where that is wanted.
    pub(super) marked: Vec<Sent>,
    reports: bool,
}

/// The facts that show which transmissions are lost.
struct Evidence<'a> {
    now: Instant,
    flow: &'a SendSequence,
    sacked: &'a RangeSet,
    /// The latest transmission that has arrived.
    newest: Sent,
    /// The time from the departure of an earlier one to its loss.
    wait: Duration,
}

impl Evidence<'_> {
    /// Returns when a transmission is lost, if that time is to come.
    fn due(&self, sent: &Sent) -> Option<Instant> {
        Some(sent.at.saturating_add(self.wait)).filter(|due| self.now < *due)
    }
}

impl Rack {
    pub(super) fn new(reports: bool) -> Self {
        Self {
            newest: None,
            round_trip: Duration::ZERO,
            least: None,
            farthest: 0,
            is_reordered: false,
            multiplier: 1,
            persists: 0,
            round: None,
            judged: 0,
            lost: RangeSet::default(),
            marked: Vec::new(),
            reports,
        }
    }

    /// Takes data delivered for the first time (section 6.2, steps 1 to 3). If they `overtook`
    /// earlier ones, their round trip is not the minimum of the path. Returns their latest
    /// transmission.
    pub(super) fn on_arrival(
        &mut self,
        range: &Range<u64>,
        flight: &Flight,
        echo: &Echo,
        overtook: bool,
    ) -> Option<Sent> {
        if !flight.repeated.is_empty() || range.end < self.farthest {
            self.watch_order(range, flight);
        }
        self.farthest = self.farthest.max(range.end);
        let sent = flight.latest(range)?;
        let round_trip = echo.now.saturating_since(sent.at);
        self.least = self.least.or(echo.least);
        if sent.repeated && (self.is_too_early(round_trip) || is_older(echo, sent.at)) {
            return Some(sent);
        }
        if !sent.repeated && !overtook {
            self.least = Some(self.least.map_or(round_trip, |least| least.min(round_trip)));
        }
        if self.newest.is_none_or(|newest| sent.is_after(&newest)) {
            (self.newest, self.round_trip) = (Some(sent), round_trip);
        }
        Some(sent)
    }

    /// Returns whether the data at `start` have arrived before earlier ones that are not lost by
    /// now.
    pub(super) fn is_overtaking(&self, start: u64, una: u64, sacked: &RangeSet) -> bool {
        let from = self.judged.max(una);
        from < start && sacked.gaps(from..start).next().is_some()
    }

    fn mark(&mut self, gap: Range<u64>, sent: &Sent) {
        if self.reports {
            self.marked.push(Sent { start: gap.start, end: gap.end, ..*sent });
        }
        self.lost.insert(gap);
    }

    fn watch_order(&mut self, range: &Range<u64>, flight: &Flight) {
        let mut once = flight.repeated.gaps(range.clone());
        self.is_reordered |= once.any(|gap| gap.end < self.farthest);
    }

    /// Returns whether an answer so early must belong to the transmission before.
    fn is_too_early(&self, round_trip: Duration) -> bool {
        self.least.is_some_and(|least| round_trip < least)
    }

    /// Returns the round trip of the latest delivered segment, if it was sent once.
    pub(super) fn sample(&self) -> Option<Duration> {
        self.newest.filter(|newest| !newest.repeated).map(|_| self.round_trip)
    }

    /// Takes a D-SACK: the retransmitted segment had only been late (step 4).
    pub(super) fn on_duplicate_reported(&mut self, flow: &SendSequence) {
        if self.round.is_none_or(|round| flow.una >= round) {
            self.round = Some(flow.max);
            self.multiplier = (self.multiplier + 1).min(64);
            self.persists = PERSISTENCE;
        }
    }

    /// Notes the end of a recovery: the reordering window returns in time.
    pub(super) fn on_recovered(&mut self) {
        self.persists = self.persists.saturating_sub(1);
        if self.persists == 0 {
            self.multiplier = 1;
        }
    }

    /// Returns the reordering window (RFC 8985, section 6.2, step 4).
    fn window(&self, smoothed: Option<Duration>, is_certain: bool) -> Duration {
        if is_certain && !self.is_reordered {
            return Duration::ZERO;
        }
        let quarter = self.least.unwrap_or(Duration::ZERO) / 4;
        (quarter * u64::from(self.multiplier)).min(smoothed.unwrap_or(Duration::MAX))
    }

    /// Marks the segments that are lost by now (step 5); returns when to check again.
    pub(super) fn judge(
        &mut self,
        now: Instant,
        flow: &SendSequence,
        flight: &mut Flight,
        sacked: &RangeSet,
        smoothed: Option<Duration>,
        recovers: bool,
    ) -> Option<Instant> {
        let newest = self.newest?;
        let is_certain = recovers || sacked.total() > (DUPLICATES - 1) * flow.mss;
        let wait = self.round_trip.saturating_add(self.window(smoothed, is_certain));
        let evidence = Evidence { now, flow, sacked, newest, wait };
        let again = self.judge_again(flight, &evidence);
        let fresh = self.judge_fresh(flight, &evidence);
        again.into_iter().chain(fresh).min()
    }

    /// Marks the lost ones of the segments that were sent again; returns when to check again.
    fn judge_again(&mut self, flight: &mut Flight, evidence: &Evidence<'_>) -> Option<Instant> {
        while let Some(sent) = flight.again.front().copied() {
            let open = sent.start.max(evidence.flow.una)..sent.end;
            let mut missing = evidence.sacked.gaps(open).peekable();
            if missing.peek().is_some() {
                if !evidence.newest.is_after(&sent) {
                    break;
                }
                if let Some(due) = evidence.due(&sent) {
                    return Some(due);
                }
                missing.for_each(|gap| self.mark(gap, &sent));
            }
            flight.again.pop_front();
        }
        None
    }

    /// Marks the lost ones of the segments that were sent once; returns when to check again.
    fn judge_fresh(&mut self, flight: &Flight, evidence: &Evidence<'_>) -> Option<Instant> {
        let newest = &evidence.newest;
        self.judged = self.judged.max(evidence.flow.una);
        let first = flight.fresh.partition_point(|sent| sent.end <= self.judged);
        for sent in flight.fresh.range(first..) {
            let end = if sent.at == newest.at { sent.end.min(newest.end) } else { sent.end };
            let open = sent.start.max(self.judged)..end;
            if sent.at > newest.at || open.is_empty() {
                break;
            }
            let gaps = evidence.sacked.gaps(open);
            let mut missing = gaps.flat_map(|gap| flight.repeated.gaps(gap)).peekable();
            if let Some(due) = evidence.due(sent)
                && missing.peek().is_some()
            {
                return Some(due);
            }
            missing.for_each(|gap| self.mark(gap, sent));
            self.judged = end;
        }
        None
    }

    /// Marks the first segment and every overdue one at a retransmission timeout (section 6.3).
    pub(super) fn on_timeout(
        &mut self,
        now: Instant,
        flow: &SendSequence,
        flight: &mut Flight,
        sacked: &RangeSet,
        smoothed: Option<Duration>,
    ) {
        let wait = self.round_trip.saturating_add(self.window(smoothed, true));
        // Nothing can have left later than this.
        let newest = Sent { start: 0, end: u64::MAX, at: now, repeated: false, then: 0 };
        let evidence = Evidence { now, flow, sacked, newest, wait };
        self.judge_again(flight, &evidence);
        self.judge_fresh(flight, &evidence);
        let fresh = flight.fresh.iter().map(|sent| sent.start.max(self.judged)..sent.end);
        let again = flight.again.iter().map(|sent| sent.start..sent.end);
        let recent: Vec<_> = fresh.filter(|range| !range.is_empty()).chain(again).collect();
        let first = flow.una..(flow.una + flow.mss).min(flow.max);
        self.lost = sacked.gaps(flow.una..flow.max).fold(RangeSet::default(), |mut lost, gap| {
            lost.insert(gap);
            lost
        });
        recent.into_iter().for_each(|range| self.lost.remove(range));
        sacked.gaps(first).for_each(|gap| _ = self.lost.insert(gap));
    }

    /// Clears the loss marks: the first transmissions may still arrive.
    pub(super) fn reconsider(&mut self, flow: &SendSequence, flight: &mut Flight) {
        self.lost.iter().for_each(|range| flight.repeated.remove(range));
        self.lost.clear();
        self.judged = flow.una;
    }
}

/// Returns whether an acknowledgment answers something that left before `sent`.
pub(crate) fn is_older(echo: &Echo, sent: Instant) -> bool {
    let clock = |at: Instant| at.as_nanos() / 1_000_000;
    echo.age.is_some_and(|age| u64::from(age) > clock(echo.now).saturating_sub(clock(sent)))
}
