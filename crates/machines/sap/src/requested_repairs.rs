//! The ranges that this end has requested for repair, until they arrive.

use std::collections::VecDeque;

use core::ops::Range;

use bytes::Bytes;
use windfall_base::RangeSet;

use crate::message::Received;
use crate::received_messages::MessageId;

/// The maximum number of ranges, over all messages; of a message without any left, one.
const RANGES: usize = 4096;
/// The bytes charged for a range.
const RANGE: usize = 64;

/// The requests for repair that are not answered in full, by message.
#[derive(Clone, Debug, Default)]
pub(crate) struct RequestedRepairs {
    /// The oldest first.
    messages: VecDeque<Requested>,
    /// The ranges of all of them.
    ranges: usize,
}

/// The requests of one message.
#[derive(Clone, Debug)]
struct Requested {
    name: MessageId,
    /// The ranges that have not arrived.
    wanted: RangeSet<usize>,
    /// The number of requests, each of which may be answered with no ranges.
    requests: u32,
}

impl Requested {
    /// Returns the number of ranges that the message counts for.
    fn ranges(&self) -> usize {
        self.wanted.len().max(1)
    }
}

impl RequestedRepairs {
    /// Records a request. Beyond the limit, the oldest messages are forgotten.
    pub(crate) fn insert(&mut self, name: MessageId, ranges: &[Range<usize>]) {
        let known = self.messages.iter().rposition(|it| it.name == name);
        let index = known.unwrap_or_else(|| {
            let wanted = RangeSet::default();
            self.messages.push_back(Requested { name, wanted, requests: 0 });
            self.ranges += 1;
            self.messages.len() - 1
        });
        let requested = &mut self.messages[index];
        let before = requested.ranges();
        requested.requests = requested.requests.saturating_add(1);
        for range in ranges {
            requested.wanted.insert(range.clone());
        }
        self.ranges = self.ranges + requested.ranges() - before;
        while self.ranges > RANGES && self.messages.len() > 1 {
            self.remove(0);
        }
    }

    /// Clips an answer to the ranges that were requested and have not arrived; returns whether it
    /// answers a request. An answer without ranges says that the message is not kept.
    pub(crate) fn clip(&self, answer: &mut Received) -> bool {
        let name = (answer.stream, answer.number);
        let Some(requested) = self.messages.iter().find(|it| it.name == name) else {
            return false;
        };
        if answer.data.is_empty() {
            answer.exact.clear();
            return true;
        }
        let mut wanted = requested.wanted.clone();
        let mut exact = Vec::new();
        let mut data = Vec::new();
        let mut from = 0;
        for range in &answer.exact {
            for part in wanted.within(range.clone()) {
                let start = from + part.start - range.start;
                data.extend_from_slice(&answer.data[start..start + part.len()]);
                exact.push(part);
            }
            from += range.len();
            wanted.remove(range.clone());
        }
        if exact != answer.exact {
            answer.data = Bytes::from(data);
            answer.exact = exact;
        }
        !answer.exact.is_empty()
    }

    /// Records that an answer was delivered, which [`clip`](Self::clip) has clipped.
    pub(crate) fn on_answer(&mut self, answer: &Received) {
        let name = (answer.stream, answer.number);
        let Some(index) = self.messages.iter().position(|it| it.name == name) else { return };
        let requested = &mut self.messages[index];
        let before = requested.ranges();
        for range in &answer.exact {
            requested.wanted.remove(range.clone());
        }
        if answer.exact.is_empty() {
            requested.requests -= 1;
        }
        self.ranges = self.ranges + requested.ranges() - before;
        if requested.wanted.is_empty() || requested.requests == 0 {
            self.remove(index);
        }
    }

    fn remove(&mut self, index: usize) {
        let removed = self.messages.remove(index);
        self.ranges -= removed.map_or(0, |it| it.ranges());
    }

    /// Returns the bytes charged for the ranges.
    pub(crate) fn charge(&self) -> usize {
        self.ranges * RANGE
    }
}

#[cfg(test)]
#[expect(clippy::single_range_in_vec_init, reason = "a request may have one range")]
mod tests {
    use super::*;
    use crate::message::{Integrity, MessageKind};

    fn answer(number: u32, exact: &[Range<usize>]) -> Received {
        let places = exact.iter().cloned().flatten();
        Received {
            stream: 0,
            kind: MessageKind::Repair,
            number,
            data: places.map(|at| at as u8).collect(),
            exact: exact.to_vec(),
            integrity: Integrity::Intact,
            missing: Vec::new(),
        }
    }

    /// Returns the ranges of an answer that are delivered.
    fn delivered(requests: &mut RequestedRepairs, mut it: Received) -> Option<Vec<Range<usize>>> {
        let is_answer = requests.clip(&mut it);
        let places: Vec<u8> = it.exact.iter().cloned().flatten().map(|at| at as u8).collect();
        assert!(!is_answer || it.data == places, "the bytes are those of the ranges");
        is_answer.then(|| {
            requests.on_answer(&it);
            it.exact
        })
    }

    #[test]
    fn an_answer_is_clipped_to_what_was_requested_and_counts_once() {
        let mut requests = RequestedRepairs::default();
        assert_eq!(delivered(&mut requests, answer(7, &[0..10])), None);
        requests.insert((0, 7), &[10..20, 30..40]);
        assert_eq!(delivered(&mut requests, answer(8, &[10..20])), None);
        assert_eq!(delivered(&mut requests, answer(7, &[0..5, 90..99])), None);
        let clipped = delivered(&mut requests, answer(7, &[12..35, 14..16]));
        assert_eq!(clipped, Some(vec![12..20, 30..35]));
        assert_eq!(delivered(&mut requests, answer(7, &[12..20])), None);
        let rest = delivered(&mut requests, answer(7, &[35..40, 10..12]));
        assert_eq!(rest, Some(vec![35..40, 10..12]));
        assert_eq!(delivered(&mut requests, answer(7, &[])), None);
        assert_eq!(requests.charge(), 0);
    }

    #[test]
    fn each_request_may_be_answered_with_no_ranges() {
        let mut requests = RequestedRepairs::default();
        requests.insert((0, 7), &[0..10]);
        requests.insert((0, 7), &[20..30]);
        assert_eq!(delivered(&mut requests, answer(7, &[5..5])), Some(Vec::new()));
        assert_eq!(delivered(&mut requests, answer(7, &[])), Some(Vec::new()));
        assert_eq!(delivered(&mut requests, answer(7, &[])), None);
        assert_eq!(delivered(&mut requests, answer(7, &[0..10])), None);
        assert_eq!(requests.charge(), 0);
    }

    #[test]
    fn the_oldest_messages_are_forgotten_beyond_the_limit() {
        let mut requests = RequestedRepairs::default();
        for number in 0..RANGES as u32 {
            requests.insert((0, number), &[0..10, 20..30]);
        }
        assert_eq!(requests.charge(), RANGES * RANGE);
        let first = RANGES as u32 / 2;
        assert_eq!(delivered(&mut requests, answer(first - 1, &[0..10])), None);
        assert_eq!(delivered(&mut requests, answer(first, &[0..10])), Some(vec![0..10]));
    }
}
