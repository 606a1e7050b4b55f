//! Puts a body together from what arrived, and keeps account of its damage.

use core::ops::Range;

use bytes::Bytes;
use tokio::sync::mpsc::UnboundedSender;
use windfall_base::RangeSet;
use windfall_socket::{Integrity, MessageKind, Received};

use crate::arriving::ArrivingBody;
use windfall_bodies::{BodyMessageError, BodyPlan, Control, TransferToken};

/// The damage of a body; ranges are in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BodyDamage {
    /// The ranges that did not arrive; they are zeros.
    pub missing: Vec<Range<usize>>,
    /// The ranges that hold bit errors.
    pub suspect: Vec<Range<usize>>,
    /// The number of bytes that arrived and that no check covers.
    pub unchecked: usize,
}

impl BodyDamage {
    /// Tells whether every byte is known to be right.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.missing.is_empty() && self.suspect.is_empty() && self.unchecked == 0
    }

    /// Returns the ranges that are known to be damaged or missing, in order.
    #[must_use]
    pub fn ranges(&self) -> Vec<Range<usize>> {
        let mut all = RangeSet::<u64>::default();
        for range in self.missing.iter().chain(&self.suspect) {
            all.insert(range.start as u64..range.end as u64);
        }
        narrow(&all)
    }

    /// Removes a range that has been repaired.
    pub fn repaired(&mut self, range: &Range<usize>) {
        for ranges in [&mut self.missing, &mut self.suspect] {
            let mut left = RangeSet::<u64>::default();
            for it in ranges.iter() {
                left.insert(it.start as u64..it.end as u64);
            }
            left.remove(range.start as u64..range.end as u64);
            *ranges = narrow(&left);
        }
    }

    /// Returns the numbers of missing and of suspect bytes.
    #[must_use]
    pub fn bytes(&self) -> (usize, usize) {
        let sum = |ranges: &[Range<usize>]| ranges.iter().map(Range::len).sum();
        (sum(&self.missing), sum(&self.suspect))
    }
}

fn narrow(set: &RangeSet<u64>) -> Vec<Range<usize>> {
    set.iter().map(|range| range.start as usize..range.end as usize).collect()
}

/// A body that arrived over SAP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeliveredBody {
    /// The bytes, zeros where none arrived.
    pub bytes: Bytes,
    /// The damage that is known.
    pub damage: BodyDamage,
    /// Tells whether the sender has ended in order.
    pub ended: bool,
}

/// The part of a body that travels in one of the two ways: ranges of the body, joined.
#[derive(Debug, Default)]
struct Lane {
    /// Each range and the position of its first byte among the joined ones.
    places: Vec<(usize, Range<usize>)>,
    total: usize,
}

impl Lane {
    fn new(ranges: impl Iterator<Item = Range<u32>>) -> Self {
        let mut lane = Self::default();
        for range in ranges {
            let range = range.start as usize..range.end as usize;
            lane.places.push((lane.total, range.clone()));
            lane.total += range.len();
        }
        lane
    }

    /// Returns the ranges of the body that `span` of the joined bytes stands for.
    fn ranges(&self, span: Range<usize>) -> impl Iterator<Item = Range<usize>> + '_ {
        let first = self.places.partition_point(|(at, range)| at + range.len() <= span.start);
        let inside = self.places[first..].iter().take_while(move |(at, _)| *at < span.end);
        inside.map(move |(at, range)| {
            let from = span.start.saturating_sub(*at);
            let to = (span.end - at).min(range.len());
            range.start + from..range.start + to
        })
    }
}

/// A body as far as its plan is known.
#[derive(Debug)]
struct Partial {
    plan: BodyPlan,
    exact: Lane,
    approximate: Lane,
    bytes: Vec<u8>,
    /// The reader of a precise body, which is not kept then.
    sink: Option<UnboundedSender<Bytes>>,
    /// The number of exact bytes that arrived.
    exact_len: usize,
    arrived: RangeSet<u64>,
    suspect: RangeSet<u64>,
    unchecked: usize,
    pieces: RangeSet<u64>,
    /// The path changes the order: a piece came behind a later one.
    is_reordered: bool,
}

/// A transfer as its receiver sees it.
#[derive(Debug)]
pub(crate) struct Assembler {
    token: TransferToken,
    partial: Option<Partial>,
    /// Approximate messages that arrived before the plan.
    early: Vec<Received>,
    early_bytes: usize,
    /// The sender has said that all pieces were sent.
    has_end: bool,
    failed: bool,
    /// The sender breaks the protocol, and nothing of the body counts.
    malformed: Option<BodyMessageError>,
    /// A precise body is passed on as it arrives, once it was begun.
    as_it_arrives: bool,
    begun: Option<ArrivingBody>,
}

