//! A polled medium below an interface: the MAC grants air time, which the exchange with each peer
//! and the queues use.

use std::collections::VecDeque;

use ipnet::IpNet;
use windfall_base::{
    DropReason, Duration, Frame, Input, Instant, Outgoing, PacketEventKind, Payload, Rate,
};
use windfall_link::{Arrival, Exchange, Framing};
use windfall_mac::wavelan::{Coordinator, Idle, Responder, WavelanTiming};
use windfall_mac::{Address, Client, Feedback};

use super::account::InterfaceAccount;
use super::classify::destination;
use super::flows::{Attempt, FlowAccount, QueueConfig, Queues, Ticket};
use super::link::Link;

/// One station on a polled medium such as the WaveLAN of S3.2.
#[derive(Clone, Debug)]
pub struct WavelanConfig {
    /// The station's own address.
    pub address: Address,
    /// The role of the station: it polls or answers.
    pub role: WavelanRole,
    /// The framing and the retransmission of packets.
    pub framing: Framing,
    /// The times that frames take.
    pub timing: WavelanTiming,
    /// The rate of frames.
    pub rate: Rate,
}

/// A station's part in the polling.
#[derive(Clone, Debug)]
pub enum WavelanRole {
    /// The coordinator: it polls the others, and is the next hop between their networks.
    Coordinator {
        /// The stations, in the order of polling. The first is the default next hop.
        members: Vec<WavelanPeer>,
        /// The policy for polling stations without traffic.
        idle: Idle,
    },
    /// A polled station: it sends everything to the coordinator.
    Station {
        /// The address of the station that polls.
        coordinator: Address,
    },
}

/// A station as its coordinator knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WavelanPeer {
    /// The address of the peer.
    pub address: Address,
    /// The IP addresses that are reached through it.
    pub behind: Vec<IpNet>,
}

#[derive(Debug)]
pub(super) struct WavelanLink {
    mac: Mac,
    above: Above,
}

#[derive(Debug)]
enum Mac {
    Coordinator(Coordinator),
    Responder(Responder),
}

/// The link as the MAC's client sees it.
#[derive(Debug)]
struct Above {
    peers: Vec<Peer>,
    queues: Queues,
    timing: WavelanTiming,
    rate: Rate,
    /// The time of transmission of the unit whose outcome is unknown.
    since: Option<Instant>,
    deliveries: VecDeque<Frame>,
}

#[derive(Debug)]
struct Peer {
    address: Address,
    behind: Vec<IpNet>,
    link: Exchange,
    /// The packet that the link is sending.
    current: Option<Current>,
}

/// A packet that a link is sending.
#[derive(Clone, Copy, Debug)]
struct Current {
    ticket: Ticket,
    /// The packet is known to be damaged, so no receiver acknowledges it.
    is_damaged: bool,
}

impl WavelanLink {
    pub(super) fn new(config: WavelanConfig, queues: &QueueConfig) -> Self {
        let WavelanConfig { address, role, framing, timing, rate } = config;
        let peer = |WavelanPeer { address, behind }| {
            let mut link = Exchange::new(framing.clone());
            link.set_passage(timing.passage(rate));
            Peer { address, behind, link, current: None }
        };
        let (mac, peers): (_, Vec<Peer>) = match role {
            WavelanRole::Coordinator { members, idle } => {
                let addresses: Vec<_> = members.iter().map(|member| member.address).collect();
                let mac = Coordinator::new(address, &addresses, timing, idle);
                (Mac::Coordinator(mac), members.into_iter().map(peer).collect())
            }
            WavelanRole::Station { coordinator } => {
                let mac = Responder::new(address, coordinator, timing);
                let member = WavelanPeer { address: coordinator, behind: Vec::new() };
                (Mac::Responder(mac), vec![peer(member)])
            }
        };
        let queues = Queues::new(queues, peers.len());
        let deliveries = VecDeque::new();
        Self { mac, above: Above { peers, queues, timing, rate, since: None, deliveries } }
    }
}

