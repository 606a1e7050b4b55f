//! The memory of all connections together: what they may hold, and who must give it up.
//!
//! A peer decides how long data wait for it: it closes its window, or leaves a hole. Above the
//! budget the connections whose buffers have not shrunk for the longest are reset, and others take
//! no more than a little. Whoever reads and acknowledges is never among the oldest for long.

use windfall_base::{Duration, Instant};

use super::{Slot, TcpEndpoint};
use crate::config::SHARE;
use crate::connection::Connection;
use crate::segment::Segment;

/// The time without any progress after which a connection may be reset for its memory: several
/// timeouts of a short path.
const IDLE: Duration = Duration::from_secs(5);

/// The account of an endpoint's memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    pub(super) most: usize,
    /// Bytes held by all connections.
    held: usize,
    /// The latest time that the endpoint was told.
    now: Instant,
    /// No connection has been idle for long enough before this.
    quiet_until: Instant,
}

/// A connection's part of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Holding {
    bytes: usize,
    /// When they last became fewer, or the first of them came.
    moved: Instant,
}

impl Budget {
    pub(super) const fn new(most: usize) -> Self {
        let (held, now, quiet_until) = (0, Instant::START, Instant::START);
        Self { most, held, now, quiet_until }
    }

    /// Notes that the time is at least `now`.
    pub(super) fn note_time(&mut self, now: Instant) {
        self.now = self.now.max(now);
    }

    /// Returns whether so little is left that windows must shrink: a quarter.
    pub(super) const fn is_tight(&self) -> bool {
        self.held > self.most - self.most / 4
    }

    const fn is_exceeded_by(&self, more: usize) -> bool {
        self.held.saturating_add(more) > self.most
    }
}

impl Default for Holding {
    fn default() -> Self {
        Self { bytes: 0, moved: Instant::START }
    }
}

impl Slot {
    /// Enters in the books what the connection holds now.
    pub(super) fn settle(&mut self, budget: &mut Budget) {
        let bytes = self.connection.as_deref().map_or(0, Connection::held_bytes);
        let holding = &mut self.holding;
        if bytes < holding.bytes || holding.bytes == 0 {
            holding.moved = budget.now;
        }
        budget.held = budget.held - holding.bytes + bytes;
        holding.bytes = bytes;
    }
}

impl TcpEndpoint {
    /// Sets the most bytes that all connections may hold in their buffers.
    pub fn set_memory(&mut self, most: usize) {
        self.budget.most = most;
    }

    /// Returns the bytes that all connections hold in their buffers.
    #[must_use]
    pub const fn held_bytes(&self) -> usize {
        self.budget.held
    }

    /// Returns the number of `wanted` bytes that a connection may take into its send buffer.
    pub(super) fn make_room(&mut self, slot: u32, wanted: usize) -> usize {
        if !self.budget.is_exceeded_by(wanted) {
            return wanted;
        }
        self.evict(wanted);
        let own = self.slots.get(slot as usize).map_or(0, |entry| entry.holding.bytes);
        let left = self.budget.most.saturating_sub(self.budget.held);
        wanted.min(left.max(SHARE.saturating_sub(own)))
    }

    /// Returns whether there is no memory for the data of a segment. What an idle reader waits for
    /// is always taken, as it leaves at once.
    pub(super) fn lacks_memory_for(&mut self, slot: u32, segment: &Segment) -> bool {
        if segment.data.is_empty() || !self.budget.is_exceeded_by(segment.data.len()) {
            return false;
        }
        self.evict(segment.data.len());
        let entry = &self.slots[slot as usize];
        let waits = |it: &Connection| it.readable() > SHARE || it.is_beyond(segment);
        self.budget.is_exceeded_by(segment.data.len())
            && entry.holding.bytes > SHARE
            && entry.connection.as_deref().is_some_and(waits)
    }

    /// Resets the connections that have been idle for the longest until `wanted` bytes more fit.
    fn evict(&mut self, wanted: usize) {
        let now = self.budget.now;
        while self.budget.is_exceeded_by(wanted) && now >= self.budget.quiet_until {
            let holders = self.slots.iter().enumerate().filter(|(_, it)| it.holding.bytes > 0);
            let oldest = holders.min_by_key(|(_, it)| it.holding.moved);
            let Some((slot, moved)) = oldest.map(|(slot, it)| (slot, it.holding.moved)) else {
                return;
            };
            self.budget.quiet_until = moved.saturating_add(IDLE);
            if now < self.budget.quiet_until {
                return;
            }
            if let Some(connection) = self.slots[slot].connection.as_deref_mut() {
                connection.give_memory_back();
            }
            self.touch(slot as u32);
        }
    }
}
