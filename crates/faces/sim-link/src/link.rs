//! The link: packets in at their times, deliveries out at theirs.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;
use windfall_base::{Frame, Input, Instant, Node as _, Port, RxVector};
use windfall_network::Network;
use windfall_scenario::{Change, Scenario, ScenarioError, without_span};

use crate::error::SimError;

/// An end of the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SimEnd {
    /// The end that sends on the uplink.
    Near,
    /// The end that sends on the downlink.
    Far,
}

impl SimEnd {
    /// Returns the remote end.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Near => Self::Far,
            Self::Far => Self::Near,
        }
    }
}

/// A packet that has arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SimDelivery {
    /// The time at which it arrived, from the start of the link.
    pub at: Duration,
    /// The end at which it arrived.
    pub to: SimEnd,
    /// Its bytes; marks of ECN stand in its header.
    pub packet: Bytes,
    /// Set if a check of the link found it damaged: only with `accept-damaged`.
    pub damaged: bool,
}

/// The fates of the packets that one end has sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SimCounts {
    /// Packets that were sent.
    pub sent: u64,
    /// Packets that arrived, each counted once.
    pub delivered: u64,
    /// Packets of those that arrived damaged.
    pub damaged: u64,
    /// Packets that the queue, or the link in place of losing them, marked (ECN).
    pub marked: u64,
    /// Packets that were dropped, by reason; reasons that dropped none are left out.
    pub dropped: Vec<(&'static str, u64)>,
    /// Packets on their way.
    pub in_flight: u64,
}

/// A link in simulated time. It never reads a clock: `now`, counted from its start, comes with each
/// call and does not go back.
#[derive(Debug)]
pub struct SimLink {
    scenario: Scenario,
    network: Network,
    now: Instant,
    /// The time of the last change.
    changed: Instant,
    deliveries: VecDeque<SimDelivery>,
}

impl SimLink {
    pub(crate) fn new(scenario: Scenario) -> Result<Self, SimError> {
        scenario.check().map_err(of_scenario)?;
        let topology = scenario.topology(0, ("", ""), &mut read).map_err(of_scenario)?;
        let network = Network::build(&topology.network, scenario.seed())
            .map_err(|error| SimError::Setting(error.to_string()))?;
        let deliveries = VecDeque::new();
        let now = Instant::START;
        let changed = Instant::START;
        Ok(Self { scenario, network, now, changed, deliveries })
    }

    /// Sends an IP packet from one end at `now`.
    ///
    /// # Errors
    /// If it is longer than the MTU.
    pub fn send(
        &mut self,
        now: Duration,
        from: SimEnd,
        packet: impl Into<Bytes>,
    ) -> Result<(), SimError> {
        let packet = packet.into();
        let mtu = self.scenario.links[0].mtu();
        if packet.len() > usize::from(mtu) {
            return Err(SimError::TooLong { len: packet.len(), mtu });
        }
        self.advance(now);
        let input = Input::Frame(Frame::packet(packet), RxVector::wired(self.now));
        self.network.handle_input(self.now, Port(from as u16), input);
        self.drain();
        Ok(())
    }

    /// Returns the next packet that has arrived by `now`; call until `None`.
    pub fn poll_delivery(&mut self, now: Duration) -> Option<SimDelivery> {
        self.advance(now);
        self.deliveries.pop_front()
    }

    /// Returns when to ask for deliveries next; `None` if nothing is on its way.
    ///
    /// Something happens in the link then, not always a delivery.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Duration> {
        match self.deliveries.front() {
            Some(delivery) => Some(delivery.at),
            None => self.network.next_event().map(of_instant),
        }
    }

    /// Changes the link from `now` on, whole or not at all: `rate 1Mbps, uplink loss 5%, over 2s`.
    ///
    /// # Errors
    /// If a setting makes no sense or cannot change.
    pub fn set(&mut self, now: Duration, change: &str) -> Result<(), SimError> {
        self.advance(now);
        // Two changes at one instant would not be told apart.
        let at = self.now.max(self.changed + windfall_base::Duration::from_nanos(1));
        let parsed = format!("0s: {change}").parse::<Change>();
        let change = parsed.map_err(|error| SimError::Setting(error.to_string()))?;
        let change = Change { at: without_span(at - Instant::START), ..change };
        let mut present = self.scenario.clone();
        present.settle(at - Instant::START);
        present.changes.push(change.clone());
        present.check().map_err(of_scenario)?;
        let (link, medium) = present.changed_medium(&change, &mut read).map_err(of_scenario)?;
        if !self.network.change_link(at, link, &medium) {
            return Err(SimError::Setting("this link cannot change while it runs".to_owned()));
        }
        (self.scenario, self.changed) = (present, at);
        self.drain();
        Ok(())
    }

    /// Returns the fates of the packets that an end has sent.
    #[must_use]
    pub fn counts(&self, from: SimEnd) -> SimCounts {
        let Some(interface) = self.network.interface_at(Port(from as u16)) else {
            return SimCounts::default();
        };
        let ledger = self.network.ledger(interface);
        let dropped = ledger.drops.iter();
        SimCounts {
            sent: ledger.entered,
            delivered: ledger.delivered,
            damaged: ledger.damaged,
            marked: ledger.packets.marked,
            dropped: dropped.map(|(reason, packets)| (reason.name(), packets)).collect(),
            in_flight: ledger.in_flight(),
        }
    }

    /// Returns the scenario with the changes so far, as the text of a file for `windfall sim`.
    #[must_use]
    pub fn scenario(&self) -> String {
        self.scenario.to_toml()
    }

    /// Does everything that happens up to `now`.
    fn advance(&mut self, now: Duration) {
        let now = Instant::from_nanos(u64::try_from(now.as_nanos()).unwrap_or(u64::MAX));
        while let Some(at) = self.network.next_event().filter(|at| *at <= now) {
            // A stalled network is due for ever; its watchdog ends the instant.
            if self.network.stall().is_some() {
                break;
            }
            self.now = self.now.max(at);
            self.network.handle_timeout(at);
            self.drain();
        }
        self.now = self.now.max(now);
    }

    fn drain(&mut self) {
        while let Some((port, outgoing)) = self.network.poll_transmit(self.now) {
            self.deliveries.push_back(SimDelivery {
                at: of_instant(self.now),
                to: if port.0 == 0 { SimEnd::Near } else { SimEnd::Far },
                damaged: outgoing.frame.damage.is_damaged(),
                packet: outgoing.frame.payload.to_bytes(),
            });
        }
    }
}

fn of_instant(at: Instant) -> Duration {
    Duration::from_nanos(at.as_nanos())
}

#[expect(clippy::needless_pass_by_value, reason = "it maps errors")]
fn of_scenario(error: ScenarioError) -> SimError {
    SimError::Setting(error.message().to_owned())
}

/// Reads a file that a setting names.
fn read(name: &str) -> std::io::Result<Vec<u8>> {
    std::fs::read(name)
}

#[cfg(test)]
mod tests;