impl Link for WavelanLink {
    fn take_packet(
        &mut self,
        now: Instant,
        frame: Frame,
        account: &mut InterfaceAccount,
    ) -> Result<usize, DropReason> {
        let index = self.above.peer_for(&frame.payload);
        if index >= self.above.peers.len() {
            return Err(DropReason::NoRoute);
        }
        account.record_enqueue(self.above.queues.push(now, index, frame))?;
        Ok(self.above.queues.len())
    }

    fn handle_queued(&mut self, now: Instant, account: &mut InterfaceAccount) {
        if let Mac::Coordinator(mac) = &mut self.mac {
            mac.handle_queued(now, &mut With { above: &mut self.above, account });
        }
    }

    fn handle_input(&mut self, now: Instant, input: Input, account: &mut InterfaceAccount) {
        let control = matches!(&input, Input::Frame(frame, _) if frame.payload.is_empty());
        account.counters.control_received += u64::from(control);
        let client = &mut With { above: &mut self.above, account };
        match &mut self.mac {
            Mac::Coordinator(mac) => mac.handle_input(now, input, client),
            Mac::Responder(mac) => mac.handle_input(now, input, client),
        }
    }

    fn handle_timeout(&mut self, now: Instant, account: &mut InterfaceAccount) {
        if let Mac::Coordinator(mac) = &mut self.mac {
            mac.handle_timeout(now, &mut With { above: &mut self.above, account });
        }
    }

    fn poll_delivery(&mut self, _account: &mut InterfaceAccount) -> Option<Frame> {
        self.above.deliveries.pop_front()
    }

    fn poll_transmit(&mut self, now: Instant, account: &mut InterfaceAccount) -> Option<Outgoing> {
        let outgoing = match &mut self.mac {
            Mac::Coordinator(mac) => mac.poll_transmit(),
            Mac::Responder(mac) => mac.poll_transmit(),
        }?;
        let is_control = outgoing.frame.payload.is_empty();
        account.counters.bytes_sent += outgoing.frame.len() as u64;
        account.counters.control_sent += u64::from(is_control);
        if !is_control {
            self.above.since = Some(now);
        }
        Some(outgoing)
    }

    fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        match &self.mac {
            Mac::Coordinator(mac) => mac.poll_timeout(),
            Mac::Responder(_) => None,
        }
    }

    fn held(&self) -> usize {
        let links: usize = self.above.peers.iter().map(|peer| peer.link.held()).sum();
        links + self.above.queues.len() + self.above.deliveries.len()
    }

    fn queue_len(&self) -> (usize, usize) {
        (self.above.queues.len(), self.above.queues.bytes())
    }

    fn flows(&self) -> Vec<FlowAccount> {
        self.above.queues.accounts()
    }
}

impl Above {
    /// Returns the next hop of a packet: by the longest prefix, and the first peer among equals.
    fn peer_for(&self, packet: &Payload) -> usize {
        if self.peers.len() < 2 {
            return 0;
        }
        let Some(to) = destination(packet) else { return 0 };
        let longest = |peer: &Peer| {
            let blocks = peer.behind.iter().filter(|block| block.contains(&to));
            blocks.map(|block| block.prefix_len() + 1).max().unwrap_or(0)
        };
        let peers = self.peers.iter().enumerate().rev();
        peers.max_by_key(|(_, peer)| longest(peer)).map_or(0, |(index, _)| index)
    }

    fn find(&self, address: Address) -> Option<usize> {
        self.peers.iter().position(|peer| peer.address == address)
    }
}

/// The client of the MAC for the length of one call.
struct With<'a> {
    above: &'a mut Above,
    account: &'a mut InterfaceAccount,
}

