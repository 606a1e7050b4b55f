//! An 802.11 radio below an interface: one queue, and a station that pulls from it.

use std::sync::Arc;

use ipnet::IpNet;
use windfall_base::{DropReason, Frame, Input, Instant, Outgoing, Payload, Seed, Signal};
use windfall_link::Event as LinkEvent;
use windfall_mac::dcf::radio::Airtime;
use windfall_mac::dcf::{Config, Dcf, Event, Packet};
use windfall_queue::{DropTail, Limits};
use windfall_wire_link::ieee80211::{MacAddress, snap};

use super::account::Account;
use super::classify::{destination, is_for_group};
use super::flows::FlowAccount;
use super::link::Link;
use crate::event::EventKind;

/// One station of an 802.11 network.
#[derive(Clone, Debug)]
pub struct WifiConfig {
    /// The station.
    pub mac: Config,
    /// The stations of the network, perhaps this one among them, and what is reached through them.
    /// A packet that is behind none goes to the first other one.
    pub neighbours: Arc<[Neighbour]>,
}

/// Another station of the network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Neighbour {
    /// Its address.
    pub address: MacAddress,
    /// The IP addresses that are reached through it.
    pub behind: Vec<IpNet>,
}

#[derive(Debug)]
pub(super) struct WifiLink {
    queue: DropTail,
    dcf: Dcf,
    neighbours: Arc<[Neighbour]>,
    /// The first station that is not this one.
    silent: Option<MacAddress>,
}

impl WifiLink {
    pub(super) fn new(config: WifiConfig, limits: Limits, seed: Seed, name: &str) -> Self {
        let WifiConfig { mac, neighbours } = config;
        let others = neighbours.iter().map(|neighbour| neighbour.address);
        let silent = others.clone().find(|other| *other != mac.address);
        Self { queue: DropTail::new(limits), dcf: Dcf::new(mac, seed, name), neighbours, silent }
    }

    /// The station, and the queue as the source of its packets.
    fn parts<'a>(
        &'a mut self,
        now: Instant,
        account: &'a mut Account,
    ) -> (&'a mut Dcf, impl FnMut() -> Option<Packet> + 'a) {
        let Self { queue, dcf, neighbours, silent } = self;
        let source = move || {
            if queue.is_empty() {
                return None;
            }
            let pulled = account.pull(now, || queue.pop())?;
            let to = next_hop(neighbours, &pulled.frame.payload).or(*silent)?;
            let ether_type = ether_type(&pulled.frame.payload);
            Some(Packet { frame: pulled.frame, to, ether_type, expires: pulled.expires })
        };
        (dcf, source)
    }

    /// Enters what the station reports into the books.
    fn take_down(&mut self, now: Instant, account: &mut Account) {
        while let Some(event) = self.dcf.poll_event() {
            take_down(now, event, account);
        }
    }
}

impl Link for WifiLink {
    fn take_packet(&mut self, now: Instant, frame: Frame) -> Result<usize, DropReason> {
        if self.silent.is_none() {
            return Err(DropReason::NoRoute);
        }
        match self.queue.push(now, frame) {
            None => Ok(self.queue.len()),
            Some(_) => Err(DropReason::QueueFull),
        }
    }

    fn handle_queued(&mut self, now: Instant, account: &mut Account) {
        {
            let (dcf, mut source) = self.parts(now, account);
            dcf.handle_queued(now, &mut source);
        }
        self.take_down(now, account);
    }

    #[inline]
    fn handle_signal_at_rest(&mut self, now: Instant, signal: Signal) -> bool {
        self.dcf.handle_signal_at_rest(now, signal)
    }

    fn handle_input(&mut self, now: Instant, input: Input, account: &mut Account) {
        {
            let (dcf, mut source) = self.parts(now, account);
            dcf.handle_input(now, input, &mut source);
        }
        self.take_down(now, account);
    }

    fn handle_timeout(&mut self, now: Instant, account: &mut Account) {
        {
            let (dcf, mut source) = self.parts(now, account);
            dcf.handle_timeout(now, &mut source);
        }
        self.take_down(now, account);
    }

    #[inline]
    fn poll_delivery(&mut self, account: &mut Account) -> Option<Frame> {
        let frame = self.dcf.poll_delivery()?;
        account.arrived();
        Some(frame)
    }

    #[inline]
    fn poll_transmit(&mut self, _now: Instant, account: &mut Account) -> Option<Outgoing> {
        let outgoing = self.dcf.poll_transmit()?;
        account.counters.bytes_sent += outgoing.frame.len() as u64;
        Some(outgoing)
    }

    #[inline]
    fn is_drained(&self) -> bool {
        self.dcf.is_drained()
    }

    #[inline]
    fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        self.dcf.poll_timeout()
    }

    fn held(&self) -> usize {
        self.queue.len() + self.dcf.held()
    }

    fn queue_len(&self) -> (usize, usize) {
        (self.queue.len(), self.queue.bytes())
    }

    fn airtime(&self, now: Instant) -> Option<Airtime> {
        Some(self.dcf.airtime(now))
    }

    fn set_accept_damaged(&mut self, accept: bool) {
        self.dcf.set_accept_damaged(accept);
    }

    fn flows(&self) -> Vec<FlowAccount> {
        Vec::new()
    }
}

/// Enters an event of the station into the books.
fn take_down(now: Instant, event: Event, account: &mut Account) {
    match event {
        Event::Sent { tag, attempt, len, kept } => {
            account.link(now, LinkEvent::Sent { tag, attempt, len, kept });
        }
        Event::Acknowledged { tag } => account.link(now, LinkEvent::Acknowledged { tag }),
        Event::Dropped { tag, reason, len } => account.dropped(now, tag, false, reason, len),
        Event::Discarded { tag, kept, reason, len } => {
            account.arrived();
            account.dropped(now, tag, kept, reason, len);
        }
        Event::Relayed { .. } => account.arrived(),
        Event::RequestFailed => account.event(now, EventKind::RtsFailed),
        Event::Control { sent: true, .. } => account.counters.control_sent += 1,
        Event::Control { sent: false, .. } => account.counters.control_received += 1,
        Event::Radio(period) => account.event(now, EventKind::Radio(period)),
    }
}

/// The station through which a packet reaches its destination, or everybody; `None` if none is
/// known.
fn next_hop(neighbours: &[Neighbour], packet: &Payload) -> Option<MacAddress> {
    let to = destination(packet)?;
    if is_for_group(to) {
        return Some(MacAddress::BROADCAST);
    }
    let behind = |known: &&Neighbour| known.behind.iter().any(|block| block.contains(&to));
    neighbours.iter().find(behind).map(|known| known.address)
}

/// The EtherType of an IP packet, by its version.
fn ether_type(packet: &Payload) -> u16 {
    let [head, body] = packet.slices();
    match head.first().or(body.first()) {
        Some(first) if first >> 4 == 6 => snap::IPV6,
        _ => snap::IPV4,
    }
}

#[cfg(test)]
mod tests;
