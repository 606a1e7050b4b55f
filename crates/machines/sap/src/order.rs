//! Reordering of the precise messages of a stream, without duplicates.

use std::collections::BTreeMap;

use bytes::Bytes;
use windfall_base::seq::Seq32;

use crate::budget::weight;

/// The maximum distance of a message from the next one.
const AHEAD: u64 = 1 << 16;

/// The position of a message in its stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Placed {
    /// It is the next message.
    Next,
    /// It must wait for earlier messages.
    Waits,
    /// It has arrived before.
    Known,
    /// There is no room for it, or it is too far ahead.
    NoRoom,
}

/// The order of one stream.
#[derive(Clone, Debug, Default)]
pub(crate) struct Order {
    next: u64,
    waiting: BTreeMap<u64, Bytes>,
}

impl Order {
    /// Returns the position of message `number`; `room` says whether there is room for an
    /// out-of-order message.
    pub(crate) fn place(&self, number: u32, room: bool) -> Placed {
        let ahead = Seq32(number).distance_from(Seq32(self.next as u32));
        match u64::try_from(ahead) {
            Err(_) => Placed::Known,
            Ok(0) => Placed::Next,
            Ok(ahead) if self.waiting.contains_key(&(self.next + ahead)) => Placed::Known,
            Ok(ahead) if ahead > AHEAD || !room => Placed::NoRoom,
            Ok(_) => Placed::Waits,
        }
    }

    /// Keeps a message that must wait.
    pub(crate) fn keep(&mut self, number: u32, data: Bytes) {
        let ahead = number.wrapping_sub(self.next as u32);
        self.waiting.insert(self.next + u64::from(ahead), data);
    }

    /// Returns the memory that the messages that wait take.
    pub(crate) fn charge(&self) -> usize {
        self.waiting.values().map(|data| weight(data.len())).sum()
    }

    /// Advances past the next message; returns the messages that waited for it, with their numbers.
    pub(crate) fn advance(&mut self) -> Vec<(u32, Bytes)> {
        self.next += 1;
        let mut freed = Vec::new();
        while let Some(data) = self.waiting.remove(&self.next) {
            freed.push((self.next as u32, data));
            self.next += 1;
        }
        freed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_delivered_in_order_and_once() {
        let mut order = Order { next: u64::from(u32::MAX), ..Order::default() };
        assert_eq!(order.place(1, true), Placed::Waits);
        order.keep(1, Bytes::from_static(b"c"));
        assert_eq!(order.place(1, true), Placed::Known);
        assert_eq!(order.place(0, false), Placed::NoRoom);
        assert_eq!(order.place(AHEAD as u32 + 5, true), Placed::NoRoom);
        assert_eq!(order.place(u32::MAX, false), Placed::Next);
        assert!(order.advance().is_empty());
        assert_eq!(order.place(u32::MAX, true), Placed::Known);
        assert_eq!(order.place(0, true), Placed::Next);
        assert_eq!(order.advance(), [(1, Bytes::from_static(b"c"))]);
    }
}