/// The number of pieces behind a missing one after which it is lost, once the end has come too: as
/// many messages as behind which SAP counts a datagram as lost.
const BEHIND: u64 = 2;
/// The bytes that may wait for their plan.
const EARLY: usize = 8 << 20;

impl Assembler {
    pub(crate) fn new(token: TransferToken, as_it_arrives: bool) -> Self {
        let early = Vec::new();
        Self {
            token,
            partial: None,
            early,
            early_bytes: 0,
            has_end: false,
            failed: false,
            malformed: None,
            as_it_arrives,
            begun: None,
        }
    }

    /// Takes a control message of this transfer.
    pub(crate) fn control(&mut self, control: Control) {
        match control {
            Control::Plan(plan, first) if self.partial.is_none() && plan.token == self.token => {
                let mut partial = Partial::new(plan);
                if self.as_it_arrives && partial.approximate.total == 0 {
                    let (sink, body) = ArrivingBody::new(partial.exact.total);
                    (partial.sink, self.begun) = (Some(sink), Some(body));
                } else {
                    partial.bytes = vec![0; partial.plan.length as usize];
                }
                self.partial = Some(partial);
                self.exact(first);
                for message in core::mem::take(&mut self.early) {
                    self.piece(message);
                }
            }
            Control::Exact(data) => self.exact(data),
            // Exact bytes are in order before it.
            Control::End if self.partial.as_ref().is_some_and(Partial::has_all_exact) => {
                self.has_end = true;
            }
            Control::End | Control::Plan(..) | Control::Unknown | Control::Ask(_) => {
                self.failed = true;
            }
        }
    }

    /// Takes the next exact bytes.
    fn exact(&mut self, data: Bytes) {
        let taken = self.partial.as_mut().is_some_and(|partial| partial.exact(data));
        self.failed |= !taken;
    }

    /// Ends the transfer since its sender breaks the protocol.
    pub(crate) fn refuse(&mut self, why: BodyMessageError) {
        self.malformed = Some(why);
        self.failed = true;
        // Its reader finds that it breaks off.
        self.partial = None;
    }

    /// Returns what of the protocol the sender has broken.
    pub(crate) fn malformed(&self) -> Option<BodyMessageError> {
        self.malformed
    }

    /// Takes an approximate message of this transfer.
    pub(crate) fn piece(&mut self, message: Received) {
        match &mut self.partial {
            Some(partial) => partial.piece(&message),
            None if self.early_bytes + message.data.len() <= EARLY => {
                self.early_bytes += message.data.len();
                self.early.push(message);
            }
            None => {}
        }
    }

    /// Tells whether nothing more can arrive that would change the body.
    pub(crate) fn is_complete(&self) -> bool {
        self.failed
            || self.partial.as_ref().is_some_and(|partial| {
                let is_over = self.has_end && partial.lacks_what_is_lost(BEHIND);
                partial.has_all_exact() && (partial.has_all_pieces() || is_over)
            })
    }

    /// Tells whether all was sent, so that what is missing is lost, or behind only as far as the
    /// path changes the order.
    pub(crate) fn has_ended(&self) -> bool {
        self.partial.as_ref().is_some_and(|partial| {
            partial.has_all_exact() && (self.has_end || partial.has_all_pieces())
        })
    }

    /// Tells whether the path has changed the order of its pieces.
    pub(crate) fn is_reordered(&self) -> bool {
        self.partial.as_ref().is_some_and(|partial| partial.is_reordered)
    }

    /// Tells whether the last piece is there, and others may be sent again that were lost.
    pub(crate) fn has_last_piece(&self) -> bool {
        self.partial.as_ref().is_some_and(|it| it.has_all_exact() && it.has_last_piece())
    }

    /// Returns a precise body that has begun, and that is read as it arrives; once.
    pub(crate) fn take_begun(&mut self) -> Option<ArrivingBody> {
        self.begun.take()
    }

    /// Tells whether the reader of a body that is read as it arrives has gone.
    pub(crate) fn is_abandoned(&self) -> bool {
        let sink = self.partial.as_ref().and_then(|partial| partial.sink.as_ref());
        sink.is_some_and(UnboundedSender::is_closed)
    }

    /// Tells whether the sender has described the body.
    pub(crate) fn has_begun(&self) -> bool {
        self.partial.is_some()
    }

    pub(crate) fn token(&self) -> TransferToken {
        self.token
    }