impl Client for With<'_> {
    fn has_unit(&self, peer: Address) -> bool {
        let Above { peers, queues, .. } = &*self.above;
        self.above
            .find(peer)
            .is_some_and(|index| peers[index].link.has_unit() || queues.has_packets(index))
    }

    fn preferred(&mut self) -> Option<Address> {
        let index = self.above.queues.preferred()?;
        self.above.peers.get(index).map(|peer| peer.address)
    }

    fn on_opportunity(&mut self, now: Instant, peer: Address, ahead: usize) -> Option<Frame> {
        let index = self.above.find(peer)?;
        let Above { peers, queues, timing, rate, since, .. } = &mut *self.above;
        let Peer { link, current, .. } = &mut peers[index];
        let account = &mut *self.account;
        let wait = if ahead > 0 { timing.time_of(*rate, ahead) } else { Duration::ZERO };
        let unit = link.next_unit(now + wait, || {
            // A link that asks for a packet has none.
            current.take().into_iter().for_each(|it| queues.done(it.ticket));
            let (ticket, pulled) = queues.pull(now, index, |_| Duration::ZERO, account)?;
            *current = Some(Current { ticket, is_damaged: pulled.frame.damage.is_damaged() });
            Some(pulled)
        });
        *since = None;
        collect(link, account);
        unit
    }

    fn on_unit(&mut self, now: Instant, peer: Address, unit: Frame) -> Option<Feedback> {
        let Some(index) = self.above.find(peer) else {
            self.on_useless(now, unit, DropReason::NotForUs);
            return None;
        };
        let Above { peers, deliveries, .. } = &mut *self.above;
        let link = &mut peers[index].link;
        let (arrival, feedback) = link.take_unit(unit);
        match arrival {
            Arrival::Packet => self.account.arrived(),
            Arrival::More => self.account.counters.from_medium += 1,
            Arrival::Control => self.account.counters.control_received += 1,
        }
        collect(link, self.account);
        deliveries.extend(core::iter::from_fn(|| link.poll_delivery()));
        feedback
    }

    fn on_outcome(&mut self, now: Instant, peer: Address, feedback: Option<&Feedback>) {
        let Some(index) = self.above.find(peer) else { return };
        let Above { peers, queues, timing, rate, since, .. } = &mut *self.above;
        let Peer { link, current, .. } = &mut peers[index];
        let was_kept = link.has_unit();
        link.take_outcome(feedback);
        let acknowledged = collect(link, self.account);
        let Some(Current { ticket, is_damaged }) = *current else { return };
        let spent = since.take().map_or(Duration::ZERO, |since| now.saturating_since(since));
        // If the link does not keep the packet, only the ACK shows the outcome.
        let arrived = acknowledged || (!was_kept && feedback.is_some());
        let is_over = !link.has_unit();
        let outcome_unknown = is_damaged && is_over && !arrived;
        let ideal = timing.exchange(*rate, ticket.len);
        let brings = (arrived || outcome_unknown).then_some(ideal);
        queues.charge(now, ticket, Attempt { count: 1, spent, brings });
        if outcome_unknown {
            queues.presume(ticket, ideal);
        } else if arrived {
            queues.credit(ticket, ideal);
        } else if is_over {
            queues.give_up(ticket);
        }
        if is_over {
            *current = None;
            queues.done(ticket);
        }
    }

    fn on_useless(&mut self, _now: Instant, frame: Frame, reason: DropReason) {
        self.account.arrived();
        self.account.discarded(frame.tag, frame.kept, reason, frame.payload.len());
    }
}

/// Records the events of a link, and returns whether a packet was acknowledged.
fn collect(link: &mut Exchange, account: &mut InterfaceAccount) -> bool {
    let mut acknowledged = false;
    while let Some(event) = link.poll_event() {
        acknowledged |= event.kind == PacketEventKind::Acknowledged;
        account.record(event);
    }
    acknowledged
}

#[cfg(test)]
mod tests;
