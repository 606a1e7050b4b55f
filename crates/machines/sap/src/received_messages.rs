//! Detects duplicates of approximate messages: the sender may retransmit one that it wrongly
//! declared lost.

use std::collections::BTreeMap;

use core::ops::Range;

use windfall_base::RangeSet;

/// A stream and the number of a message in it.
pub(crate) type MessageId = (u16, u32);

/// The maximum number of remembered ranges of message numbers, over all streams of a connection.
const RANGES: usize = 4096;
/// The bytes charged for a range, and for a stream.
const RANGE: usize = 48;
const STREAM: usize = 160;
/// The numbers of messages have 32 bits. The first of a stream counts from here, so that there
/// is room for those before it.
const FIRST: u64 = 1 << 32;

/// The numbers of the messages that have arrived, by stream.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReceivedMessages {
    streams: BTreeMap<u16, Stream>,
    /// The ranges of all of them.
    ranges: usize,
    /// The number of messages that have arrived.
    clock: u64,
    /// The lowest and the highest stream that was forgotten.
    forgotten: Option<(u16, u16)>,
}

/// The messages of a stream.
#[derive(Clone, Debug)]
struct Stream {
    seen: RangeSet,
    /// The reference for expanding truncated numbers.
    newest: u64,
    /// Numbers below this one are forgotten.
    floor: u64,
    /// Some messages were retransmitted, so their first copy may arrive later.
    repeats: bool,
    /// The time of the last message.
    used: u64,
}

/// The state of a message at its receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Known {
    /// It has not arrived.
    New,
    /// It has arrived.
    Arrived,
    /// It is older than the remembered ranges.
    Forgotten,
}

impl ReceivedMessages {
    /// Returns whether a whole message is new. A forgotten message counts as new if its stream has
    /// no retransmissions.
    pub(crate) fn is_new(&self, name: MessageId, is_again: bool) -> bool {
        match self.known(name) {
            Known::New => true,
            Known::Arrived => false,
            Known::Forgotten => {
                !is_again && self.streams.get(&name.0).is_none_or(|stream| !stream.repeats)
            }
        }
    }

    /// Returns whether a message has arrived, as far as it is known.
    pub(crate) fn known(&self, (stream, number): MessageId) -> Known {
        match self.streams.get(&stream) {
            Some(stream) => stream.known(stream.expand(number)),
            None if self.is_forgotten(stream) => Known::Forgotten,
            None => Known::New,
        }
    }

    fn is_forgotten(&self, stream: u16) -> bool {
        self.forgotten.is_some_and(|(low, high)| (low..=high).contains(&stream))
    }

    /// Records that a message has arrived, or that no more of its parts are accepted.
    pub(crate) fn note(&mut self, (name, number): MessageId, is_again: bool) {
        let forgotten = self.is_forgotten(name);
        self.clock += 1;
        let stream = self.streams.entry(name).or_insert_with(|| {
            let newest = FIRST + u64::from(number);
            let floor = if forgotten { newest } else { 0 };
            Stream { seen: RangeSet::default(), newest, floor, repeats: forgotten, used: 0 }
        });
        let before = stream.seen.len();
        let number = stream.expand(number);
        stream.newest = stream.newest.max(number);
        stream.repeats |= is_again;
        stream.used = self.clock;
        if number >= stream.floor {
            stream.seen.insert(number..number + 1);
        }
        self.ranges = self.ranges + stream.seen.len() - before;
        if self.ranges > RANGES {
            self.forget();
        }
    }

    /// Forgets the oldest range of the stream that has most of them, or the stream that was used
    /// longest ago.
    fn forget(&mut self) {
        let most = self.streams.values_mut().max_by_key(|stream| stream.seen.len());
        if let Some(stream) = most.filter(|stream| stream.seen.len() > 1) {
            let lowest: Option<Range<u64>> = stream.seen.iter().next();
            if let Some(lowest) = lowest {
                stream.floor = lowest.end;
                stream.seen.remove(lowest);
                self.ranges -= 1;
            }
            return;
        }
        let oldest = self.streams.iter().min_by_key(|(_, stream)| stream.used);
        let Some((&name, _)) = oldest else { return };
        let removed = self.streams.remove(&name);
        self.ranges -= removed.map_or(0, |stream| stream.seen.len());
        let (low, high) = self.forgotten.unwrap_or((name, name));
        self.forgotten = Some((low.min(name), high.max(name)));
    }

