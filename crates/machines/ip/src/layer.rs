//! The internet layer of one station.

mod input;
mod message;
mod output;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use core::net::{IpAddr, Ipv4Addr};

use bytes::Bytes;
use ipnet::IpNet;
use windfall_base::{
    Damage, DropReason, Drops, Duration, Frame, Instant, Ledger, Payload, Seed, Stream, Tag,
};
use windfall_wire_net::{Addresses, Ecn, Ipv4Packet, Ipv6Packet, Protocol, ipv4, ipv6};

use crate::event::{IpEvent, IpEventKind};
use crate::limiter::Limiter;
use crate::path_mtu::{PathMtus, SentLately};
use crate::reassembly::Reassembler;
use crate::report::{ErrorReport, Problem};
use crate::route::{RouteEntry, RoutingTable, SharedRoutes, is_group};

/// The bytes of the payload that are in one slice with the IP headers: a transport header.
const GATHERED: usize = 8;

/// An interface as the internet layer knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IpInterfaceConfig {
    /// The station's addresses on the interface; each adds a route to its network.
    pub addresses: Vec<IpNet>,
    /// The longest packet that it takes, in bytes; less than 68 counts as 68.
    pub mtu: usize,
}

/// The configuration of a station's internet layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IpConfig {
    /// Its interfaces, in the order of their ports.
    pub interfaces: Vec<IpInterfaceConfig>,
    /// Routes in addition to those to the networks of the interfaces.
    pub routes: Vec<RouteEntry>,
    /// Routes that several stations share; the routes above have precedence for the same network.
    pub shared: Option<SharedRoutes>,
    /// Forwards packets for other stations.
    pub forwarding: bool,
    /// The hop limit of packets that originate here.
    pub hop_limit: u8,
    /// The time from the first fragment of a packet to arrive until reassembly is abandoned (RFC
    /// 1122, section 3.3.2: 60 s to 120 s; RFC 8200, section 4.5: 60 s).
    pub reassembly_timeout: Duration,
    /// The memory that waiting fragments may take, in bytes.
    pub reassembly_bytes: usize,
    /// The number of ICMP errors that may be sent in a burst.
    pub error_burst: u64,
    /// The interval after which one more ICMP error may be sent (RFC 4443, section 2.4 f).
    pub error_interval: Duration,
}

impl Default for IpConfig {
    fn default() -> Self {
        Self {
            interfaces: Vec::new(),
            routes: Vec::new(),
            shared: None,
            forwarding: false,
            hop_limit: 64,
            reassembly_timeout: Duration::from_secs(60),
            reassembly_bytes: 1 << 20,
            error_burst: 50,
            error_interval: Duration::from_millis(10),
        }
    }
}

/// A packet that the host wants sent.
#[derive(Clone, Debug)]
pub struct Outbound<'a> {
    /// Source and destination.
    pub addresses: Addresses,
    /// The protocol of the payload.
    pub protocol: Protocol,
    /// The ECN field: whether routers may mark the packet instead of dropping it.
    pub ecn: Ecn,
    /// The transport header, with its checksum.
    pub header: &'a [u8],
    /// The data after that header.
    pub data: Bytes,
}

/// Something that the layer passes up to its host.
#[derive(Clone, Debug)]
pub enum Upward {
    /// The content of a packet.
    Datagram(IpDatagram),
    /// An ICMP error about a packet that was sent from here.
    Report(ErrorReport),
}

/// A packet for this station, and its payload.
#[derive(Clone, Debug)]
pub struct IpDatagram {
    /// The interface by which it came; `None` if it started here.
    pub interface: Option<usize>,
    /// Source and destination.
    pub addresses: Addresses,
    /// The protocol of the content.
    pub protocol: Protocol,
    /// The length of the content by the IP header, in bytes; more than are present if it was
    /// truncated.
    pub len: usize,
    /// The known damage; suspect ranges count from the beginning of the content.
    pub damage: Damage,
    /// The packet's name.
    pub tag: Option<Tag>,
    packet: Payload,
    /// The length of the packet, also after its content was taken out.
    size: usize,
    /// The offset of the content, which begins in the first slice, as do its first [`GATHERED`]
    /// bytes.
    start: usize,
}

impl IpDatagram {
    /// Returns the content in two slices; the first holds 8 bytes at least, if the content has as
    /// many.
    #[must_use]
    pub fn slices(&self) -> [&[u8]; 2] {
        let [head, body] = self.packet.slices();
        [head.get(self.start..).unwrap_or_default(), body]
    }

    /// Takes the content out, in one or two slices; in place if the packet is not shared.
    #[must_use]
    pub fn take_content(&mut self) -> Payload {
        let mut content = core::mem::take(&mut self.packet);
        content.advance(core::mem::take(&mut self.start));
        content
    }

    /// Returns the ECN field of the packet.
    #[must_use]
    pub fn ecn(&self) -> Ecn {
        let [head, _] = self.packet.slices();
        Ecn::from_bits(match self.addresses {
            Addresses::V4 { .. } => Ipv4Packet::new(head).map_or(0, |packet| packet.tos()),
            Addresses::V6 { .. } => {
                Ipv6Packet::new(head).map_or(0, |packet| packet.traffic_class())
            }
        })
    }

