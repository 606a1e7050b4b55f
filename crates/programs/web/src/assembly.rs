//! Puts a body together from what arrived, and keeps account of its damage.

use core::ops::Range;

use bytes::Bytes;
use tokio::sync::mpsc::UnboundedSender;
use windfall_base::RangeSet;
use windfall_socket::{Integrity, MessageKind, Received};

use crate::arriving::{ArrivingBody, Chunk};
use crate::memory::{BodyMemory, HeldMemory, MemorySpent};
use crate::sparse::SparseBytes;
use windfall_bodies::{BodyMessageError, BodyPlan, Control, TransferToken};

/// The damage of a body; ranges are in order, and count from the first byte of the body unless
/// something else is said.
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

    /// Returns the damage of a body that begins at this position of its file, with ranges that
    /// count from the first byte of the file.
    #[must_use]
    pub fn in_file_from(&self, position: usize) -> Self {
        let from = |range: &Range<usize>| range.start + position..range.end + position;
        Self {
            missing: self.missing.iter().map(from).collect(),
            suspect: self.suspect.iter().map(from).collect(),
            unchecked: self.unchecked,
        }
    }

    /// Returns the numbers of missing and of suspect bytes.
    #[must_use]
    pub fn bytes(&self) -> (usize, usize) {
        (total_length(&self.missing), total_length(&self.suspect))
    }
}

/// Returns the number of bytes in all ranges.
fn total_length(ranges: &[Range<usize>]) -> usize {
    ranges.iter().map(Range::len).sum()
}

fn narrow(set: &RangeSet<u64>) -> Vec<Range<usize>> {
    set.iter().map(|range| range.start as usize..range.end as usize).collect()
}

/// A body that arrived over SAP: its bytes are zeros where none arrived.
#[derive(Debug)]
pub struct DeliveredBody {
    /// The bytes that are there.
    pub(crate) bytes: SparseBytes,
    /// The damage that is known.
    pub damage: BodyDamage,
    /// Tells whether the sender has ended in order.
    pub ended: bool,
}

impl DeliveredBody {
    /// Makes a body of which all bytes are in memory.
    #[must_use]
    pub fn new(bytes: Vec<u8>, damage: BodyDamage, ended: bool) -> Self {
        Self { bytes: SparseBytes::whole(bytes, BodyMemory::default().share()), damage, ended }
    }

    /// Returns the length of the whole body.
    #[must_use]
    pub fn length(&self) -> usize {
        self.bytes.len()
    }

    /// Returns the bytes with zeros for those that are missing; `None` if so few have arrived that
    /// the zeros would take much more memory.
    #[must_use]
    pub fn into_bytes(self) -> Option<Bytes> {
        self.bytes.into_whole()
    }
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
    bytes: SparseBytes,
    /// The reader of a precise body, which is not kept then.
    sink: Option<UnboundedSender<Chunk>>,
    /// The number of exact bytes that arrived.
    exact_len: usize,
    arrived: RangeSet<u64>,
    suspect: RangeSet<u64>,
    unchecked: usize,
    pieces: RangeSet<u64>,
    /// The path changes the order: a piece came behind a later one.
    is_reordered: bool,
}

