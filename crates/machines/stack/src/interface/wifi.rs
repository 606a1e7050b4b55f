//! An 802.11 radio below an interface: queues, and a station that pulls from them.

mod queues;
mod relay;

use std::sync::Arc;

use ipnet::IpNet;
use windfall_base::{
    Check, DropReason, DropSite, Frame, Input, Instant, Outgoing, PacketEvent, Payload, Seed,
};
use windfall_ip::is_group;
use windfall_link::Pulled;
use windfall_mac::wifi::radio::Airtime;
use windfall_mac::wifi::{
    Config, Contention, Dcf, DcfEvent, Packet, PacketOutcome, PacketSource, Rest, Role,
};
use windfall_wire_link::ieee80211::{MacAddress, snap};

use super::account::InterfaceAccount;
use super::classify::{Classifier, destination};
use super::flows::{FlowAccount, QueueConfig};
use super::link::Link;
use crate::event::InterfaceEvent;
use queues::StationQueues;
use relay::RelayHeader;

/// One station of an 802.11 network.
#[derive(Clone, Debug)]
pub struct WifiConfig {
    /// The configuration of the MAC.
    pub mac: Config,
    /// The stations of the network, possibly with this one, and the networks behind them. The first
    /// other station is the default next hop.
    pub neighbours: Arc<[Neighbour]>,
}

impl WifiConfig {
    /// Returns `true` if `other` is one of the station's neighbours.
    #[must_use]
    pub fn sends_to(&self, other: &Self) -> bool {
        self.neighbours.iter().any(|neighbour| neighbour.address == other.mac.address)
    }
}

/// Another station of the network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Neighbour {
    /// The address of the neighbour.
    pub address: MacAddress,
    /// The IP addresses that are reached through it.
    pub behind: Vec<IpNet>,
}

#[derive(Debug)]
pub(super) struct WifiLink {
    queues: StationQueues,
    dcf: Dcf,
    neighbours: Arc<[Neighbour]>,
    /// The first station that is not this one: the next hop of packets behind no station.
    default_hop: Option<MacAddress>,
    /// The flows that say whether damaged packets are accepted.
    classifier: Classifier,
    /// Damaged packets of other flows are passed up.
    accepts_damaged: bool,
}

impl WifiLink {
    /// A radio that draws from stream `name` of `seed`.
    pub(super) fn new(
        config: WifiConfig,
        classifier: Classifier,
        queues: &QueueConfig,
        seed: Seed,
        name: &str,
    ) -> Self {
        let WifiConfig { mut mac, neighbours } = config;
        let addresses = neighbours.iter().map(|neighbour| neighbour.address);
        let mut others = addresses.filter(|address| *address != mac.address);
        let default_hop = others.next();
        mac.only_peer = default_hop.filter(|_| others.next().is_none());
        let is_client = matches!(mac.role, Role::Member { .. });
        let accepts_damaged = mac.accept_damaged;
        let mut dcf = Dcf::new(mac, seed, name);
        dcf.set_accept_damaged(accepts_damaged || classifier.accepts_damaged_flows());
        let queues = StationQueues::new(queues, is_client);
        Self { queues, dcf, neighbours, default_hop, classifier, accepts_damaged }
    }

    /// The station, and the queues as the source of its packets.
    fn parts<'a>(
        &'a mut self,
        now: Instant,
        account: &'a mut InterfaceAccount,
    ) -> (&'a mut Dcf, Source<'a>) {
        let Self { queues, dcf, neighbours, default_hop, .. } = self;
        (dcf, Source { now, queues, neighbours, default_hop: *default_hop, account })
    }

    /// Queues the packets that an access point relays between stations, like packets of the device.
    fn take_relayed(&mut self, now: Instant, account: &mut InterfaceAccount) {
        let mut queued = false;
        while let Some(packet) = self.dcf.poll_relay() {
            account.arrived();
            queued |= self.queue_relayed(now, packet, account);
        }
        if queued {
            let (dcf, mut source) = self.parts(now, account);
            dcf.handle_queued(now, &mut source);
        }
    }

    /// Queues a packet that is relayed between stations; returns whether there was room.
    fn queue_relayed(
        &mut self,
        now: Instant,
        packet: Packet,
        account: &mut InterfaceAccount,
    ) -> bool {
        let Some(header) = RelayHeader::new(&packet) else { return false };
        let mut frame = packet.frame;
        if frame.is_late(now) {
            let tag = frame.tag;
            let kept = frame.kept;
            let len = frame.payload.len();
            account.discarded(tag, kept, DropReason::Late, len);
            return false;
        }
        self.classifier.classify(&mut frame);
        let lifetime = frame.class.lifetime;
        frame.set_expiry(lifetime.map(|lifetime| now.saturating_add(lifetime)));
        header.put(&mut frame);
        let tag = frame.tag;
        let kept = frame.kept;
        let flow = frame.class.flow;
        let len = frame.payload.len();
        if frame.damage.frame == Check::Bad && !self.accepts(&frame) {
            account.discarded(tag, kept, DropReason::FrameCheck, len);
            return false;
        }
        if let Err(reason) = account.record_enqueue(self.queues.push(now, header.to, frame)) {
            account.discarded(tag, kept, reason, len);
            return false;
        }
        account.queued(tag, flow, len, self.queues.len());
        true
    }

    /// Enters the events of the station into the account.
    fn record_events(&mut self, account: &mut InterfaceAccount) {
        while let Some(event) = self.dcf.poll_event() {
            match event {
                DcfEvent::Packet(event) => self.record_packet_event(event, account),
                DcfEvent::RtsFailed => account.note(InterfaceEvent::RtsFailed),
                DcfEvent::Control { sent: true, .. } => account.counters.control_sent += 1,
                DcfEvent::Control { sent: false, .. } => account.counters.control_received += 1,
                DcfEvent::Radio(period) => account.note(InterfaceEvent::Radio(period)),
            }
        }
    }

    fn record_packet_event(&mut self, event: PacketEvent, account: &mut InterfaceAccount) {
        match event.packet_drop().map(|drop| drop.site) {
            Some(DropSite::Sender) => self.queues.forget(event.tag),
            // The station reports no other arrivals: they are counted when they are passed up.
            Some(DropSite::Receiver) => account.arrived(),
            Some(DropSite::Medium) | None => {}
        }
        account.record(event);
    }

    //= S0.14
    /// Returns whether a damaged packet is passed up: its flow decides, otherwise the setting for
    /// all packets.
    fn accepts(&self, frame: &Frame) -> bool {
        let of_flow = self.classifier.class_of_flow(&frame.payload);
        of_flow.and_then(|class| class.accept_damaged).unwrap_or(self.accepts_damaged)
    }
}

