//! The processor of a host: packets wait until it has done the work before them.

use std::collections::VecDeque;

use windfall_base::{Duration, Frame, Instant, Ledger, Rate};
use windfall_energy::processor::{Processor, System};
use windfall_tcp::Operations;

/// The bits of a full segment, by which the speed of a processor is known.
const FULL_SEGMENT_BITS: f64 = 1_500.0 * 8.0;

/// A processor whose work takes time.
///
/// The work is that of the host's TCP: each packet takes as long as the steps that it causes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProcessorConfig {
    /// The time that each step of TCP takes, in seconds.
    pub steps: Processor,
    /// The system's way with interrupts and copies.
    pub system: System,
    /// The number of received packets that may wait for the processor; more are dropped.
    pub backlog: usize,
}

impl ProcessorConfig {
    /// The packets that may wait, unless a configuration says otherwise: as in Linux 2.2
    /// (`netdev_max_backlog`).
    pub const BACKLOG: usize = 300;

    //= S2.13
    /// Creates a processor that takes full segments of 1500 bytes at `speed`, if it does nothing
    /// else. `costs` are the steps among each other, in any unit.
    #[must_use]
    pub fn with_speed(speed: Rate, costs: Processor, system: System) -> Self {
        let seconds = FULL_SEGMENT_BITS / speed.as_bps() as f64;
        let steps = costs.times(seconds / costs.full_segment());
        Self { steps, system, backlog: Self::BACKLOG }
    }
}

/// The work of a host's processor, in the order of its queue.
#[derive(Debug)]
pub(super) struct WorkQueue {
    config: ProcessorConfig,
    /// Received packets that wait for the processor, with the interface of each.
    received: VecDeque<(usize, Frame)>,
    /// Packets that leave at the end of the work on them, with the interface of each.
    leaving: VecDeque<(Instant, usize, Frame)>,
    /// The end of the work that has begun.
    free_at: Instant,
    /// The steps whose work has begun.
    begun: Operations,
}

impl WorkQueue {
    pub(super) fn new(config: ProcessorConfig) -> Self {
        Self {
            config,
            received: VecDeque::new(),
            leaving: VecDeque::new(),
            free_at: Instant::START,
            begun: Operations::default(),
        }
    }

    /// Takes a received packet; returns it if too many wait already.
    pub(super) fn push_received(&mut self, interface: usize, frame: Frame) -> Result<(), Frame> {
        if self.received.len() >= self.config.backlog {
            return Err(frame);
        }
        self.received.push_back((interface, frame));
        Ok(())
    }

    /// Returns the received packet that is next.
    pub(super) fn pop_received(&mut self) -> Option<(usize, Frame)> {
        self.received.pop_front()
    }

    pub(super) fn is_busy(&self, now: Instant) -> bool {
        now < self.free_at
    }

    /// Begins the work of the steps that TCP has taken since the last call.
    pub(super) fn begin_work(&mut self, now: Instant, steps: Operations) {
        let new = steps.since(&self.begun);
        self.begun = steps;
        let ProcessorConfig { steps, system, .. } = &self.config;
        let seconds = steps.cost(&new, system).total();
        self.free_at = self.free_at.max(now) + Duration::from_secs_f64(seconds);
    }

    /// Takes a packet that leaves at the end of the work that has begun.
    pub(super) fn push_leaving(&mut self, interface: usize, frame: Frame) {
        self.leaving.push_back((self.free_at, interface, frame));
    }

    /// Returns the next packet whose work is done.
    pub(super) fn pop_leaving(&mut self, now: Instant) -> Option<(usize, Frame)> {
        if self.leaving.front().is_none_or(|(at, ..)| now < *at) {
            return None;
        }
        let (_, interface, frame) = self.leaving.pop_front()?;
        Some((interface, frame))
    }

    /// Returns the time of the next packet to leave or of the next work to begin; `has_segments` if
    /// TCP has something to send.
    pub(super) fn poll_timeout(&self, has_segments: bool) -> Option<Instant> {
        let leaves_at = self.leaving.front().map(|(at, ..)| *at);
        let has_work = has_segments || !self.received.is_empty();
        let begins_at = has_work.then_some(self.free_at);
        leaves_at.into_iter().chain(begins_at).min()
    }

    /// Returns the end of the work that has begun.
    pub(super) const fn free_at(&self) -> Instant {
        self.free_at
    }

    /// Enters the packets that it holds into the account of its host.
    pub(super) fn enter_held(&self, ledger: &mut Ledger) {
        let received = self.received.len() as u64;
        let leaving = self.leaving.len() as u64;
        ledger.taken += received;
        ledger.given -= leaving;
        ledger.held += received + leaving;
    }
}
