//! Requests for repair, and the answers to them.

use core::ops::Range;

use bytes::Bytes;
use windfall_wire_net::sap::data::MAX_SPANS;
use windfall_wire_net::sap::{Part, SapData, SapRepair};

use super::{Connection, weight};
use crate::encode::{encode_repair, spans};
use crate::error::SapSendError;

/// The number of times that a message is repaired; each range counts 64 bytes more than its length.
const REPAIRS: usize = 8;
/// The size of the head of a repair in parts with all spans.
const HEAD: usize = windfall_wire_net::sap::data::MAX_HEAD;

impl Connection {
    //= S0.56
    /// Requests `ranges` of approximate message `number` again, in as many requests as it takes for
    /// each answer to fit into a datagram.
    pub(crate) fn repair(
        &mut self,
        stream: u16,
        number: u32,
        ranges: &[Range<usize>],
    ) -> Result<(), SapSendError> {
        if !self.is_open() {
            return Err(SapSendError::NotOpen);
        }
        let most = self.path.size() - self.around - HEAD;
        for group in grouped(ranges, most) {
            let base = group.first().map_or(0, |range| range.start);
            let far = group.iter().any(|range| range.end > usize::from(u16::MAX));
            let part = far.then_some(Part { offset: base as u32, total: 0 });
            let base = part.map_or(0, |_| base);
            let near: Vec<_> =
                group.iter().map(|range| range.start - base..range.end - base).collect();
            let name = self.outbox.next_name();
            let request = SapRepair(SapData { stream, number, part, spans: spans(&near) });
            self.outbox.requests.insert(name, request);
            self.outbox.requests_due.push_back(name);
        }
        Ok(())
    }

    /// Answers a request for repair; without ranges if the message is no longer kept, or if its
    /// peer has asked for too much of it.
    pub(super) fn answer_request(&mut self, mut request: SapData) {
        let named = (request.stream, request.number);
        let mut kept =
            self.outbox.memory.iter_mut().find(|kept| (kept.stream, kept.number) == named);
        let len = kept.as_ref().map_or(0, |kept| kept.data.len());
        let base = request.part.map_or(0, |part| part.offset as usize);
        request.spans.retain(|span| base + span.range().end <= len);
        let asked: usize = request.spans.iter().map(|span| weight(span.range().len())).sum();
        kept = kept.filter(|kept| kept.repaired + asked <= REPAIRS * weight(len));
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
        if let Some(part) = &mut request.part {
            part.total = len as u32;
        }
        let encoded = encode_repair(&request, &data);
        let fits = self.around + encoded.len() <= self.path.size();
        if fits && self.outbox.bytes + encoded.len() <= self.config.send_buffer {
            self.outbox.bytes += encoded.len();
            self.outbox.push_precise(encoded);
        }
    }
}

/// Groups ranges, and cuts them, so that those of a group have at most `most` bytes together and
/// lie within 64 KB.
fn grouped(ranges: &[Range<usize>], most: usize) -> Vec<Vec<Range<usize>>> {
    let pieces = ranges.iter().filter(|range| !range.is_empty()).flat_map(|range| {
        let end = range.end;
        range.clone().step_by(most).map(move |at| at..end.min(at + most))
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
