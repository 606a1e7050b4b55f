//! A polled medium below an interface: the MAC owns the air time, one exchange and one
//! queue for each peer fill it.

use std::collections::VecDeque;

use windfall_base::{DropReason, Frame, Input, Instant, Outgoing, Payload};
use windfall_link::{Arrival, Exchange, Framing};
use windfall_mac::poll::{Coordinator, Idle, Responder, Timing};
use windfall_mac::{Address, Client, Feedback};
use windfall_queue::Limits;

use super::account::Account;
use super::classify::{Block, destination};
use super::flows::{FlowAccount, Queues, ScheduledFlow};

/// One station on a polled medium such as the WaveLAN of S3.2.
#[derive(Clone, Debug)]
pub struct PolledConfig {
    /// The station's own address.
    pub address: Address,
    /// Whether it polls or answers.
    pub role: Role,
    /// How it frames and repeats packets.
    pub framing: Framing,
    /// What frames cost.
    pub timing: Timing,
}

/// A station's part in the polling.
#[derive(Clone, Debug)]
pub enum Role {
    /// It polls the others, and sends to each what belongs behind it.
    Coordinator {
        /// The stations, in the order of polling. A packet that is behind none goes to the first.
        members: Vec<Member>,
        /// How often silent ones are polled.
        idle: Idle,
    },
    /// It answers, and sends everything to the coordinator.
    Station {
        /// Who polls.
        coordinator: Address,
    },
}

/// A station as its coordinator knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its address.
    pub address: Address,
    /// The IP addresses that are reached through it.
    pub behind: Vec<Block>,
}

#[derive(Debug)]
pub(super) struct Polled {
    mac: Mac,
    above: Above,
}

#[derive(Debug)]
enum Mac {
    Coordinator(Coordinator),
    Responder(Responder),
}

/// What the MAC knows as its client.
#[derive(Debug)]
struct Above {
    peers: Vec<Peer>,
    deliveries: VecDeque<Frame>,
}

#[derive(Debug)]
struct Peer {
    address: Address,
    behind: Vec<Block>,
    queue: Queues,
    link: Exchange,
}

impl Polled {
    pub(super) fn new(config: PolledConfig, limits: Limits, flows: &[ScheduledFlow]) -> Self {
        let PolledConfig { address, role, framing, timing } = config;
        let peer = |Member { address, behind }| Peer {
            address,
            behind,
            queue: Queues::new(limits, flows),
            link: Exchange::new(framing),
        };
        let (mac, peers) = match role {
            Role::Coordinator { members, idle } => {
                let addresses: Vec<_> = members.iter().map(|member| member.address).collect();
                let mac = Coordinator::new(address, &addresses, timing, idle);
                (Mac::Coordinator(mac), members.into_iter().map(peer).collect())
            }
            Role::Station { coordinator } => {
                let mac = Responder::new(address, coordinator, timing);
                let member = Member { address: coordinator, behind: Vec::new() };
                (Mac::Responder(mac), vec![peer(member)])
            }
        };
        Self { mac, above: Above { peers, deliveries: VecDeque::new() } }
    }

    /// Takes a packet into the queue of the peer it goes through, or says why not.
    /// Gives the packets that wait in that queue with it.
    pub(super) fn take_packet(&mut self, now: Instant, frame: Frame) -> Result<usize, DropReason> {
        let index = self.above.peer_for(&frame.payload);
        let Some(peer) = self.above.peers.get_mut(index) else { return Err(DropReason::NoRoute) };
        match peer.queue.push(now, frame) {
            None => Ok(peer.queue.len()),
            Some(_) => Err(DropReason::QueueFull),
        }
    }

    /// Lets the MAC know of a packet that was taken.
    pub(super) fn handle_queued(&mut self, now: Instant, account: &mut Account) {
        if let Mac::Coordinator(mac) = &mut self.mac {
            mac.handle_queued(now, &mut With { above: &mut self.above, account });
        }
    }

    pub(super) fn handle_input(&mut self, now: Instant, input: Input, account: &mut Account) {
        let control = matches!(&input, Input::Frame(frame, _) if frame.payload.is_empty());
        account.counters.control_received += u64::from(control);
        let client = &mut With { above: &mut self.above, account };
        match &mut self.mac {
            Mac::Coordinator(mac) => mac.handle_input(now, input, client),
            Mac::Responder(mac) => mac.handle_input(now, input, client),
        }
    }

    pub(super) fn handle_timeout(&mut self, now: Instant, account: &mut Account) {
        if let Mac::Coordinator(mac) = &mut self.mac {
            mac.handle_timeout(now, &mut With { above: &mut self.above, account });
        }
    }