/// The queues of a radio, for the length of one call.
struct Source<'a> {
    now: Instant,
    queues: &'a mut StationQueues,
    neighbours: &'a [Neighbour],
    default_hop: Option<MacAddress>,
    account: &'a mut InterfaceAccount,
}

impl PacketSource for Source<'_> {
    fn next_packet(&mut self) -> Option<Packet> {
        if self.queues.len() == 0 {
            return None;
        }
        let Pulled { mut frame, expires } = self.queues.pull(self.now, self.account)?;
        if let Some(RelayHeader { to, source, ether_type }) = RelayHeader::take(&mut frame) {
            return Some(Packet { frame, to, ether_type, expires, source: Some(source) });
        }
        let to = next_hop(self.neighbours, &frame.payload).or(self.default_hop)?;
        let ether_type = ether_type(&frame.payload);
        Some(Packet { frame, to, ether_type, expires, source: None })
    }

    fn packet_done(&mut self, outcome: PacketOutcome) {
        self.queues.finish(self.now, outcome);
    }
}

impl Link for WifiLink {
    fn take_packet(
        &mut self,
        now: Instant,
        frame: Frame,
        account: &mut InterfaceAccount,
    ) -> Result<usize, DropReason> {
        let Some(default_hop) = self.default_hop else { return Err(DropReason::NoRoute) };
        let to = match &self.queues {
            StationQueues::Fifo(_) => default_hop,
            StationQueues::Scheduled(_) => {
                next_hop(&self.neighbours, &frame.payload).unwrap_or(default_hop)
            }
        };
        account.record_enqueue(self.queues.push(now, to, frame))?;
        Ok(self.queues.len())
    }

    fn handle_queued(&mut self, now: Instant, account: &mut InterfaceAccount) {
        let (dcf, mut source) = self.parts(now, account);
        dcf.handle_queued(now, &mut source);
        self.record_events(account);
    }

    fn handle_input(&mut self, now: Instant, input: Input, account: &mut InterfaceAccount) {
        let (dcf, mut source) = self.parts(now, account);
        dcf.handle_input(now, input, &mut source);
        self.take_relayed(now, account);
        self.record_events(account);
    }

    fn handle_timeout(&mut self, now: Instant, account: &mut InterfaceAccount) {
        let (dcf, mut source) = self.parts(now, account);
        dcf.handle_timeout(now, &mut source);
        self.record_events(account);
    }

    #[inline]
    fn poll_delivery(&mut self, account: &mut InterfaceAccount) -> Option<Frame> {
        loop {
            let mut frame = self.dcf.poll_delivery()?;
            account.arrived();
            if frame.damage.frame != Check::Bad || self.accepts(&frame) {
                frame.kept = false;
                return Some(frame);
            }
            let len = frame.payload.len();
            account.discarded(frame.tag, frame.kept, DropReason::FrameCheck, len);
        }
    }

    #[inline]
    fn poll_transmit(&mut self, _now: Instant, account: &mut InterfaceAccount) -> Option<Outgoing> {
        let outgoing = self.dcf.poll_transmit()?;
        account.counters.bytes_sent += outgoing.frame.len() as u64;
        Some(outgoing)
    }

    #[inline]
    fn rest(&self) -> Option<Rest> {
        self.dcf.rest()
    }

    fn resume(&mut self, contention: Contention) {
        self.dcf.resume(contention);
    }

    #[inline]
    fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        self.dcf.poll_timeout()
    }

    fn held(&self) -> usize {
        self.queues.len() + self.dcf.held()
    }

    fn queue_len(&self) -> (usize, usize) {
        (self.queues.len(), self.queues.bytes())
    }

    fn airtime(&self, now: Instant) -> Option<Airtime> {
        Some(self.dcf.airtime(now))
    }

    fn set_accept_damaged(&mut self, accept: bool) {
        self.accepts_damaged = accept;
        self.dcf.set_accept_damaged(accept || self.classifier.accepts_damaged_flows());
    }

    fn flows(&self) -> Vec<FlowAccount> {
        self.queues.accounts()
    }
}

/// Returns the next hop of a packet, or the broadcast address; `None` if there is none.
fn next_hop(neighbours: &[Neighbour], packet: &Payload) -> Option<MacAddress> {
    let to = destination(packet)?;
    if is_group(to) {
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
