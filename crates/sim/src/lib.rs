//! Runs a network in simulated time: the clock jumps from one event to the next.

use std::io;

use windfall_base::{Instant, Node, Seed};
use windfall_network::{BuildError, Event, Network};
use windfall_scenario::Topology;

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

    /// The network.
    #[must_use]
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// The network, to choose what it records.
    pub fn network_mut(&mut self) -> &mut Network {
        &mut self.network
    }

    /// Runs until `until`, or until the end of the scenario if that comes first.
    ///
    /// Everything that the network records goes to `observe`, in the order of time.
    ///
    /// # Errors
    /// What `observe` returns; the simulation can go on after it.
    pub fn run(
        &mut self,
        until: Instant,
        observe: &mut dyn FnMut(&Event) -> io::Result<()>,
    ) -> io::Result<()> {
        let until = until.min(self.end);
        while let Some(at) = self.network.next_event()
            && at <= until
        {
            self.now = at;
            self.network.handle_timeout(at);
            // Nobody stands at the devices of stations without a host.
            while self.network.poll_transmit(at).is_some() {}
            while let Some(event) = self.network.poll_event() {
                observe(&event)?;
            }
        }
        self.now = self.now.max(until);
        debug_assert!(self.balances(), "a packet has vanished without a reason");
        Ok(())
    }

    /// Whether every packet that entered a link is accounted for.
    #[must_use]
    pub fn balances(&self) -> bool {
        let mut interfaces = self.network.interfaces();
        interfaces.all(|interface| self.network.ledger(interface).balances())
    }

    /// Runs to the end of the scenario without looking.
    pub fn finish(&mut self) {
        // Only the observer can fail.
        let _ = self.run(self.end, &mut |_| Ok(()));
    }
}