    /// Returns the body as it is; `None` if its description never came.
    pub(crate) fn finish(self) -> Option<DeliveredBody> {
        let ended = self.has_ended() && !self.failed;
        self.partial.map(|partial| partial.finish(ended))
    }
}

impl Partial {
    fn new(plan: BodyPlan) -> Self {
        Self {
            exact: Lane::new(plan.exact.iter().cloned()),
            approximate: Lane::new(plan.gaps().into_iter()),
            bytes: Vec::new(),
            sink: None,
            exact_len: 0,
            arrived: RangeSet::default(),
            suspect: RangeSet::default(),
            unchecked: 0,
            pieces: RangeSet::default(),
            is_reordered: false,
            plan,
        }
    }

    /// Places the next exact bytes; returns whether the plan has room for them.
    fn exact(&mut self, data: Bytes) -> bool {
        let span = self.exact_len..self.exact_len + data.len();
        if span.end > self.exact.total {
            return false;
        }
        if data.is_empty() {
            return true;
        }
        self.exact_len = span.end;
        if let Some(sink) = &self.sink {
            return sink.send(data).is_ok();
        }
        let mut rest = &data[..];
        for range in self.exact.ranges(span) {
            let (now, later) = rest.split_at(range.len());
            self.bytes[range.clone()].copy_from_slice(now);
            self.arrived.insert(range.start as u64..range.end as u64);
            rest = later;
        }
        true
    }

    /// Places an approximate message; one that belongs nowhere is ignored.
    fn piece(&mut self, message: &Received) {
        let number = u64::from(message.number);
        let start = number.saturating_mul(self.plan.piece.into());
        let end = (start + u64::from(self.plan.piece)).min(self.approximate.total as u64);
        if message.kind != MessageKind::Approximate
            || end <= start
            || message.data.len() as u64 != end - start
            || self.pieces.contains(number)
        {
            return;
        }
        self.is_reordered |= self.pieces.iter().next_back().is_some_and(|it| it.end > number);
        self.pieces.insert(number..number + 1);
        let (start, end) = (start as usize, end as usize);
        let mut rest = &message.data[..];
        for range in self.approximate.ranges(start..end) {
            let (now, later) = rest.split_at(range.len());
            self.bytes[range.clone()].copy_from_slice(now);
            self.arrived.insert(range.start as u64..range.end as u64);
            rest = later;
        }
        for missing in &message.missing {
            let span = start + missing.start..start + missing.end;
            for range in self.approximate.ranges(span) {
                self.arrived.remove(range.start as u64..range.end as u64);
            }
        }
        match &message.integrity {
            Integrity::Intact => {}
            Integrity::Suspect(suspect) => {
                for it in suspect {
                    for range in self.approximate.ranges(start + it.start..start + it.end) {
                        self.suspect.insert(range.start as u64..range.end as u64);
                    }
                }
            }
            Integrity::Unknown => {
                let missing: usize = message.missing.iter().map(Range::len).sum();
                self.unchecked += (end - start).saturating_sub(missing);
            }
        }
    }

    fn has_all_exact(&self) -> bool {
        self.exact_len == self.exact.total
    }

    fn has_all_pieces(&self) -> bool {
        self.pieces.total() >= u64::from(self.plan.pieces())
    }

    /// Tells whether the last piece is there, before which all others were sent, or there is none.
    fn has_last_piece(&self) -> bool {
        let all = u64::from(self.plan.pieces());
        self.pieces.iter().next_back().map_or(all == 0, |last| last.end == all)
    }

    /// Tells whether the last pieces are there, of this number, behind which no more come, so that
    /// those that are missing are lost, unless the path changes the order.
    fn lacks_what_is_lost(&self, behind: u64) -> bool {
        let all = u64::from(self.plan.pieces());
        let last = self.pieces.iter().next_back();
        all > behind
            && !self.is_reordered
            && last.is_some_and(|it| it.end == all && it.end - it.start >= behind)
    }

    fn finish(self, ended: bool) -> DeliveredBody {
        let whole = 0..self.bytes.len() as u64;
        let mut missing = RangeSet::<u64>::default();
        self.arrived.gaps(whole).for_each(|gap| _ = missing.insert(gap));
        let mut suspect = self.suspect;
        missing.iter().for_each(|range| suspect.remove(range));
        let (missing, suspect) = (narrow(&missing), narrow(&suspect));
        let damage = BodyDamage { missing, suspect, unchecked: self.unchecked };
        DeliveredBody { bytes: self.bytes.into(), damage, ended }
    }
}

#[cfg(test)]
mod tests;
