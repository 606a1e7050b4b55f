//! Puts a body together from what arrived, and keeps account of its damage.

use core::ops::Range;

use bytes::Bytes;
use tokio::sync::mpsc::UnboundedSender;
use windfall_base::RangeSet;
use windfall_socket::{Integrity, MessageKind, Received};

use crate::arriving::ArrivingBody;
use crate::control::{Control, End, Plan, TransferToken};

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
    plan: Plan,
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
}

/// A transfer as its receiver sees it.
#[derive(Debug)]
pub(crate) struct Assembler {
    token: TransferToken,
    partial: Option<Partial>,
    /// Approximate messages that arrived before the plan.
    early: Vec<Received>,
    early_bytes: usize,
    end: Option<End>,
    failed: bool,
    /// A precise body is passed on as it arrives, once it was begun.
    as_it_arrives: bool,
    begun: Option<ArrivingBody>,
}

/// The number of last pieces of which one tells that the body is at its end.
const LAST: u64 = 4;
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
            end: None,
            failed: false,
            as_it_arrives,
            begun: None,
        }
    }

    /// Takes a control message of this transfer.
    pub(crate) fn control(&mut self, control: Control) {
        match control {
            Control::Plan(plan) if self.partial.is_none() && plan.token == self.token => {
                let mut partial = Partial::new(plan);
                if self.as_it_arrives && partial.approximate.total == 0 {
                    let (sink, body) = ArrivingBody::new(partial.exact.total);
                    (partial.sink, self.begun) = (Some(sink), Some(body));
                } else {
                    partial.bytes = vec![0; partial.plan.length as usize];
                }
                self.partial = Some(partial);
                for message in core::mem::take(&mut self.early) {
                    self.piece(message);
                }
            }
            Control::Exact(data) => {
                let taken = self.partial.as_mut().is_some_and(|partial| partial.exact(data));
                self.failed |= !taken;
            }
            Control::End(end) => self.end = Some(end),
            Control::Plan(_) | Control::Unknown | Control::Ask(_) => self.failed = true,
        }
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
            || self.end.is_some() && self.partial.as_ref().is_some_and(Partial::has_all_pieces)
    }

    /// Returns the end that the sender has announced.
    pub(crate) fn end(&self) -> Option<End> {
        self.end
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

    /// Tells whether one of the last pieces has arrived, so that those before it are lost if they
    /// have not.
    pub(crate) fn is_at_its_end(&self) -> bool {
        self.partial.as_ref().is_some_and(|partial| {
            let last = partial.pieces.iter().next_back();
            last.is_some_and(|it| it.end + LAST > u64::from(partial.plan.pieces()))
        })
    }

    /// Returns the body as it is; `None` if its description never came.
    pub(crate) fn finish(self) -> Option<DeliveredBody> {
        let ended = self.end.is_some() && !self.failed;
        self.partial.map(|partial| partial.finish(ended))
    }
}