    /// Returns the memory that it takes.
    pub(crate) fn charge(&self) -> usize {
        self.ranges * RANGE + self.streams.len() * STREAM
    }
}

impl Stream {
    /// Returns the number closest to the newest one that ends in these bits.
    fn expand(&self, number: u32) -> u64 {
        let ahead = number.wrapping_sub(self.newest as u32) as i32;
        self.newest.saturating_add_signed(ahead.into())
    }

    fn known(&self, number: u64) -> Known {
        if number < self.floor {
            return Known::Forgotten;
        }
        if self.seen.contains(number) { Known::Arrived } else { Known::New }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns whether a message is delivered.
    fn deliver(received: &mut ReceivedMessages, name: MessageId, is_again: bool) -> bool {
        let is_new = received.is_new(name, is_again);
        received.note(name, is_again);
        is_new
    }

    #[test]
    fn a_message_is_new_once() {
        let mut received = ReceivedMessages::default();
        assert!(deliver(&mut received, (3, 5), false) && deliver(&mut received, (3, 7), false));
        assert!(deliver(&mut received, (3, 6), true), "it was lost");
        assert!(!deliver(&mut received, (3, 6), true) && !deliver(&mut received, (3, 5), true));
        assert!(!deliver(&mut received, (3, 6), false), "its first copy was late, not lost");
        assert!(!deliver(&mut received, (3, 5), false), "a number names one message");
        assert!(
            deliver(&mut received, (3, 4), false) && deliver(&mut received, (3, 3), true),
            "before the first"
        );
        assert!(deliver(&mut received, (4, 5), true), "another stream");
    }

    #[test]
    fn the_memory_does_not_end_with_the_newest_of_many() {
        let mut received = ReceivedMessages::default();
        let number = |index: u32| (7, index.wrapping_sub(50_000));
        for index in (0..100_000).filter(|index| index % 50 != 0) {
            assert!(deliver(&mut received, number(index), false));
        }
        for index in 0..100_000 {
            assert_eq!(deliver(&mut received, number(index), true), index % 50 == 0, "{index}");
        }
        assert_eq!(
            (received.ranges, received.charge()),
            (1, RANGE + STREAM),
            "what is whole takes no room"
        );
    }

    #[test]
    fn what_is_older_than_the_memory_is_not_new_if_it_comes_again() {
        let mut received = ReceivedMessages::default();
        for number in 0..=RANGES as u32 {
            assert!(deliver(&mut received, (0, 2 * number), false));
        }
        assert_eq!((received.ranges, received.known((0, 0))), (RANGES, Known::Forgotten));
        assert!(received.is_new((0, 0), false), "everything was sent once");
        assert!(!deliver(&mut received, (0, 0), true));
        assert!(!received.is_new((0, 0), false), "not any more");
        assert!(deliver(&mut received, (0, 1), true) && !deliver(&mut received, (0, 2), true));
    }

    #[test]
    fn what_is_remembered_of_all_streams_is_limited() {
        let mut received = ReceivedMessages::default();
        for stream in 0..5_000 {
            assert!(deliver(&mut received, (stream, 4), false));
        }
        assert_eq!((received.ranges, received.streams.len()), (RANGES, RANGES));
        assert_eq!(received.charge(), RANGES * (RANGE + STREAM));
        assert!(!received.is_new((100, 4), true), "its stream was forgotten");
        assert!(!received.is_new((4_999, 4), true) && received.is_new((4_999, 3), true));
        assert!(deliver(&mut received, (100, 6), false) && !received.is_new((100, 5), true));
        // A stream with many ranges gives way before others do.
        let mut received = ReceivedMessages::default();
        for number in 0..5_000 {
            deliver(&mut received, (1, 2 * number), false);
        }
        deliver(&mut received, (2, 0), false);
        assert_eq!((received.ranges, received.known((2, 0))), (RANGES, Known::Arrived));
    }
}
