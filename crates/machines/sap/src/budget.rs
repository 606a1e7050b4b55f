//! The memory budget of messages in the receive and send buffers.
//!
//! All buffered bytes are charged, and memory is charged before it is allocated, so a peer cannot
//! occupy memory by announcing long messages. While less than half of a budget is taken, each
//! connection may fill its own buffers. Beyond that, each has an equal share of the other half.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;

/// The bytes charged for a message or a part besides its data: the structures, the queue entry and
/// the overhead of the allocator.
const OVERHEAD: usize = 320;
/// The bytes charged for the reassembly of a message, besides its parts.
pub(crate) const BEGUN: usize = 2048;
/// The part of a share that each direction of a connection may take.
const DIRECTIONS: usize = 2;
/// The unused bytes of a receive buffer that may be kept with a message.
const SLACK: usize = 256;

/// Returns the bytes charged for a message of `len` bytes; empty messages are not free.
pub(crate) const fn weight(len: usize) -> usize {
    len + OVERHEAD
}

/// Returns `data` without the rest of the buffer of `held` bytes that it is a part of, if the rest
/// is large.
pub(crate) fn compact(data: Bytes, held: usize) -> Bytes {
    if data.len() + data.len() / 4 + SLACK < held { Bytes::copy_from_slice(&data) } else { data }
}

/// A limit for the memory of messages, which all clones share: of one endpoint, or of all endpoints
/// of a process.
#[derive(Clone, Debug)]
pub struct SapBudget(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    limit: AtomicUsize,
    held: AtomicUsize,
    connections: AtomicUsize,
}

/// The memory that is left for another connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Seats {
    Free,
    /// All memory is taken.
    Full,
    /// The connections have all memory that they may have.
    Taken,
}

/// The memory that one connection may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allowance {
    /// The bytes that each direction of a connection may take, once half of a budget is taken.
    pub(crate) share: Option<usize>,
    /// The bytes that no connection has taken.
    pub(crate) left: usize,
}

impl SapBudget {
    /// Creates a budget of `limit` bytes.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        let [held, connections] = [0, 0].map(AtomicUsize::new);
        Self(Arc::new(Shared { limit: limit.into(), held, connections }))
    }

    /// Sets the limit. Memory that is already held stays.
    pub fn set_limit(&self, limit: usize) {
        self.0.limit.store(limit, Ordering::Relaxed);
    }

    /// Returns the limit in bytes.
    #[must_use]
    pub fn limit(&self) -> usize {
        self.0.limit.load(Ordering::Relaxed)
    }

    /// Returns the bytes that are taken.
    #[must_use]
    pub fn held(&self) -> usize {
        self.0.held.load(Ordering::Relaxed)
    }

    /// Replaces a charge by another one.
    pub(crate) fn charge(&self, before: usize, after: usize) {
        if after >= before {
            self.0.held.fetch_add(after - before, Ordering::Relaxed);
        } else {
            self.0.held.fetch_sub(before - after, Ordering::Relaxed);
        }
    }

    /// Counts a connection.
    pub(crate) fn enter(&self) {
        self.0.connections.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts the end of a connection.
    pub(crate) fn leave(&self) {
        self.0.connections.fetch_sub(1, Ordering::Relaxed);
    }

    /// Returns whether `bytes` bytes are free, and one more connection of `seat` bytes is
    /// permitted. At most half of the memory is for connections, so that their messages have room.
    pub(crate) fn seats(&self, bytes: usize, seat: usize) -> Seats {
        let connections = self.0.connections.load(Ordering::Relaxed) + 1;
        if connections.saturating_mul(seat) > self.limit() / 2 {
            Seats::Taken
        } else if self.held().saturating_add(bytes) > self.limit() {
            Seats::Full
        } else {
            Seats::Free
        }
    }

    /// Returns the memory that a connection may take now.
    pub(crate) fn allowance(&self) -> Allowance {
        let limit = self.limit();
        let held = self.held();
        let connections = self.0.connections.load(Ordering::Relaxed).max(1);
        let share = (held >= limit / 2).then(|| limit / 2 / connections / DIRECTIONS);
        Allowance { share, left: limit.saturating_sub(held) }
    }
}

impl Allowance {
    /// Returns the smaller allowance of both.
    pub(crate) fn min(self, other: Self) -> Self {
        let share = self.share.into_iter().chain(other.share).min();
        Self { share, left: self.left.min(other.left) }
    }

    /// Returns the limit of a buffer of `size` bytes that holds `held` bytes.
    pub(crate) fn limit(self, size: usize, held: usize) -> usize {
        self.share.unwrap_or(size).min(size).min(held.saturating_add(self.left))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_connection_has_a_share_of_the_second_half() {
        let budget = SapBudget::new(1000);
        (0..5).for_each(|_| budget.enter());
        budget.charge(0, 499);
        let free = budget.allowance();
        assert_eq!((free.share, free.left), (None, 501));
        assert_eq!((free.limit(300, 0), free.limit(5000, 10)), (300, 511));
        budget.charge(499, 500);
        let crowded = budget.allowance();
        assert_eq!((crowded.share, crowded.limit(300, 20)), (Some(50), 50));
        budget.leave();
        assert_eq!(budget.allowance().share, Some(62));
        budget.charge(500, 1_200);
        assert_eq!(budget.allowance().limit(300, 7), 7, "nothing is left");
        budget.charge(1_200, 0);
        assert_eq!(budget.seats(100, 100), Seats::Free, "the fifth");
        assert_eq!((budget.seats(1_001, 100), budget.seats(1, 101)), (Seats::Full, Seats::Taken));
        budget.set_limit(10);
        assert_eq!((budget.held(), budget.limit()), (0, 10));
        assert_eq!(budget.allowance().min(free).left, 10);
        assert_eq!(crowded.min(free).share, Some(50));
    }

    #[test]
    fn little_data_do_not_keep_a_large_buffer() {
        let datagram = Bytes::from(vec![7; 1400]);
        let kept = |len: usize, held: usize| {
            let data = datagram.slice(..len);
            let same = compact(data.clone(), held).as_ptr() == data.as_ptr();
            assert_eq!(compact(data.clone(), held), data);
            same
        };
        assert!(kept(1300, 1400) && kept(1, 200) && kept(0, 200));
        assert!(!kept(1, 1400) && !kept(1300, 65_536) && !kept(500, 1400));
    }
}
