//! The approximate messages that have arrived: one that its sender believes lost comes again.

use std::collections::VecDeque;

use windfall_wire_net::sap::{SapPacket, flags};

use crate::message::Received;

/// The streams that are remembered, and the messages of each, a multiple of 64.
const STREAMS: usize = 16;
const MESSAGES: u32 = 512;
const WORDS: usize = MESSAGES as usize / 64;

/// The latest messages of the latest streams.
#[derive(Clone, Debug, Default)]
pub(crate) struct News(VecDeque<Stream>);

/// The latest messages of a stream.
#[derive(Clone, Debug)]
struct Stream {
    stream: u16,
    newest: u32,
    /// Those that have arrived.
    seen: Bits,
    /// Those of them that were sent again when they arrived: an earlier copy may come after them.
    repeated: Bits,
}

/// A bit for each of the latest messages of a stream, at their number modulo that of the bits.
#[derive(Clone, Copy, Debug, Default)]
struct Bits([u64; WORDS]);

impl Bits {
    fn get(&self, number: u32) -> bool {
        let place = number % MESSAGES;
        self.0[place as usize / 64] >> (place % 64) & 1 == 1
    }

    fn set(&mut self, number: u32, value: bool) {
        let place = number % MESSAGES;
        let word = &mut self.0[place as usize / 64];
        *word = *word & !(1 << (place % 64)) | u64::from(value) << (place % 64);
    }
}

impl News {
    /// Notes a whole approximate message; returns whether it is new. One that was sent once is.
    pub(crate) fn take(&mut self, packet: &SapPacket, received: &Received) -> bool {
        let is_again = packet.header.flags & flags::AGAIN != 0;
        self.note(received.stream, received.number, is_again)
    }

    fn note(&mut self, stream: u16, number: u32, is_again: bool) -> bool {
        let known = self.0.iter_mut().rev().find(|it| it.stream == stream);
        if let Some(known) = known {
            return known.note(number, is_again);
        }
        if self.0.len() == STREAMS {
            self.0.pop_front();
        }
        let (seen, repeated) = (Bits::default(), Bits::default());
        let mut fresh = Stream { stream, newest: number, seen, repeated };
        fresh.note(number, is_again);
        self.0.push_back(fresh);
        true
    }
}

impl Stream {
    /// Notes a message; returns whether it is new, as one is that its sender sends only once.
    fn note(&mut self, number: u32, is_again: bool) -> bool {
        let ahead = number.wrapping_sub(self.newest);
        if ahead < 1 << 31 {
            for passed in 1..=ahead.min(MESSAGES) {
                let passed = self.newest.wrapping_add(passed);
                self.seen.set(passed, false);
                self.repeated.set(passed, false);
            }
            self.newest = number;
        } else if self.newest.wrapping_sub(number) >= MESSAGES {
            // Nothing is known of it; it had better come twice than never.
            return true;
        }
        if self.seen.get(number) {
            return !(is_again || self.repeated.get(number));
        }
        self.seen.set(number, true);
        self.repeated.set(number, is_again);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_that_comes_again_is_new_once() {
        let mut news = News::default();
        assert!(news.note(3, 5, false) && news.note(3, 7, false));
        assert!(news.note(3, 6, true), "it was lost");
        assert!(!news.note(3, 6, true) && !news.note(3, 5, true));
        assert!(news.note(3, 5, false), "a sender that sends once is believed");
        assert!(!news.note(3, 6, false), "its first copy was late, not lost");
        assert!(news.note(4, 5, true), "another stream");
    }

    #[test]
    fn what_is_older_than_the_memory_counts_as_new() {
        let mut news = News::default();
        assert!(news.note(0, u32::MAX - 3, false) && news.note(0, 2000, false));
        assert!(news.note(0, 2000 - MESSAGES, true) && news.note(0, 2000 - MESSAGES, true));
        assert!(news.note(0, 2001 - MESSAGES, true));
        assert!(!news.note(0, 2001 - MESSAGES, true));
    }

    #[test]
    fn the_streams_that_are_remembered_are_limited() {
        let mut news = News::default();
        for stream in 0..200 {
            assert!(news.note(stream, 0, false));
        }
        assert_eq!(news.0.len(), STREAMS);
    }
}
