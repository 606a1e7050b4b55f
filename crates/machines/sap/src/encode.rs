//! Encodes messages into bodies and decodes them: gathers the exact bytes, and locates damage in
//! the others.

use core::ops::Range;

use bytes::{BufMut, Bytes, BytesMut};
use windfall_base::{Check, Duration, Instant};
use windfall_wire_net::sap::data::{BLOCK, MAX_SPANS, block_check};
use windfall_wire_net::sap::{Part, SapData, SapPacket, Span, flags};

use crate::error::SapSendError;
use crate::message::{Integrity, Message, MessageKind, Mode, Received};

/// The length of a part's place in its head.
const PART_LEN: usize = 8;

/// The place of the number of spans in a head.
const SPANS_AT: usize = 2;

/// The usual length of a head, with its block checks.
const HEAD: usize = 32;

/// An encoded message or part of one: the exact bytes of its body in two slices, and the others.
#[derive(Clone, Debug, Default)]
pub(crate) struct Encoded {
    /// The body's header, with the block checks.
    pub(crate) head: Bytes,
    /// The protected bytes.
    pub(crate) exact: Bytes,
    /// The bytes that may arrive damaged.
    pub(crate) rest: Bytes,
    /// The flags of the packet header.
    pub(crate) flags: u8,
    /// The message that it belongs to.
    pub(crate) of: Origin,
    /// The limits of its retransmission, if it is approximate and retransmittable.
    pub(crate) again: Option<Again>,
}

/// The limits of the retransmission of an approximate datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Again {
    /// The time from the first transmission on for which retransmissions are allowed.
    pub(crate) lateness: Duration,
    /// The time of the first transmission, once it was sent.
    pub(crate) first: Option<Instant>,
    /// The number of transmissions.
    pub(crate) sent: u32,
}

/// The number of transmissions that are allowed in any case, because a round trip may be longer
/// than the lateness.
const ATTEMPTS: u32 = 3;

impl Again {
    pub(crate) fn new(lateness: Duration) -> Self {
        Self { lateness, first: None, sent: 0 }
    }

    /// Notes a transmission.
    pub(crate) fn note_sent(&mut self, now: Instant) {
        self.first.get_or_insert(now);
        self.sent += 1;
    }

    /// Returns the time since the first transmission.
    pub(crate) fn age(&self, now: Instant) -> Duration {
        self.first.map_or(Duration::ZERO, |first| now.saturating_since(first))
    }

    /// Returns whether it is too late for a retransmission.
    pub(crate) fn is_late(&self, now: Instant) -> bool {
        self.sent >= ATTEMPTS && self.age(now) >= self.lateness
    }
}

/// The message that encoded bytes belong to, and their offset in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Origin {
    pub(crate) stream: u16,
    pub(crate) number: u32,
    pub(crate) offset: usize,
    /// The length of the message.
    pub(crate) total: usize,
}

impl Origin {
    /// Returns whether both belong to the same message.
    pub(crate) fn is_with(&self, other: &Self) -> bool {
        (self.stream, self.number) == (other.stream, other.number)
    }
}

impl Encoded {
    /// Makes all bytes exact, unless the exact ones are in ranges. Links retransmit damaged exact
    /// bytes.
    pub(crate) fn make_exact(&mut self) {
        if self.rest.is_empty() || self.has_spans() {
            return;
        }
        if self.flags & flags::CHECKED != 0 {
            self.flags &= !flags::CHECKED;
            self.head.truncate(self.head.len() - 2 * self.rest.len().div_ceil(BLOCK));
        }
        let rest = core::mem::take(&mut self.rest);
        self.exact =
            if self.exact.is_empty() { rest } else { [&self.exact[..], &rest[..]].concat().into() };
    }

    /// Returns whether its exact bytes are in ranges.
    pub(crate) fn has_spans(&self) -> bool {
        self.head.get(SPANS_AT).is_none_or(|spans| *spans > 0)
    }

    /// Returns the length of the body in bytes.
    pub(crate) fn len(&self) -> usize {
        self.head.len() + self.data_len()
    }

    /// Returns the bytes of the message that it carries.
    pub(crate) fn data_len(&self) -> usize {
        self.exact.len() + self.rest.len()
    }

    /// Returns the offset after the last byte that it carries of its message.
    pub(crate) fn end(&self) -> usize {
        self.of.offset + self.data_len()
    }

    /// Returns whether it is an approximate message, or a part of one.
    fn is_approximate(&self) -> bool {
        self.flags & flags::APPROXIMATE != 0
    }
}

