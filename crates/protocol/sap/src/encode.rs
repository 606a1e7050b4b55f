//! Encoding of messages into bodies and back: gathers exact bytes, locates damage in the others.

use core::ops::Range;

use bytes::{BufMut, Bytes, BytesMut};
use windfall_base::Check;
use windfall_wire_net::sap::data::{BLOCK, MAX_SPANS, block_check};
use windfall_wire_net::sap::{SapData, SapPacket, Span, flags};

use crate::error::SapSendError;
use crate::message::{Integrity, Message, MessageKind, Mode, Received};

/// An encoded message: the exact bytes of its body in two slices, and the others.
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
}

impl Encoded {
    /// Returns the length of the body in bytes.
    pub(crate) fn len(&self) -> usize {
        self.head.len() + self.exact.len() + self.rest.len()
    }
}

/// Returns the greatest number of bytes that the body of a message of `len` bytes adds, unless it
/// is in ranges.
pub(crate) fn overhead(len: usize, checks: bool) -> usize {
    windfall_wire_net::sap::data::FIXED_LEN + if checks { 2 * len.div_ceil(BLOCK) } else { 0 }
}

//= S0.27
/// Encodes a message, which is number `number` of its stream.
///
/// # Errors
/// If the message is shorter than its protected part, or has too many ranges.
pub(crate) fn encode(
    message: &Message,
    number: u32,
    checks: bool,
) -> Result<Encoded, SapSendError> {
    let data = &message.data;
    let mut head = SapData { stream: message.stream, number, ..SapData::default() };
    let (exact, rest) = match &message.mode {
        Mode::Precise => (data.clone(), Bytes::new()),
        Mode::Approximate { protected } if *protected > data.len() => {
            return Err(SapSendError::Protection { protected: *protected, len: data.len() });
        }
        Mode::Approximate { protected } => (data.slice(..*protected), data.slice(*protected..)),
        Mode::Ranges(ranges) => {
            let ranges = joined(ranges, data.len())?;
            head.spans = spans(&ranges);
            (gather(data, &ranges), gather(data, &complement(&ranges, data.len())))
        }
    };
    let mut flags = if message.mode == Mode::Precise { 0 } else { flags::APPROXIMATE };
    let mut bytes = BytesMut::with_capacity(overhead(rest.len(), checks) + 4 * head.spans.len());
    bytes.put_slice(&head.emit());
    if checks && !rest.is_empty() {
        flags |= flags::CHECKED;
        rest.chunks(BLOCK).for_each(|block| bytes.put_u16(block_check(block)));
    }
    Ok(Encoded { head: bytes.freeze(), exact, rest, flags })
}

/// Encodes the exact bytes of `ranges` of a message as a repair; no ranges if it is not kept.
pub(crate) fn encode_repair(head: &SapData, data: &Bytes) -> Encoded {
    let ranges: Vec<_> = head.spans.iter().map(|span| span.range()).collect();
    let exact = gather(data, &ranges);
    let bytes = Bytes::copy_from_slice(&head.emit());
    Encoded { head: bytes, exact, rest: Bytes::new(), flags: flags::REPAIRED }
}

/// Decodes the message of an intact packet, whose frame check found `frame`; `None` if its header
/// is malformed.
pub(crate) fn decode(packet: &SapPacket, frame: Check) -> Option<Received> {
    let exact = usize::from(packet.header.exact);
    let head = SapData::parse(&packet.body[..exact]).ok()?;
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
    };
    let len = front.len() + rest.len();
    let suspect = suspect_blocks(sums, &rest);
    if kind == MessageKind::Repair {
        received.exact = head.spans.iter().map(|span| span.range()).collect();
        received.data = front;
        let stated: usize = received.exact.iter().map(Range::len).sum();
        return (stated == received.data.len() && rest.is_empty()).then_some(received);
    }
    let others = if head.spans.is_empty() {
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
    (kind != MessageKind::Precise || rest.is_empty()).then_some(received)
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

type Part<'a> = (&'a [Range<usize>], &'a Bytes);

/// Copies gathered bytes back to their positions.
fn scatter(len: usize, exact: Part<'_>, others: Part<'_>) -> Bytes {
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