    pub(super) fn poll_delivery(&mut self) -> Option<Frame> {
        self.above.deliveries.pop_front()
    }

    pub(super) fn poll_transmit(&mut self, account: &mut Account) -> Option<Outgoing> {
        let outgoing = match &mut self.mac {
            Mac::Coordinator(mac) => mac.poll_transmit(),
            Mac::Responder(mac) => mac.poll_transmit(),
        }?;
        account.counters.bytes_sent += outgoing.frame.len() as u64;
        account.counters.control_sent += u64::from(outgoing.frame.payload.is_empty());
        Some(outgoing)
    }

    pub(super) fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        match &self.mac {
            Mac::Coordinator(mac) => mac.poll_timeout(),
            Mac::Responder(_) => None,
        }
    }

    pub(super) fn held(&self) -> usize {
        let peers = self.above.peers.iter();
        let held: usize = peers.map(|peer| peer.queue.len() + peer.link.held()).sum();
        held + self.above.deliveries.len()
    }

    /// Packets in all queues, and their bytes.
    pub(super) fn queue_len(&self) -> (usize, usize) {
        let queues = self.above.peers.iter().map(|peer| &peer.queue);
        queues
            .fold((0, 0), |(packets, bytes), queue| (packets + queue.len(), bytes + queue.bytes()))
    }

    /// What the flows of all peers have had, peer by peer.
    pub(super) fn accounts(&self) -> impl Iterator<Item = FlowAccount> + '_ {
        self.above.peers.iter().flat_map(|peer| peer.queue.accounts())
    }
}

impl Above {
    /// The peer through which a packet reaches its destination: by the longest prefix, the first of
    /// several.
    fn peer_for(&self, packet: &Payload) -> usize {
        if self.peers.len() < 2 {
            return 0;
        }
        let Some(to) = destination(packet) else { return 0 };
        let longest = |peer: &Peer| {
            let blocks = peer.behind.iter().filter(|block| block.contains(to));
            blocks.map(|block| block.bits + 1).max().unwrap_or(0)
        };
        let peers = self.peers.iter().enumerate().rev();
        peers.max_by_key(|(_, peer)| longest(peer)).map_or(0, |(index, _)| index)
    }

    fn peer(&mut self, address: Address) -> Option<&mut Peer> {
        self.peers.iter_mut().find(|peer| peer.address == address)
    }
}

/// The client of the MAC for the length of one call.
struct With<'a> {
    above: &'a mut Above,
    account: &'a mut Account,
}

impl Client for With<'_> {
    fn has_unit(&self, peer: Address) -> bool {
        let peer = self.above.peers.iter().find(|candidate| candidate.address == peer);
        peer.is_some_and(|peer| peer.link.has_unit() || !peer.queue.is_empty())
    }

    fn on_opportunity(&mut self, now: Instant, peer: Address) -> Option<Frame> {
        let Self { above, account } = self;
        let Peer { queue, link, .. } = above.peer(peer)?;
        let unit = link.next_unit(now, || account.pull(now, || queue.pop()));
        collect(now, link, queue, account);
        unit
    }

    fn on_unit(&mut self, now: Instant, peer: Address, unit: Frame) -> Option<Feedback> {
        let Above { peers, deliveries } = &mut *self.above;
        let Some(Peer { link, queue, .. }) = peers.iter_mut().find(|known| known.address == peer)
        else {
            self.on_useless(now, unit, DropReason::NotForUs);
            return None;
        };
        let (arrival, feedback) = link.take_unit(unit);
        match arrival {
            Arrival::Packet => self.account.arrived(),
            Arrival::More => self.account.counters.from_medium += 1,
            Arrival::Control => self.account.counters.control_received += 1,
        }
        collect(now, link, queue, self.account);
        deliveries.extend(core::iter::from_fn(|| link.poll_delivery()));
        feedback
    }

    fn on_outcome(&mut self, now: Instant, peer: Address, feedback: Option<&Feedback>) {
        let Self { above, account } = self;
        if let Some(Peer { link, queue, .. }) = above.peer(peer) {
            link.take_outcome(feedback);
            collect(now, link, queue, account);
        }
    }

    fn on_useless(&mut self, now: Instant, frame: Frame, reason: DropReason) {
        self.account.arrived();
        self.account.dropped(now, frame.tag, frame.kept, reason, frame.payload.len());
    }
}

/// Takes down what a link has reported.
fn collect(now: Instant, link: &mut Exchange, queue: &mut Queues, account: &mut Account) {
    while let Some(event) = link.poll_event() {
        queue.note(&event);
        account.link(now, event);
    }
}

#[cfg(test)]
mod tests;