/// Returns the maximum overhead of the body of a message of `len` bytes, unless its exact bytes are
/// in ranges.
pub(crate) fn overhead(len: usize, checks: bool) -> usize {
    windfall_wire_net::sap::data::FIXED_LEN + if checks { 2 * len.div_ceil(BLOCK) } else { 0 }
}

/// Returns the number of bytes of a message that fit into a body of `room` bytes as a part.
fn piece(room: usize, mode: &Mode, checks: bool) -> usize {
    let spans = if matches!(mode, Mode::Ranges(_)) { 4 * MAX_SPANS } else { 0 };
    let room = room.saturating_sub(overhead(0, false) + PART_LEN + spans);
    let checks = checks && *mode != Mode::Precise;
    room.saturating_sub(if checks { 2 * room.div_ceil(BLOCK) } else { 0 })
}

/// Encodes a message in parts whose bodies have at most `room` bytes.
///
/// # Errors
/// As [`encode`].
pub(crate) fn encode_parts(
    message: &Message,
    number: u32,
    checks: bool,
    room: usize,
) -> Result<Vec<Encoded>, SapSendError> {
    let len = message.data.len();
    let piece = piece(room, &message.mode, checks).max(1);
    let starts = (0..len).step_by(piece);
    // All heads share one allocation.
    let mut heads = BytesMut::with_capacity(starts.len() * HEAD);
    let mut parts = Vec::with_capacity(starts.len());
    for at in starts {
        let before = heads.len();
        let place = at..len.min(at + piece);
        let encoded = encode_part(message, number, checks, place, &mut heads)?;
        parts.push((encoded, heads.len() - before));
    }
    let mut heads = heads.freeze();
    let add = |(encoded, len)| Encoded { head: heads.split_to(len), ..encoded };
    Ok(parts.into_iter().map(add).collect())
}

/// Encodes a whole message, which is number `number` of its stream.
///
/// # Errors
/// If the message is shorter than its protected part, or has too many ranges.
pub(crate) fn encode(
    message: &Message,
    number: u32,
    checks: bool,
) -> Result<Encoded, SapSendError> {
    let mut head = BytesMut::with_capacity(HEAD);
    let encoded = encode_part(message, number, checks, 0..message.data.len(), &mut head)?;
    Ok(Encoded { head: head.freeze(), ..encoded })
}

//= S0.27
/// Encodes the bytes `place` of a message; its head is added to `heads`.
fn encode_part(
    message: &Message,
    number: u32,
    checks: bool,
    place: Range<usize>,
    heads: &mut BytesMut,
) -> Result<Encoded, SapSendError> {
    let total = message.data.len();
    let data = message.data.slice(place.clone());
    let of = Origin { stream: message.stream, number, offset: place.start, total };
    let mut head = head(of, data.len());
    let (exact, rest) = match &message.mode {
        Mode::Precise => (data, Bytes::new()),
        Mode::Approximate { protected } if *protected > total => {
            return Err(SapSendError::Protection { protected: *protected, len: total });
        }
        Mode::Approximate { protected } => {
            let front = protected.saturating_sub(place.start).min(data.len());
            (data.slice(..front), data.slice(front..))
        }
        Mode::Ranges(ranges) => {
            let ranges = within(&joined(ranges, total)?, &place);
            head.spans = spans(&ranges);
            (gather(&data, &ranges), gather(&data, &complement(&ranges, data.len())))
        }
    };
    let mut flags = if message.mode == Mode::Precise { 0 } else { flags::APPROXIMATE };
    flags |= head.part.map_or(0, |_| flags::PART);
    heads.put_slice(&head.emit());
    if checks && !rest.is_empty() {
        flags |= flags::CHECKED;
        rest.chunks(BLOCK).for_each(|block| heads.put_u16(block_check(block)));
    }
    Ok(Encoded { exact, rest, flags, of, ..Encoded::default() })
}

/// Returns the head of `len` bytes of a message.
fn head(of: Origin, len: usize) -> SapData {
    let part = Part { offset: of.offset as u32, total: of.total as u32 };
    let part = (len < of.total).then_some(part);
    SapData { stream: of.stream, number: of.number, part, ..SapData::default() }
}

/// Returns the parts of sorted ranges within `place`, from its start.
fn within(ranges: &[Range<usize>], place: &Range<usize>) -> Vec<Range<usize>> {
    let clip = |range: &Range<usize>| {
        range.start.max(place.start) - place.start
            ..range.end.clamp(place.start, place.end) - place.start
    };
    let inside = |range: &&Range<usize>| range.start < place.end && range.end > place.start;
    ranges.iter().filter(inside).map(clip).collect()
}