    /// Returns the number of bytes of the content that are present.
    #[must_use]
    pub fn have(&self) -> usize {
        self.packet.len().saturating_sub(self.start)
    }

    /// Returns the bytes of the content from `from` up to `to`, or as many of them as there are.
    #[must_use]
    pub fn into_bytes(self, from: usize, to: usize) -> Bytes {
        let end = self.packet.len();
        let from = (self.start + from).min(end);
        let to = (self.start + to).min(end);
        let [head, _] = self.packet.slices();
        if from == head.len() && to == end {
            return self.packet.into_body();
        }
        self.packet.slice(from..to.max(from))
    }
}

/// Why a packet could not be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IpSendError {
    /// No route leads to the destination.
    #[error("no route to {0}: give the station a route or an address in that network")]
    NoRoute(IpAddr),
    /// The packet is longer than IP can carry.
    #[error("{0} bytes are more than an IP packet holds: send at most 65535 with all headers")]
    TooLong(usize),
}

/// A packet on its way through the layer.
struct Transit {
    interface: Option<usize>,
    payload: Payload,
    damage: Damage,
    tag: Option<Tag>,
}

/// The internet layer: takes packets from below and above, and gives them to below and above.
///
/// `handle_input`, `handle_send` and `handle_timeout` feed it; `poll_transmit`, `poll_upward` and
/// `poll_event` drain it; `poll_timeout`, `ledger` and the rest observe it. Feed once, drain, ask
/// for the timeout, only then feed again.
#[derive(Debug)]
pub struct Layer {
    config: IpConfig,
    routes: RoutingTable,
    local: BTreeMap<IpAddr, usize>,
    broadcasts: BTreeSet<Ipv4Addr>,
    path_mtus: PathMtus,
    sent_lately: SentLately,
    reassembler: Reassembler,
    errors: Limiter,
    next_identification: u32,
    transmit: VecDeque<(usize, Frame)>,
    upward: VecDeque<Upward>,
    datagrams: usize,
    events: VecDeque<IpEvent>,
    taken: u64,
    given: u64,
    drops: Drops,
}

impl Layer {
    /// Creates the layer that `config` describes; `seed` starts its identification numbers.
    #[must_use]
    pub fn new(mut config: IpConfig, seed: Seed) -> Self {
        let mut local = BTreeMap::new();
        let mut broadcasts = BTreeSet::new();
        let mut routes = RoutingTable::default();
        for (interface, settings) in config.interfaces.iter_mut().enumerate() {
            settings.mtu = settings.mtu.max(ipv4::MIN_MTU);
            for prefix in &settings.addresses {
                local.insert(prefix.addr(), interface);
                broadcasts.extend(broadcast(prefix));
                routes.insert(RouteEntry { to: *prefix, interface });
            }
        }
        // A route through an interface that is not there would lead packets nowhere.
        let known = config.routes.iter().filter(|route| route.interface < config.interfaces.len());
        known.for_each(|route| routes.insert(*route));
        if let Some(shared) = config.shared.take() {
            routes.share(shared);
        }
        Self {
            routes,
            local,
            broadcasts,
            path_mtus: PathMtus::default(),
            sent_lately: SentLately::default(),
            reassembler: Reassembler::new(config.reassembly_timeout, config.reassembly_bytes),
            errors: Limiter::new(config.error_burst, config.error_interval),
            next_identification: Stream::new(seed, "ip/identification").bits() as u32,
            transmit: VecDeque::new(),
            upward: VecDeque::new(),
            datagrams: 0,
            events: VecDeque::new(),
            taken: 0,
            given: 0,
            drops: Drops::default(),
            config,
        }
    }

    /// Processes a packet received on `interface`.
    pub fn handle_input(&mut self, now: Instant, interface: usize, frame: Frame) {
        self.taken += 1;
        let Frame { payload, tag, parts, .. } = frame;
        let damage = parts.map_or(Damage::NONE, |parts| parts.damage);
        self.receive(now, Transit { interface: Some(interface), payload, damage, tag });
        self.make_room(now);
    }

    /// Sends a packet of the host.
    ///
    /// # Errors
    /// If no route leads to the destination, which counts as a drop, or the packet is longer than
    /// IP permits.
    pub fn handle_send(&mut self, now: Instant, packet: Outbound<'_>) -> Result<(), IpSendError> {
        self.send(now, packet)
    }

    /// Updates the path MTU by a Packet Too Big report. The caller has checked that the packet was
    /// in flight; the layer itself can check this only for protocols other than TCP.
    pub fn learn_path_mtu(&mut self, now: Instant, report: &ErrorReport) {
        let Some(Problem::TooBig { mtu }) = report.problem else { return };
        let to = report.addresses.dst();
        if let Some(mtu) = self.path_mtus.learn(now, to, mtu, report.len) {
            self.note(now, IpEventKind::PathMtu { to, mtu });
        }
    }

