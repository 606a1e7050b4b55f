//! Requests for repair, the answers to them, and messages that must be segmented again.

use core::ops::Range;

use bytes::Bytes;
use windfall_wire_net::sap::data::MAX_SPANS;
use windfall_wire_net::sap::{Part, SapData, SapRepair, flags};

use super::Connection;
use super::outbox::KEPT;
use super::reassemble::LONGEST;
use crate::budget::weight;
use crate::encode::{Encoded, Origin, encode_repair, recut, spans};
use crate::error::SapSendError;
use crate::received_messages::MessageId;

/// The limit on the repair of a message, as a multiple of its length. Each requested range counts
/// 64 bytes more than its length.
const REPAIRS: usize = 8;
/// The size of the head of a repair in parts with all spans.
const HEAD: usize = windfall_wire_net::sap::data::MAX_HEAD;

impl Connection {
    //= S0.56
    /// Requests `ranges` of approximate message `number` again, in as many requests as it takes for
    /// each answer to fit into a datagram. Ranges may reach beyond the end of the message.
    pub(crate) fn repair(
        &mut self,
        stream: u16,
        number: u32,
        ranges: &[Range<usize>],
    ) -> Result<(), SapSendError> {
        if !self.is_open() {
            return Err(SapSendError::NotOpen);
        }
        let known = self.inbox.lengths.iter().rev().find(|it| it.0 == (stream, number));
        let longest = if self.takes_parts { LONGEST } else { usize::from(u16::MAX) };
        let end = known.map_or(longest.max(self.config.max_message), |(_, len)| *len);
        let mut groups = self.grouped(ranges, end);
        if known.is_none() && self.takes_parts && groups.len() > 1 {
            // The answer to the first request tells the length of the message.
            let rest = groups.split_off(1).concat();
            self.outbox.unsized_repairs.entry((stream, number)).or_default().extend(rest);
            groups.into_iter().for_each(|group| self.request((stream, number), &group, true));
            return Ok(());
        }
        groups.into_iter().for_each(|group| self.request((stream, number), &group, false));
        Ok(())
    }

    /// Sends the postponed requests for a message whose length is known now.
    pub(super) fn continue_repair(&mut self, name: MessageId, len: usize) {
        let Some(ranges) = self.outbox.unsized_repairs.remove(&name) else { return };
        let groups = self.grouped(&ranges, len);
        groups.into_iter().for_each(|group| self.request(name, &group, false));
    }

    /// Requests ranges whose bytes fit into a datagram; the answer tells the length of the message
    /// if it is a part.
    fn request(&mut self, (stream, number): MessageId, group: &[Range<usize>], as_part: bool) {
        let base = group.first().map_or(0, |range| range.start);
        let far = group.iter().any(|range| range.end > usize::from(u16::MAX));
        let part = (far || as_part).then_some(Part { offset: base as u32, total: 0 });
        let base = part.map_or(0, |_| base);
        let near: Vec<_> = group.iter().map(|range| range.start - base..range.end - base).collect();
        self.inbox.requested.insert((stream, number), group);
        let name = self.outbox.next_name();
        let request = SapRepair(SapData { stream, number, part, spans: spans(&near) });
        self.outbox.requests.insert(name, request);
        self.outbox.requests_due.push_back(name);
    }

    /// Groups ranges of a message that ends at `end`, so that the answer to each group fits into a
    /// datagram.
    fn grouped(&self, ranges: &[Range<usize>], end: usize) -> Vec<Vec<Range<usize>>> {
        let within = ranges.iter().map(|range| range.start..range.end.min(end));
        grouped(within, self.path.size() - self.datagram_overhead - HEAD)
    }

    /// Answers a request for repair. The answer has no ranges if the message is no longer kept, or
    /// if the peer has requested too much of it.
    pub(super) fn answer_request(&mut self, mut request: SapData) {
        let named = (request.stream, request.number);
        let mut kept =
            self.outbox.memory.iter_mut().find(|kept| (kept.stream, kept.number) == named);
        let len = kept.as_ref().map_or(0, |kept| kept.data.len());
        let base = request.part.map_or(0, |part| part.offset as usize);
        for span in &mut request.spans {
            let room = len.saturating_sub(base + usize::from(span.start));
            span.len = span.len.min(u16::try_from(room).unwrap_or(u16::MAX));
        }
        request.spans.retain(|span| span.len > 0);
        let asked: usize = request.spans.iter().map(|span| KEPT + span.range().len()).sum();
        kept = kept.filter(|kept| kept.repaired + asked <= REPAIRS * (KEPT + len));
        let data = match kept {
            Some(kept) => {
                kept.repaired += asked;
                kept.data.clone()
            }
            None => {
                request.spans.clear();
                Bytes::new()
            }
        };
        let len = data.len();
        let shift = |range: Range<usize>| base + range.start..base + range.end;
        let ranges: Vec<_> = request.spans.iter().map(|span| shift(span.range())).collect();
        // The peer may have grouped the ranges by a larger path MTU.
        let mut groups = self.grouped(&ranges, len);
        if groups.is_empty() {
            groups.push(Vec::new());
        }
        for group in groups {
            let encoded = encode_repair(&head_of(&request, base, len, &group), &data);
            if self.outbox.charge() + weight(encoded.len()) <= self.outbox.limit {
                self.outbox.bytes += encoded.len();
                self.outbox.push_precise(encoded);
            }
        }
    }

