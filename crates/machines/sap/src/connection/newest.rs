//! Last in, first out for approximate messages, for live media whose old messages are useless.

use std::collections::VecDeque;

use super::{Connection, Outbox};
use crate::budget::weight;
use crate::encode::Encoded;

/// The size of the queue of approximate messages in bytes, unless one message is longer.
const QUEUE: usize = 256 << 10;

impl Connection {
    /// Sets whether approximate messages are sent and delivered newest first. If so, a full queue
    /// drops the oldest ones instead of making the sender wait.
    pub(crate) fn set_newest_first(&mut self, newest_first: bool) {
        self.outbox.newest_first = newest_first;
        self.inbox.newest_first = newest_first;
    }

    /// Returns the numbers of approximate messages that were dropped for newer ones: before they
    /// were sent, and before they were read.
    pub(crate) fn displaced(&self) -> (u64, u64) {
        (self.outbox.displaced, self.inbox.displaced)
    }

    /// Makes room for `needed` charged bytes: drops the oldest unread approximate messages, if they
    /// are read newest first. Returns whether there is room.
    pub(super) fn make_room(&mut self, needed: usize) -> bool {
        while self.room() < needed {
            let Some(oldest) = self.inbox.fresh.pop_front() else { return false };
            self.inbox.bytes -= weight(oldest.data.len());
            self.inbox.displaced += 1;
        }
        true
    }
}

impl Outbox {
    /// Drops the oldest approximate messages until `size` more bytes fit into the queue. A message
    /// of which a part was sent stays.
    pub(super) fn drop_oldest(&mut self, size: usize) {
        while self.approximate_bytes + size > QUEUE {
            let begun = self.begun.filter(|begun| {
                self.approximate.front().is_some_and(|front| front.of.is_with(begun))
            });
            let index = match begun {
                Some(begun) => self.approximate.iter().position(|it| !it.of.is_with(&begun)),
                None => Some(0),
            };
            let Some(oldest) = index.and_then(|index| self.approximate.get(index)) else { return };
            let of = oldest.of;
            let all = core::mem::take(&mut self.approximate).into_iter();
            let (dropped, left): (VecDeque<Encoded>, VecDeque<Encoded>) =
                all.partition(|it| it.of.is_with(&of));
            self.approximate = left;
            for encoded in dropped {
                self.bytes -= encoded.len();
                self.approximate_bytes -= encoded.data_len();
                if encoded.again.is_some() {
                    self.settle_fate(of.stream, false);
                }
            }
            self.displaced += 1;
        }
    }

    /// Returns the next approximate message or part to send, by its index.
    pub(super) fn next_approximate(&self) -> Option<usize> {
        let last = self.approximate.back()?.of;
        if !self.newest_first {
            return Some(0);
        }
        let find = |of| self.approximate.iter().position(|it| it.of.is_with(of));
        self.begun.as_ref().and_then(find).or_else(|| find(&last))
    }

    /// Removes the approximate message or part with this index.
    pub(super) fn take_approximate(&mut self, index: usize) -> Option<Encoded> {
        let encoded = self.approximate.remove(index)?;
        self.bytes -= encoded.len();
        self.approximate_bytes -= encoded.data_len();
        self.begun = Some(encoded.of);
        Some(encoded)
    }
}
