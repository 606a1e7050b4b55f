//! The tunnel from a base station to the machine in which the line ends.

use windfall_base::{Duration, Frame, Instant};
use windfall_circuit::rlp::{BlockTunnel, SLOT};

use super::GsmTunnel;

/// Blocks between the two clocks, and the clock of the machine.
#[derive(Debug)]
pub(super) struct Tunnel {
    /// To the machine.
    pub(super) up: BlockTunnel<Frame>,
    /// To the base station.
    pub(super) down: BlockTunnel<Frame>,
    slot: Duration,
    next: Instant,
    /// The time that a block waits in each direction.
    depth: Duration,
}

impl Tunnel {
    pub(super) fn new(config: GsmTunnel) -> Self {
        let nanos = SLOT.as_nanos() as i64;
        let slot = nanos + nanos * i64::from(config.skew) / 1_000_000;
        let tunnel = || BlockTunnel::new(config.depth.into());
        let slot = Duration::from_nanos(slot.max(1) as u64);
        let depth = slot * u64::from(config.depth);
        Self { up: tunnel(), down: tunnel(), slot, next: Instant::START + slot, depth }
    }

    /// Returns the time that a block waits in the tunnel.
    pub(super) const fn depth(&self) -> Duration {
        self.depth
    }

    /// Begins the next slot of the machine if its time has come.
    pub(super) fn begins_slot(&mut self, now: Instant) -> bool {
        if now < self.next {
            return false;
        }
        // A machine that was kept from its slots leaves them out.
        let late = now.saturating_since(self.next) > self.slot;
        self.next = if late { now } else { self.next } + self.slot;
        true
    }

    /// The time at which the next slot begins.
    pub(super) fn next_slot(&self) -> Instant {
        self.next
    }
}
