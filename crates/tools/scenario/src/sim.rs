//! Runs a network in simulated time: the clock jumps from one event to the next.

use std::io;

use windfall_base::{Instant, Node, Seed};
use windfall_network::{BuildError, Network, NetworkEvent};

use crate::Topology;

pub use windfall_network::Stall;

/// Steps of the network between two looks at whether the run is interrupted; some milliseconds.
const STEPS_UNASKED: u64 = 1 << 14;

/// A network in simulated time. Same topology and seed, same events.
#[derive(Debug)]
pub struct Simulation {
    network: Network,
    now: Instant,
    end: Instant,
}

impl Simulation {
    /// A simulation of `topology` that has not begun.
    ///
    /// # Errors
    /// If the network cannot be built.
    pub fn new(topology: &Topology, seed: Seed) -> Result<Self, BuildError> {
        Ok(Self {
            network: Network::build(&topology.with_hosts(), seed)?,
            now: Instant::START,
            end: Instant::START.saturating_add(topology.duration),
        })
    }

    /// The time to which the simulation has come.
    #[must_use]
    pub fn now(&self) -> Instant {
        self.now
    }

    /// The time at which the scenario ends.
    #[must_use]
    pub fn end(&self) -> Instant {
        self.end
    }

    /// Returns the simulated network.
    #[must_use]
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// Returns the simulated network, to choose what it records.
    pub fn network_mut(&mut self) -> &mut Network {
        &mut self.network
    }

    /// Runs until `until`, or until the end of the scenario if that comes first.
    ///
    /// Everything that the network records goes to `observe`, in the order of time.
    ///
    /// # Errors
    /// What `observe` returns, after which the simulation can go on; a [`Stall`] if time does not
    /// advance, after which it cannot.
    pub fn run(
        &mut self,
        until: Instant,
        observe: &mut dyn FnMut(&NetworkEvent) -> io::Result<()>,
    ) -> io::Result<()> {
        self.run_unless(until, observe, &mut || false).map(|_| ())
    }

    /// Runs as [`run`](Self::run) does, but ends early once `interrupted` returns true, which it
    /// is asked now and then; returns whether it came to `until`.
    ///
    /// # Errors
    /// Those of [`run`](Self::run).
    pub fn run_unless(
        &mut self,
        until: Instant,
        observe: &mut dyn FnMut(&NetworkEvent) -> io::Result<()>,
        interrupted: &mut dyn FnMut() -> bool,
    ) -> io::Result<bool> {
        let until = until.min(self.end);
        let mut asked = self.network.steps();
        while let Some(at) = self.network.next_event()
            && at <= until
        {
            self.now = at;
            self.network.handle_timeout(at);
            // No program stands at the devices of stations without a host.
            while self.network.poll_transmit(at).is_some() {}
            while let Some(event) = self.network.poll_event() {
                observe(&event)?;
            }
            if let Some(stall) = self.network.stall() {
                return Err(io::Error::other(stall));
            }
            if self.network.steps() - asked >= STEPS_UNASKED {
                asked = self.network.steps();
                if interrupted() {
                    return Ok(false);
                }
            }
        }
        self.now = self.now.max(until);
        debug_assert!(self.balances(), "a packet has vanished without a reason");
        Ok(true)
    }

    /// Tells whether every packet that entered a link is accounted for.
    #[must_use]
    pub fn balances(&self) -> bool {
        let mut interfaces = self.network.interfaces();
        interfaces.all(|interface| self.network.ledger(interface).balances())
    }

    /// Runs to the end of the scenario without looking.
    ///
    /// # Panics
    /// If time does not advance.
    pub fn finish(&mut self) {
        if let Err(stall) = self.run(self.end, &mut |_| Ok(())) {
            // The observer does not fail.
            panic!("{stall}");
        }
    }
}