/// Segments an encoded message whose bytes are all exact, or a part of one, into bodies of at most
/// `room` bytes.
pub(crate) fn recut(encoded: &Encoded, room: usize) -> Vec<Encoded> {
    let piece = piece(room, &Mode::Precise, false).max(1);
    let cut = |at: usize| {
        let exact = encoded.exact.slice(at..encoded.exact.len().min(at + piece));
        let of = Origin { offset: encoded.of.offset + at, ..encoded.of };
        let head = head(of, exact.len());
        let head = Bytes::copy_from_slice(&head.emit());
        let flags = encoded.flags | flags::PART;
        Encoded { head, exact, flags, of, again: encoded.again, ..Encoded::default() }
    };
    (0..encoded.exact.len()).step_by(piece).map(cut).collect()
}

/// Returns the message whose parts these are; `None` if they are not all parts of one message in
/// its order, or if its exact bytes are in ranges.
pub(crate) fn join(parts: &[Encoded]) -> Option<Message> {
    let first = parts.first()?;
    let last = parts.last()?;
    let is_next = |pair: &[Encoded]| {
        pair[0].of.is_with(&pair[1].of)
            && pair[0].end() == pair[1].of.offset
            && pair[0].is_approximate() == pair[1].is_approximate()
            && (pair[0].rest.is_empty() || pair[1].exact.is_empty())
    };
    let is_whole = first.of.offset == 0 && last.end() == first.of.total;
    let is_plain = |part: &Encoded| !part.has_spans() && part.flags & flags::REPAIRED == 0;
    if !is_whole || !parts.iter().all(is_plain) || !parts.windows(2).all(is_next) {
        return None;
    }
    let mut data = BytesMut::with_capacity(first.of.total);
    for part in parts {
        data.put_slice(&part.exact);
        data.put_slice(&part.rest);
    }
    let protected = parts.iter().map(|part| part.exact.len()).sum();
    let is_approximate = first.is_approximate();
    let mode = if is_approximate { Mode::Approximate { protected } } else { Mode::Precise };
    Some(Message { stream: first.of.stream, mode, data: data.freeze() })
}

/// Encodes the exact bytes of `ranges` of a message as a repair; no ranges if it is not kept.
pub(crate) fn encode_repair(head: &SapData, data: &Bytes) -> Encoded {
    let base = head.part.map_or(0, |part| part.offset as usize);
    let shift = |range: Range<usize>| base + range.start..base + range.end;
    let ranges: Vec<_> = head.spans.iter().map(|span| shift(span.range())).collect();
    let exact = gather(data, &ranges);
    let bytes = Bytes::copy_from_slice(&head.emit());
    let flags = flags::REPAIRED | head.part.map_or(0, |_| flags::PART);
    let of = Origin { stream: head.stream, number: head.number, offset: base, total: data.len() };
    Encoded { head: bytes, exact, flags, of, ..Encoded::default() }
}

/// Decodes the message of an intact packet, whose frame check found `frame`, or a part of one and
/// its place; `None` if its header is malformed.
pub(crate) fn decode(packet: &SapPacket, frame: Check) -> Option<(Received, Option<Part>)> {
    let exact = usize::from(packet.header.exact);
    let head = SapData::parse(&packet.body[..exact], packet.header.flags).ok()?;
    let rest = packet.body.slice(exact..);
    let checked = packet.header.flags & flags::CHECKED != 0;
    let checks = head.len()..head.len() + if checked { 2 * rest.len().div_ceil(BLOCK) } else { 0 };
    let sums = packet.body.get(checks.clone()).filter(|_| checks.end <= exact)?;
    let front = packet.body.slice(checks.end..exact);
    let kind = match packet.header.flags {
        bits if bits & flags::REPAIRED != 0 => MessageKind::Repair,
        bits if bits & flags::APPROXIMATE != 0 => MessageKind::Approximate,
        _ => MessageKind::Precise,
    };
    let mut received = Received {
        stream: head.stream,
        kind,
        number: head.number,
        data: Bytes::new(),
        exact: Vec::new(),
        integrity: Integrity::Intact,
        missing: Vec::new(),
    };
    let len = front.len() + rest.len();
    let suspect = suspect_blocks(sums, &rest);
    if kind == MessageKind::Repair {
        let base = head.part.map_or(0, |part| part.offset as usize);
        let shift = |range: Range<usize>| base + range.start..base + range.end;
        received.exact = head.spans.iter().map(|span| shift(span.range())).collect();
        received.data = front;
        let stated: usize = received.exact.iter().map(Range::len).sum();
        return (stated == received.data.len() && rest.is_empty()).then_some((received, head.part));
    }
    let others = if head.spans.is_empty() && kind == MessageKind::Precise {
        // A precise message is exact in full; its ranges apply to the whole message.
        received.data = front;
        Vec::new()
    } else if head.spans.is_empty() {
        received.exact = Vec::from_iter((!front.is_empty()).then_some(0..front.len()));
        received.data = packet.body.slice(checks.end..);
        complement(&received.exact, len)
    } else {
        received.exact = head.spans.iter().map(|span| span.range()).collect();
        if joined(&received.exact, len).ok()? != received.exact
            || received.exact.iter().map(Range::len).sum::<usize>() != front.len()
        {
            return None;
        }
        let others = complement(&received.exact, len);
        received.data = scatter(len, (&received.exact, &front), (&others, &rest));
        others
    };
    if !rest.is_empty() {
        received.integrity = if !checked && frame == Check::Bad {
            Integrity::Suspect(others)
        } else if !checked {
            Integrity::Unknown
        } else if suspect.is_empty() {
            Integrity::Intact
        } else {
            Integrity::Suspect(positions(&suspect, &others))
        };
    }
    (kind != MessageKind::Precise || rest.is_empty()).then_some((received, head.part))
}