/// Why a body that has begun to arrive is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum VoidBody {
    /// The sender breaks the protocol.
    #[error("malformed: {0}")]
    Malformed(#[from] BodyMessageError),
    /// There is no memory for it.
    #[error("no-memory")]
    Memory(#[from] MemorySpent),
}

/// A transfer as its receiver sees it.
#[derive(Debug)]
pub(crate) struct Assembler {
    token: TransferToken,
    memory: BodyMemory,
    partial: Option<Partial>,
    /// Approximate messages that arrived before the plan, and the memory that they take.
    early: Vec<Received>,
    early_memory: HeldMemory,
    early_bytes: usize,
    /// The sender has said that all pieces were sent.
    has_end: bool,
    failed: bool,
    /// The reason for which nothing of the body counts.
    void: Option<VoidBody>,
    /// A precise body is passed on as it arrives, once it was begun.
    as_it_arrives: bool,
    begun: Option<ArrivingBody>,
}

/// The number of pieces behind a missing one after which it is lost, once the end has come too: as
/// many messages as behind which SAP counts a datagram as lost.
const BEHIND: u64 = 2;
/// The bytes that may wait for their plan.
const EARLY: usize = 8 << 20;
/// The bytes that a range of a plan, a message, and a range of its damage take in memory.
const OF_RANGE: usize = 64;
const OF_MESSAGE: usize = 128;

impl Assembler {
    pub(crate) fn new(token: TransferToken, as_it_arrives: bool, memory: BodyMemory) -> Self {
        Self {
            token,
            partial: None,
            early: Vec::new(),
            early_memory: memory.share(),
            early_bytes: 0,
            memory,
            has_end: false,
            failed: false,
            void: None,
            as_it_arrives,
            begun: None,
        }
    }

    /// Takes a control message of this transfer.
    pub(crate) fn control(&mut self, control: Control) {
        match control {
            Control::Plan(plan, first) if self.partial.is_none() && plan.token == self.token => {
                self.begin(plan, first);
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

    /// Takes the description of the body, and what came before it.
    fn begin(&mut self, plan: BodyPlan, first: Bytes) {
        let mut partial = match Partial::new(plan, self.memory.share()) {
            Ok(partial) => partial,
            Err(spent) => return self.refuse(spent.into()),
        };
        if self.as_it_arrives && partial.approximate.total == 0 {
            let (sink, body) = ArrivingBody::new(partial.exact.total);
            (partial.sink, self.begun) = (Some(sink), Some(body));
        }
        self.partial = Some(partial);
        self.exact(first);
        self.early_memory = self.memory.share();
        for message in core::mem::take(&mut self.early) {
            self.piece(message);
        }
    }

    /// Takes the next exact bytes.
    fn exact(&mut self, data: Bytes) {
        let taken = self.partial.as_mut().map_or(Ok(false), |partial| partial.exact(data));
        match taken {
            Ok(taken) => self.failed |= !taken,
            Err(spent) => self.refuse(spent.into()),
        }
    }

    /// Ends the transfer of a body that cannot be used.
    pub(crate) fn refuse(&mut self, why: VoidBody) {
        self.void = Some(why);
        self.failed = true;
        // Its reader finds that it breaks off.
        self.partial = None;
        self.early = Vec::new();
        self.early_memory = self.memory.share();
    }

    /// Returns the reason for which nothing of the body counts.
    pub(crate) fn void(&self) -> Option<VoidBody> {
        self.void
    }

    /// Takes an approximate message of this transfer.
    pub(crate) fn piece(&mut self, message: Received) {
        if let Some(partial) = &mut self.partial {
            if let Err(spent) = partial.piece(&message) {
                self.refuse(spent.into());
            }
        } else if self.early_bytes + message.data.len() <= EARLY && !self.failed {
            let taken = self.early_memory.take(memory_of(&message) + message.data.len());
            if let Err(spent) = taken {
                return self.refuse(spent.into());
            }
            self.early_bytes += message.data.len();
            // A copy, since the message may be a small part of a large datagram.
            let data = Bytes::copy_from_slice(&message.data);
            self.early.push(Received { data, ..message });
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

/// Returns the memory that is taken by what is known of a message, besides its bytes.
fn memory_of(message: &Received) -> usize {
    let suspect = match &message.integrity {
        Integrity::Suspect(ranges) => ranges.len(),
        Integrity::Intact | Integrity::Unknown => 0,
    };
    OF_MESSAGE + (message.missing.len() + suspect) * OF_RANGE
}

/// Returns the ranges of a message that have arrived; zeros stand for the others.
fn present(message: &Received) -> impl Iterator<Item = Range<usize>> + '_ {
    let length = message.data.len();
    let ends = message.missing.iter().map(|missing| missing.start).chain([length]);
    let starts = [0].into_iter().chain(message.missing.iter().map(|missing| missing.end));
    let ranges = starts.zip(ends).map(move |(start, end)| start..end.min(length));
    ranges.filter(|range| !range.is_empty())
}

impl Partial {
    fn new(plan: BodyPlan, mut memory: HeldMemory) -> Result<Self, MemorySpent> {
        memory.take(OF_MESSAGE + (plan.exact.len() + 1) * OF_RANGE)?;
        Ok(Self {
            exact: Lane::new(plan.exact.iter().cloned()),
            approximate: Lane::new(plan.gaps().into_iter()),
            bytes: SparseBytes::new(plan.length as usize, memory),
            sink: None,
            exact_len: 0,
            arrived: RangeSet::default(),
            suspect: RangeSet::default(),
            unchecked: 0,
            pieces: RangeSet::default(),
            is_reordered: false,
            plan,
        })
    }

    /// Places the next exact bytes; returns whether the plan has room for them.
    fn exact(&mut self, data: Bytes) -> Result<bool, MemorySpent> {
        let span = self.exact_len..self.exact_len + data.len();
        if span.end > self.exact.total {
            return Ok(false);
        }
        if data.is_empty() {
            return Ok(true);
        }
        self.exact_len = span.end;
        if let Some(sink) = &self.sink {
            let mut memory = self.bytes.memory().another();
            if let Err(spent) = memory.take(OF_MESSAGE + data.len()) {
                // Its reader asks for the rest over TCP, and has to know why.
                let _ = sink.send(Err(spent));
                return Err(spent);
            }
            return Ok(sink.send(Ok(memory.bind(data))).is_ok());
        }
        let mut rest = &data[..];
        for range in self.exact.ranges(span) {
            let (now, later) = rest.split_at(range.len());
            self.bytes.write(range.start, now)?;
            self.arrived.insert(range.start as u64..range.end as u64);
            rest = later;
        }
        Ok(true)
    }

    /// Places an approximate message; one that belongs nowhere is ignored.
    fn piece(&mut self, message: &Received) -> Result<(), MemorySpent> {
        let number = u64::from(message.number);
        let start = number.saturating_mul(self.plan.piece.into());
        let end = (start + u64::from(self.plan.piece)).min(self.approximate.total as u64);
        if message.kind != MessageKind::Approximate
            || end <= start
            || message.data.len() as u64 != end - start
            || self.pieces.contains(number)
        {
            return Ok(());
        }
        self.bytes.memory().take(memory_of(message))?;
        self.is_reordered |= self.pieces.iter().next_back().is_some_and(|it| it.end > number);
        self.pieces.insert(number..number + 1);
        let start = start as usize;
        let end = end as usize;
        for present in present(message) {
            let mut rest = &message.data[present.clone()];
            for range in self.approximate.ranges(start + present.start..start + present.end) {
                let (now, later) = rest.split_at(range.len());
                self.bytes.write(range.start, now)?;
                self.arrived.insert(range.start as u64..range.end as u64);
                rest = later;
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
        Ok(())
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
        let missing = narrow(&missing);
        let suspect = narrow(&suspect);
        let damage = BodyDamage { missing, suspect, unchecked: self.unchecked };
        DeliveredBody { bytes: self.bytes, damage, ended }
    }
}

#[cfg(test)]
mod tests;
