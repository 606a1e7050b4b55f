//! The memory budget of all connections: what each may hold, and which one gives memory up.
//!
//! Local programs are throttled first. Beyond three quarters of the budget, a connection accepts
//! only its small share of written data, and advertises no larger window. A peer decides how long
//! data wait for it: it closes its window, or leaves a hole. If memory still runs out, the
//! connection whose peer has let data wait longest discards its out-of-order data, which the peer
//! retransmits, or else is reset. Data that a local program does not read never cause a reset.

use windfall_base::{Duration, Instant};

use super::{Slot, TcpEndpoint};
use crate::config::SHARE;
use crate::connection::Connection;
use crate::segment::Segment;

/// The time without any progress of its peer after which a connection gives memory back.
const PATIENCE: Duration = Duration::from_secs(30);

/// The account of an endpoint's memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    pub(super) most: usize,
    /// Bytes held by all connections.
    held: usize,
    /// The latest time that the endpoint was given.
    now: Instant,
    /// No peer has let data wait for long enough before this.
    quiet_until: Instant,
}

/// A connection's part of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Holding {
    bytes: usize,
    /// Of these, the bytes that wait for the peer: for an acknowledgment, or to fill a hole.
    waiting: usize,
    /// When that last became less, or the first of it came.
    moved: Instant,
}

impl Budget {
    pub(super) const fn new(most: usize) -> Self {
        let held = 0;
        let now = Instant::START;
        let quiet_until = Instant::START;
        Self { most, held, now, quiet_until }
    }

    /// Returns the latest time that the endpoint was given.
    pub(super) const fn now(&self) -> Instant {
        self.now
    }

    /// Notes that the time is at least `now`.
    pub(super) fn note_time(&mut self, now: Instant) {
        self.now = self.now.max(now);
    }

    /// Returns whether so little is left that windows must shrink: a quarter.
    pub(super) const fn is_tight(&self) -> bool {
        self.held > self.for_writers()
    }

    /// Returns the part of the memory that local programs may fill beyond the shares.
    const fn for_writers(&self) -> usize {
        self.most - self.most / 4
    }

    const fn is_exceeded_by(&self, more: usize) -> bool {
        self.held.saturating_add(more) > self.most
    }
}

impl Default for Holding {
    fn default() -> Self {
        Self { bytes: 0, waiting: 0, moved: Instant::START }
    }
}

impl Slot {
    /// Charges the memory that the connection holds now.
    pub(super) fn settle(&mut self, budget: &mut Budget) {
        let connection = self.connection.as_deref();
        let bytes = connection.map_or(0, Connection::held_memory);
        let waiting = connection.map_or(0, Connection::memory_waiting);
        let holding = &mut self.holding;
        if waiting < holding.waiting || holding.waiting == 0 {
            holding.moved = budget.now;
        }
        budget.held = budget.held - holding.bytes + bytes;
        (holding.bytes, holding.waiting) = (bytes, waiting);
    }
}

impl TcpEndpoint {
    /// Sets the most bytes of memory that the buffers of all connections may take.
    pub fn set_memory(&mut self, most: usize) {
        self.budget.most = most;
    }

    /// Returns the bytes of memory that the buffers of all connections take.
    #[must_use]
    pub const fn held_bytes(&self) -> usize {
        self.budget.held
    }

    /// Returns the number of `wanted` bytes that a connection may take into its send buffer.
    pub(super) fn make_room(&mut self, slot: u32, wanted: usize) -> usize {
        let left = |budget: &Budget| budget.for_writers().saturating_sub(budget.held);
        if wanted > left(&self.budget) {
            self.reclaim(self.budget.most.saturating_sub(self.budget.for_writers()) + wanted);
        }
        let own = self.slots.get(slot as usize).map_or(0, |entry| entry.holding.bytes);
        wanted.min(left(&self.budget).max(SHARE.saturating_sub(own)))
    }

    /// Returns whether there is no memory for the data of a segment. Data for an idle reader are
    /// always accepted, because they leave at once.
    pub(super) fn lacks_memory_for(&mut self, slot: u32, segment: &Segment) -> bool {
        if segment.data.is_empty() || !self.budget.is_exceeded_by(segment.data.len()) {
            return false;
        }
        self.reclaim(segment.data.len());
        let entry = &self.slots[slot as usize];
        let waits = |it: &Connection| it.readable() > SHARE || it.is_beyond(segment);
        self.budget.is_exceeded_by(segment.data.len())
            && entry.holding.bytes > SHARE
            && entry.connection.as_deref().is_some_and(waits)
    }

    /// Takes memory from the connections whose peers have let data wait for the longest, until
    /// `wanted` bytes more fit.
    fn reclaim(&mut self, wanted: usize) {
        let now = self.budget.now;
        while self.budget.is_exceeded_by(wanted) && now >= self.budget.quiet_until {
            let holders =
                self.slots.iter().enumerate().filter(|(_, it)| it.holding.waiting > SHARE);
            let oldest = holders.min_by_key(|(_, it)| it.holding.moved);
            let Some((slot, moved)) = oldest.map(|(slot, it)| (slot, it.holding.moved)) else {
                return;
            };
            self.budget.quiet_until = moved.saturating_add(PATIENCE);
            if now < self.budget.quiet_until {
                return;
            }
            if let Some(connection) = self.slots[slot].connection.as_deref_mut()
                && !connection.forget_islands()
            {
                connection.give_memory_back();
            }
            self.touch(slot as u32);
        }
    }
}