    /// Drops packets that have waited too long for fragments; a spurious call changes nothing.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.make_room(now);
    }

    /// Reports by ICMP that `datagram` could not be delivered, and counts it as dropped.
    pub fn handle_refusal(
        &mut self,
        now: Instant,
        datagram: &IpDatagram,
        reason: DropReason,
        problem: Problem,
    ) {
        self.report(now, datagram.interface, &datagram.packet, problem);
        self.refuse(now, datagram, reason);
    }

    /// Counts `datagram`, which was polled but could not be delivered, as dropped.
    pub fn refuse(&mut self, now: Instant, datagram: &IpDatagram, reason: DropReason) {
        // Polling has counted it as delivered.
        self.given -= 1;
        self.discard(now, datagram.tag, datagram.size, reason);
    }

    /// Returns the next packet to put on an interface; call until `None`. A damaged packet that is
    /// forwarded stays marked as damaged.
    pub fn poll_transmit(&mut self) -> Option<(usize, Frame)> {
        let packet = self.transmit.pop_front()?;
        self.given += 1;
        Some(packet)
    }

    /// Returns the next packet or error message for the host; call until `None`. A datagram polled
    /// counts as given.
    pub fn poll_upward(&mut self) -> Option<Upward> {
        let upward = self.upward.pop_front()?;
        if matches!(upward, Upward::Datagram(_)) {
            self.datagrams -= 1;
            self.given += 1;
        }
        Some(upward)
    }

    /// Returns the next event; call until `None`.
    pub fn poll_event(&mut self) -> Option<IpEvent> {
        self.events.pop_front()
    }

    /// Returns the time of the next reassembly timeout.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        self.reassembler.deadline().map(|deadline| (deadline, "reassembly"))
    }

    /// Returns the account of the layer.
    #[must_use]
    pub fn ledger(&self) -> Ledger {
        let held = self.transmit.len() + self.datagrams + self.reassembler.held();
        Ledger {
            taken: self.taken,
            given: self.given,
            held: held as u64,
            drops: self.drops.clone(),
        }
    }

    /// Returns whether `address` is one of the station's own.
    #[must_use]
    pub fn is_local(&self, address: IpAddr) -> bool {
        self.local.contains_key(&address)
    }

    /// Returns the longest packet that every link of the station carries, in bytes.
    #[must_use]
    pub fn least_mtu(&self) -> usize {
        let mtus = self.config.interfaces.iter().map(|interface| interface.mtu);
        mtus.min().unwrap_or(ipv6::MIN_MTU)
    }

    /// Returns the longest packet on the link towards `destination`, in bytes; `None` without a
    /// route.
    #[must_use]
    pub fn mtu_towards(&self, destination: IpAddr) -> Option<usize> {
        let interface = self.interface_towards(destination)?;
        Some(self.config.interfaces[interface].mtu)
    }

    /// Returns the interface for packets that start here. Packets to a [group](is_group) without a
    /// route leave by the first interface with an address of their family.
    fn interface_towards(&self, destination: IpAddr) -> Option<usize> {
        self.routes.lookup(destination).or_else(|| {
            let is_of_family = |prefix: &IpNet| prefix.addr().is_ipv4() == destination.is_ipv4();
            let mut all = self.config.interfaces.iter();
            let first = all.position(|it| it.addresses.iter().any(is_of_family));
            first.filter(|_| is_group(destination))
        })
    }

    /// Returns the address that packets to `destination` come from; `None` if no route leads there.
    #[must_use]
    pub fn source_for(&self, destination: IpAddr) -> Option<IpAddr> {
        if self.is_local(destination) {
            return Some(destination);
        }
        let interface = self.interface_towards(destination)?;
        self.address_on(interface, destination).or_else(|| {
            let mut addresses = self.local.keys();
            addresses.find(|address| address.is_ipv4() == destination.is_ipv4()).copied()
        })
    }

    /// Returns the address on `interface` that is nearest to `destination`.
    fn address_on(&self, interface: usize, destination: IpAddr) -> Option<IpAddr> {
        let addresses = &self.config.interfaces.get(interface)?.addresses;
        let of_family =
            addresses.iter().filter(|prefix| prefix.addr().is_ipv4() == destination.is_ipv4());
        of_family.min_by_key(|prefix| !prefix.contains(&destination)).map(IpNet::addr)
    }

    fn note(&mut self, at: Instant, kind: IpEventKind) {
        self.events.push_back(IpEvent { at, kind });
    }

    /// Counts a packet as discarded.
    fn discard(&mut self, now: Instant, tag: Option<Tag>, len: usize, reason: DropReason) {
        self.drops.count(reason);
        self.note(now, IpEventKind::Dropped { tag, reason, len });
    }

    /// Abandons fragments whose time is over or whose memory is needed.
    fn make_room(&mut self, now: Instant) {
        while let Some(abandoned) = self.reassembler.abandon(now) {
            self.abandon(now, abandoned, DropReason::Reassembly);
        }
    }
}

/// Returns the broadcast address of an IPv4 network; none for networks of two or fewer addresses
/// (RFC 3021).
fn broadcast(network: &IpNet) -> Option<Ipv4Addr> {
    match network {
        IpNet::V4(network) if network.prefix_len() < 31 => Some(network.broadcast()),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