impl Partial {
    fn new(plan: Plan) -> Self {
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
            plan,
        }
    }

    /// Places the next exact bytes; returns whether the plan has room for them.
    fn exact(&mut self, data: Bytes) -> bool {
        let span = self.exact_len..self.exact_len + data.len();
        if span.end > self.exact.total {
            return false;
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

    fn has_all_pieces(&self) -> bool {
        self.pieces.total() >= u64::from(self.plan.pieces())
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
mod tests {
    use super::*;

    const TOKEN: TransferToken = [3; 16];

    /// A list of one range.
    fn only(range: Range<usize>) -> Vec<Range<usize>> {
        core::iter::once(range).collect()
    }

    fn body() -> Vec<u8> {
        (1..=100).collect()
    }

    fn message(number: u32, data: &[u8]) -> Received {
        Received {
            stream: 1,
            kind: MessageKind::Approximate,
            number,
            data: Bytes::copy_from_slice(data),
            exact: Vec::new(),
            integrity: Integrity::Intact,
            missing: Vec::new(),
        }
    }

    fn plan() -> Control {
        Control::Plan(Plan { token: TOKEN, piece: 30, length: 100, exact: vec![0..10, 50..55] })
    }

    /// The bytes that are not exact, in pieces of 30.
    fn pieces() -> Vec<Received> {
        let body = body();
        let joined = [&body[10..50], &body[55..]].concat();
        joined.chunks(30).zip(0..).map(|(data, number)| message(number, data)).collect()
    }

    fn exact(range: Range<usize>) -> Control {
        Control::Exact(Bytes::from(body()[range].to_vec()))
    }

    #[test]
    fn a_body_is_put_together_in_any_order() {
        let mut assembler = Assembler::new(TOKEN, false);
        let [first, second, third] = pieces().try_into().expect("three");
        assembler.piece(third);
        assembler.control(plan());
        assembler.control(exact(0..4));
        assembler.piece(first.clone());
        assembler.piece(first);
        assembler.control(Control::Exact([&body()[4..10], &body()[50..55]].concat().into()));
        assembler.control(Control::End(End { is_last: true }));
        assert!(!assembler.is_complete() && assembler.end().is_some());
        assembler.piece(second);
        assert!(assembler.is_complete());
        let delivered = assembler.finish().expect("a body");
        assert_eq!(delivered.bytes, body());
        assert!(delivered.damage.is_none() && delivered.ended);
    }

    #[test]
    fn loss_and_damage_are_ranges_of_the_body() {
        let mut assembler = Assembler::new(TOKEN, false);
        assembler.control(plan());
        assembler.control(exact(0..10));
        let [first, _, third] = &mut pieces()[..] else { panic!("three") };
        first.integrity = Integrity::Suspect(vec![0..5, 20..30]);
        third.missing = only(0..4);
        third.integrity = Integrity::Unknown;
        assembler.piece(first.clone());
        assembler.piece(third.clone());
        let delivered = assembler.finish().expect("a body");
        let mut damage = delivered.damage;
        assert!(!delivered.ended);
        // The second piece covers 40 to 50 and 55 to 75; the exact bytes between did not come.
        assert_eq!(damage.missing, only(40..79));
        assert_eq!(damage.suspect, [10..15, 30..40]);
        assert_eq!(damage.unchecked, 21);
        assert_eq!(damage.bytes(), (39, 15));
        assert_eq!(damage.ranges(), [10..15, 30..79]);
        damage.repaired(&(12..60));
        assert_eq!((damage.missing, damage.suspect), (only(60..79), only(10..12)));
    }

    #[test]
    fn what_does_not_belong_to_the_transfer_is_refused() {
        let mut other = Assembler::new([4; 16], false);
        other.control(plan());
        assert!(other.is_complete() && other.finish().is_none());
        let mut assembler = Assembler::new(TOKEN, false);
        assembler.control(plan());
        assembler.piece(message(0, &[1; 29]));
        assembler.piece(message(3, &[1; 30]));
        assembler.piece(message(u32::MAX, &[1; 30]));
        assembler.control(Control::Exact(vec![1; 16].into()));
        assert!(assembler.is_complete());
        let delivered = assembler.finish().expect("a body");
        assert!(!delivered.ended && delivered.bytes.iter().all(|byte| *byte == 0));
    }
    #[test]
    fn a_precise_body_is_read_as_it_arrives() {
        let mut assembler = Assembler::new(TOKEN, true);
        let whole = Plan {
            token: TOKEN,
            piece: 30,
            length: 100,
            exact: core::iter::once(0..100).collect(),
        };
        assembler.control(Control::Plan(whole));
        let mut reader = assembler.take_begun().expect("it has begun");
        assert_eq!((reader.length(), assembler.take_begun().is_some()), (100, false));
        assembler.control(exact(0..60));
        let read = |reader: &mut ArrivingBody| value_now(reader.next());
        assert_eq!(read(&mut reader).expect("the first bytes"), body()[..60]);
        assembler.control(exact(60..100));
        assembler.control(Control::End(End { is_last: true }));
        assert!(assembler.is_complete() && !assembler.is_abandoned());
        drop(assembler);
        assert_eq!(read(&mut reader).expect("the rest"), body()[60..]);
        assert_eq!((read(&mut reader), reader.taken()), (None, 100));
        // An approximate body is put together, whatever was asked for.
        let mut assembler = Assembler::new(TOKEN, true);
        assembler.control(plan());
        assert!(assembler.take_begun().is_none());
        assembler.control(exact(0..10));
        assert_eq!(assembler.finish().expect("a body").bytes[..10], body()[..10]);
    }

    /// Returns the value of a future that has one at once.
    fn value_now<T>(future: impl Future<Output = T>) -> T {
        use core::task::{Context, Poll, Waker};
        let future = core::pin::pin!(future);
        match future.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(value) => value,
            Poll::Pending => panic!("it waits"),
        }
    }
}
