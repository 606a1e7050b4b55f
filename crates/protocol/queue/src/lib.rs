//! In which order one station sends its packets.
//!
//! The flow below a queue is a pull: whoever has air time asks a [`Scheduler`] whose turn it is,
//! and takes the head of that flow's queue.
//!
//! - [`DropTail`]: the packets of one flow.
//! - [`Discipline`]: the schedulers by name.
//! - [`fifo`], [`priority`], [`deficit`], [`elf`]: one machine each.
//! - [`expected`]: what flows could expect of a link without errors.
//! - [`share`], [`admission`]: what the last of them promises, and what may be promised.

pub mod account;
pub mod admission;
mod backlog;
pub mod deficit;
pub mod discipline;
pub mod elf;
pub mod expected;
pub mod fifo;
mod levels;
pub mod priority;
pub mod scheduler;
pub mod share;

pub use account::Account;
pub use discipline::{Discipline, Measure};
pub use scheduler::{FlowConfig, FlowError, Scheduler, Service};

use std::collections::VecDeque;

use windfall_base::{Frame, Instant};

/// The capacity of a queue. A packet that would exceed `packets` or `bytes` is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The largest number of packets.
    pub packets: usize,
    /// Bytes of the packets, without link headers.
    pub bytes: usize,
    /// The number of packets from which on one that joins them is to be marked: a step of the
    /// length at that moment (RFC 8257, section 3.1), not of a mean.
    pub mark: usize,
}

impl Default for Limits {
    /// 1 000 packets, as Linux gives a device, no limit in bytes, and no marks.
    fn default() -> Self {
        Self { packets: 1_000, bytes: usize::MAX, mark: usize::MAX }
    }
}

/// First in, first out; what does not fit is refused (S3.10: it keeps order).
///
/// Commands: `push`, `pop`. Each does bounded work.
#[derive(Debug)]
pub struct DropTail {
    waiting: VecDeque<Waiting>,
    bytes: usize,
    limits: Limits,
}

/// A packet in a queue.
#[derive(Debug)]
pub struct Waiting {
    /// When it joined.
    pub since: Instant,
    /// The packet that waits.
    pub frame: Frame,
    /// It found as many waiting as [`Limits::mark`]: it is to be marked, where it may be.
    pub congested: bool,
}

impl Waiting {
    /// The last moment at which the packet is of use to its owner.
    #[must_use]
    pub fn expires(&self) -> Option<Instant> {
        Some(self.since.saturating_add(self.frame.class.lifetime?))
    }
}

impl DropTail {
    /// An empty queue.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self { waiting: VecDeque::new(), bytes: 0, limits }
    }

    /// Takes a packet at the tail, or gives it back if the queue is full.
    #[must_use]
    pub fn push(&mut self, now: Instant, frame: Frame) -> Option<Frame> {
        let bytes = self.bytes.saturating_add(frame.payload.len());
        if self.waiting.len() >= self.limits.packets || bytes > self.limits.bytes {
            return Some(frame);
        }
        self.bytes = bytes;
        let congested = self.waiting.len() >= self.limits.mark;
        self.waiting.push_back(Waiting { since: now, frame, congested });
        None
    }

    /// Gives the packet at the head.
    pub fn pop(&mut self) -> Option<Waiting> {
        let waiting = self.waiting.pop_front()?;
        self.bytes -= waiting.frame.payload.len();
        Some(waiting)
    }

    /// Returns the number of packets that wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Returns `true` if no packet waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Bytes of the packets waiting.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

#[cfg(test)]
mod tests;