/// Returns the blocks of `rest` whose checks fail, joined.
fn suspect_blocks(sums: &[u8], rest: &[u8]) -> Vec<Range<usize>> {
    let mut suspect: Vec<Range<usize>> = Vec::new();
    for (index, (sum, block)) in sums.chunks(2).zip(rest.chunks(BLOCK)).enumerate() {
        let start = index * BLOCK;
        if block_check(block).to_be_bytes() == sum {
            continue;
        }
        match suspect.last_mut() {
            Some(last) if last.end == start => last.end += block.len(),
            _ => suspect.push(start..start + block.len()),
        }
    }
    suspect
}

/// Maps ranges of the gathered bytes to their positions in the message; `others` lists their
/// sources.
fn positions(ranges: &[Range<usize>], others: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut placed = Vec::new();
    for range in ranges {
        let mut before = 0;
        for other in others {
            let start = range.start.max(before);
            let end = range.end.min(before + other.len());
            if start < end {
                placed.push(other.start + start - before..other.start + end - before);
            }
            before += other.len();
        }
    }
    placed
}

/// Sorts the ranges, joins those that touch and removes empty ones.
fn joined(ranges: &[Range<usize>], len: usize) -> Result<Vec<Range<usize>>, SapSendError> {
    let mut sorted: Vec<_> = ranges.iter().filter(|range| !range.is_empty()).cloned().collect();
    sorted.sort_by_key(|range| range.start);
    let mut joined: Vec<Range<usize>> = Vec::new();
    for range in sorted {
        if range.end > len {
            return Err(SapSendError::Protection { protected: range.end, len });
        }
        match joined.last_mut() {
            Some(last) if last.end >= range.start => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
    }
    if joined.len() > MAX_SPANS {
        return Err(SapSendError::Ranges { found: joined.len(), most: MAX_SPANS });
    }
    Ok(joined)
}

/// Converts sorted ranges to their wire format.
pub(crate) fn spans(ranges: &[Range<usize>]) -> arrayvec::ArrayVec<Span, MAX_SPANS> {
    let span = |range: &Range<usize>| Span { start: range.start as u16, len: range.len() as u16 };
    ranges.iter().take(MAX_SPANS).map(span).collect()
}

/// Returns the ranges between `ranges`, up to `len`.
pub(crate) fn complement(ranges: &[Range<usize>], len: usize) -> Vec<Range<usize>> {
    let mut others = Vec::new();
    let mut end = 0;
    for range in ranges {
        others.push(end..range.start);
        end = range.end;
    }
    others.push(end..len);
    others.retain(|range| !range.is_empty());
    others
}

/// Concatenates the bytes of the ranges; ranges beyond the end yield nothing.
fn gather(data: &Bytes, ranges: &[Range<usize>]) -> Bytes {
    match ranges {
        [range] => data.slice(range.start.min(data.len())..range.end.min(data.len())),
        _ => ranges
            .iter()
            .flat_map(|range| data.get(range.clone()).unwrap_or_default())
            .copied()
            .collect(),
    }
}

type Gathered<'a> = (&'a [Range<usize>], &'a Bytes);

/// Copies gathered bytes back to their positions.
fn scatter(len: usize, exact: Gathered<'_>, others: Gathered<'_>) -> Bytes {
    let mut data = BytesMut::zeroed(len);
    for (ranges, bytes) in [exact, others] {
        let mut from = 0;
        for range in ranges {
            data[range.clone()].copy_from_slice(&bytes[from..from + range.len()]);
            from += range.len();
        }
    }
    data.freeze()
}

#[cfg(test)]
mod tests;