    /// Segments precise messages and repairs again that exceed the path MTU. None of them may be in
    /// flight.
    pub(super) fn recut(&mut self) {
        let room = self.path.size() - self.datagram_overhead;
        let outbox = &mut self.outbox;
        let takes_parts = self.takes_parts;
        // A repair lists its ranges, so it can be split even if the peer does not accept parts.
        let is_cut = |it: &Encoded| it.len() > room && (takes_parts || is_repair(it));
        if !outbox.precise.values().any(is_cut) {
            return;
        }
        let known: Vec<Encoded> = outbox.precise.drain().collect();
        outbox.lost.clear();
        outbox.new.clear();
        outbox.bytes -= known.iter().map(Encoded::len).sum::<usize>();
        for encoded in known {
            let bodies = if !is_cut(&encoded) {
                Vec::from([encoded])
            } else if is_repair(&encoded) {
                recut_repair(&encoded, room)
            } else {
                recut(&encoded, room)
            };
            for encoded in bodies {
                outbox.bytes += encoded.len();
                outbox.push_precise(encoded);
            }
        }
    }
}

/// Returns whether a body answers a request for repair.
fn is_repair(encoded: &Encoded) -> bool {
    encoded.flags & flags::REPAIRED != 0
}

/// Returns the head of the answer with these ranges of a message of `len` bytes; without ranges, at
/// `base`. It is a part if the request is.
fn head_of(request: &SapData, base: usize, len: usize, group: &[Range<usize>]) -> SapData {
    let base = group.first().map_or(base, |range| range.start);
    let part = request.part.map(|_| Part { offset: base as u32, total: len as u32 });
    let base = part.map_or(0, |_| base);
    let near: Vec<_> = group.iter().map(|range| range.start - base..range.end - base).collect();
    SapData { part, spans: spans(&near), ..*request }
}

/// Cuts a repair into bodies of at most `room` bytes.
fn recut_repair(encoded: &Encoded, room: usize) -> Vec<Encoded> {
    let Ok(head) = SapData::parse(&encoded.head, encoded.flags) else {
        return Vec::from([encoded.clone()]);
    };
    let base = head.part.map_or(0, |part| part.offset as usize);
    let shift = |range: Range<usize>| base + range.start..base + range.end;
    let ranges = head.spans.iter().map(|span| shift(span.range()));
    // The exact bytes are those of the ranges, concatenated.
    let mut exact = encoded.exact.clone();
    let cut = |group: Vec<Range<usize>>| {
        let head = head_of(&head, base, encoded.of.total, &group);
        let len = group.iter().map(Range::len).sum();
        let of = Origin { offset: group[0].start, ..encoded.of };
        let bytes = Bytes::copy_from_slice(&head.emit());
        Encoded { head: bytes, exact: exact.split_to(len), of, ..encoded.clone() }
    };
    grouped(ranges, room - HEAD).into_iter().map(cut).collect()
}

/// Splits and groups ranges. The ranges of a group have at most `most` bytes together and lie
/// within 64 KB.
fn grouped(ranges: impl Iterator<Item = Range<usize>>, most: usize) -> Vec<Vec<Range<usize>>> {
    let pieces = ranges.filter(|range| !range.is_empty()).flat_map(|range| {
        let end = range.end;
        range.step_by(most).map(move |at| at..end.min(at + most))
    });
    let mut groups: Vec<Vec<Range<usize>>> = Vec::new();
    for piece in pieces {
        let fits = groups.last().is_some_and(|group: &Vec<Range<usize>>| {
            let sum: usize = group.iter().map(Range::len).sum();
            let base = group.first().map_or(0, |first| first.start);
            let near = piece.start >= base && piece.end - base <= usize::from(u16::MAX);
            group.len() < MAX_SPANS && sum + piece.len() <= most && near
        });
        match groups.last_mut().filter(|_| fits) {
            Some(group) => group.push(piece),
            None => groups.push(Vec::from_iter([piece])),
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repair_that_is_cut_keeps_its_bytes_and_their_places() {
        let data = Bytes::from_iter((0..3_000).map(|at| (at % 251) as u8));
        let ranges = [0..900, 1_000..1_500, 1_501..1_502];
        for (part, base) in [(None, 0), (Some(Part { offset: 100, total: 3_000 }), 100)] {
            let head = SapData { part, spans: spans(&ranges), ..SapData::default() };
            let mut found = Vec::new();
            for body in recut_repair(&encode_repair(&head, &data), 400) {
                assert!(body.len() <= 400);
                let head = SapData::parse(&body.head, body.flags).expect("a head");
                let base = head.part.map_or(0, |part| part.offset as usize);
                let spans = head.spans.iter().map(|it| it.range());
                let places: Vec<usize> = spans.flatten().map(|at| base + at).collect();
                assert_eq!(body.of.offset, places[0]);
                let bytes: Vec<u8> = places.iter().map(|at| data[*at]).collect();
                assert_eq!(body.exact, bytes);
                found.extend(places);
            }
            let expected: Vec<usize> = ranges.iter().cloned().flatten().collect();
            assert_eq!(found, expected.iter().map(|at| base + at).collect::<Vec<_>>());
        }
    }
}
