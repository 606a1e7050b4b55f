//! The packets that wait for an 802.11 radio: in one queue, or in a queue for each flow and
//! station.

use std::collections::BTreeMap;

use windfall_base::{Duration, Frame, Instant, Tag};
use windfall_link::Pulled;
use windfall_mac::wifi::PacketOutcome;
use windfall_queue::{Discipline, Join, PacketQueue};
use windfall_wire_link::ieee80211::MacAddress;

use crate::interface::account::InterfaceAccount;
use crate::interface::flows::{Attempt, FlowAccount, QueueConfig, Queues, Ticket};

/// The queues of one radio.
#[derive(Debug)]
pub(super) enum StationQueues {
    /// Packets in the order of arrival.
    Fifo(PacketQueue),
    /// A queue for each flow, and for each station that best effort goes to.
    Scheduled(Box<Scheduled>),
}

/// Queues that a scheduler serves packet by packet.
///
/// The station makes all attempts at a packet before it asks for the next one; the effort of the
/// packet is the air time of them all.
#[derive(Debug)]
pub(super) struct Scheduled {
    queues: Queues,
    /// The numbers of the next hops; unset: all stations count as one.
    stations: Option<BTreeMap<MacAddress, usize>>,
    /// The packets that the station is sending, by their tags.
    open: BTreeMap<Option<Tag>, Ticket>,
}

impl StationQueues {
    /// Creates empty queues. `is_client` says that the radio sends everything to its access point.
    pub(super) fn new(config: &QueueConfig, is_client: bool) -> Self {
        if config.discipline == Discipline::FIFO && config.flows.is_empty() {
            return Self::Fifo(config.queue(0));
        }
        Self::Scheduled(Box::new(Scheduled {
            queues: Queues::new(config, 0),
            stations: (!is_client).then(BTreeMap::new),
            open: BTreeMap::new(),
        }))
    }

    /// Enqueues a packet whose next hop is `to`, unless its queue drops it.
    pub(super) fn push(&mut self, now: Instant, to: MacAddress, frame: Frame) -> Join {
        match self {
            Self::Fifo(queue) => queue.push(now, frame),
            Self::Scheduled(scheduled) => {
                let station = scheduled.number_of(to);
                scheduled.queues.push(now, station, frame)
            }
        }
    }

    /// Dequeues the next packet that can still arrive in time.
    pub(super) fn pull(&mut self, now: Instant, account: &mut InterfaceAccount) -> Option<Pulled> {
        match self {
            // The minimum air time is unknown before the station has chosen a rate.
            Self::Fifo(queue) => account.pull(now, |_| Duration::ZERO, queue),
            Self::Scheduled(scheduled) => scheduled.pull(now, account),
        }
    }

    /// Charges the flow of a packet that the station is done with.
    pub(super) fn finish(&mut self, now: Instant, outcome: PacketOutcome) {
        let Self::Scheduled(scheduled) = self else { return };
        let Some(ticket) = scheduled.open.remove(&outcome.tag) else { return };
        let brings = outcome.arrived.then_some(outcome.ideal);
        let attempt = Attempt { count: outcome.attempts, spent: outcome.spent, brings };
        scheduled.queues.charge(now, ticket, attempt);
        if outcome.outcome_unknown {
            scheduled.queues.presume(ticket, outcome.ideal);
        } else if outcome.arrived {
            scheduled.queues.credit(ticket, outcome.ideal);
        } else {
            scheduled.queues.give_up(ticket);
        }
    }

    /// Forgets a packet that was dropped before any attempt.
    pub(super) fn forget(&mut self, tag: Option<Tag>) {
        if let Self::Scheduled(scheduled) = self {
            scheduled.open.remove(&tag);
        }
    }

    /// Returns the number of packets that wait.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Fifo(queue) => queue.len(),
            Self::Scheduled(scheduled) => scheduled.queues.len(),
        }
    }

    /// Returns the bytes of the packets that wait.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Fifo(queue) => queue.bytes(),
            Self::Scheduled(scheduled) => scheduled.queues.bytes(),
        }
    }

    /// Returns the service that each flow has had, best effort first; nothing without a scheduler.
    pub(super) fn accounts(&self) -> Vec<FlowAccount> {
        match self {
            Self::Fifo(_) => Vec::new(),
            Self::Scheduled(scheduled) => scheduled.queues.accounts(),
        }
    }
}

impl Scheduled {
    fn number_of(&mut self, to: MacAddress) -> usize {
        let Some(stations) = &mut self.stations else { return 0 };
        let next = stations.len();
        *stations.entry(to).or_insert(next)
    }

    fn pull(&mut self, now: Instant, account: &mut InterfaceAccount) -> Option<Pulled> {
        loop {
            let station = self.queues.preferred()?;
            // If all packets of the chosen flow have expired, another flow is chosen.
            let least = |_| Duration::ZERO;
            let Some((ticket, pulled)) = self.queues.pull(now, station, least, account) else {
                continue;
            };
            self.queues.done(ticket);
            self.open.insert(pulled.frame.tag, ticket);
            return Some(pulled);
        }
    }
}

#[cfg(test)]
mod tests;
