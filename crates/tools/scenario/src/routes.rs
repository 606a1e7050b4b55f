//! The shortest ways through a scenario, for stations that name no routes.
//!
//! All these stations share one [`RouteMap`], as routers of a link-state protocol do. A table of
//! all networks in each station would take memory quadratic in the stations; the map instead
//! works out the ways of all stations to one network when a packet for it first comes by.

use core::net::IpAddr;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use ipnet::IpNet;

use crate::stations::{InterfacePlan, StationPlan, StationRoute};
use crate::values::Prefix;

/// A network: its first address, and the length of its prefix.
type Network = (IpAddr, u8);

/// Entries of all trees that are kept, 8 bytes each; older trees are worked out again.
const KEPT: usize = 1 << 22;
/// No hop count, and no station.
const NONE: u32 = u32::MAX;

/// The stations and links of a scenario, and the ways through them.
#[derive(Debug)]
pub(crate) struct RouteMap {
    nodes: Vec<Node>,
    /// The stations on each link, ascending.
    links: Vec<Vec<usize>>,
    /// The networks by the lengths of their prefixes, longest first, each with its stations.
    networks: Vec<(u8, BTreeMap<IpAddr, Vec<usize>>)>,
    trees: Mutex<Trees>,
}

/// The part of a station that the map keeps.
#[derive(Debug)]
struct Node {
    forward: bool,
    interfaces: Vec<InterfacePlan>,
}

/// The trees worked out so far, and in which order.
#[derive(Debug, Default)]
struct Trees {
    known: BTreeMap<Network, Arc<[Hop]>>,
    order: VecDeque<Network>,
}

/// The best next hop on a link on the way to one network.
#[derive(Clone, Copy, Debug)]
struct Hop {
    /// The number of hops behind it.
    distance: u32,
    station: u32,
}

impl RouteMap {
    /// The map of some stations on `links` links.
    pub(crate) fn new(stations: &[StationPlan], links: usize) -> Self {
        let mut members = vec![Vec::new(); links];
        let mut networks = BTreeMap::<u8, BTreeMap<IpAddr, Vec<usize>>>::new();
        for (number, station) in stations.iter().enumerate() {
            for interface in &station.interfaces {
                members[interface.link].push(number);
                for (address, length) in networks_of(&interface.addresses) {
                    let owners = networks.entry(length).or_default().entry(address).or_default();
                    if owners.last() != Some(&number) {
                        owners.push(number);
                    }
                }
            }
        }
        let node = |station: &StationPlan| Node {
            forward: station.forward,
            interfaces: station.interfaces.clone(),
        };
        Self {
            nodes: stations.iter().map(node).collect(),
            links: members,
            networks: networks.into_iter().rev().collect(),
            trees: Mutex::default(),
        }
    }

    /// The routes of station `from` to every network that it reaches by way of others.
    ///
    /// Only stations that forward pass packets on; of ways with equally many hops, the one by the
    /// earlier interface holds.
    pub(crate) fn routes(&self, from: usize) -> Vec<StationRoute> {
        let mut known: BTreeSet<Network> = self.own_networks(from).collect();
        let mut routes = Vec::new();
        let mut seen = vec![false; self.nodes.len()];
        let mut crossed = vec![false; self.links.len()];
        seen[from] = true;
        // Stations yet to be looked at, with the first hop on the way to each.
        let mut waiting: VecDeque<(usize, Option<(usize, usize)>)> = VecDeque::from([(from, None)]);
        while let Some((station, first)) = waiting.pop_front() {
            for (number, interface) in self.nodes[station].interfaces.iter().enumerate() {
                if let Some((out, hop)) = first {
                    for network in networks_of(&interface.addresses) {
                        if known.insert(network)
                            && let Some(via) = self.gateway(hop, (from, out), network.0.is_ipv4())
                        {
                            let (address, length) = network;
                            let to = Prefix { address, length };
                            routes.push(StationRoute { to, via, interface: out });
                        }
                    }
                }
                let passes = station == from || self.nodes[station].forward;
                if !passes || std::mem::replace(&mut crossed[interface.link], true) {
                    continue;
                }
                for &other in &self.links[interface.link] {
                    if !std::mem::replace(&mut seen[other], true) {
                        waiting.push_back((other, first.or(Some((number, other)))));
                    }
                }
            }
        }
        routes
    }

    fn own_networks(&self, station: usize) -> impl Iterator<Item = Network> {
        self.nodes[station].interfaces.iter().flat_map(|i| networks_of(&i.addresses))
    }

    /// The address of station `hop` on the link of an interface (station, number).
    fn gateway(&self, hop: usize, (from, out): (usize, usize), is_v4: bool) -> Option<IpAddr> {
        let link = self.nodes[from].interfaces[out].link;
        let interface = self.nodes[hop].interfaces.iter().find(|i| i.link == link)?;
        interface.addresses.iter().map(|prefix| prefix.address).find(|a| a.is_ipv4() == is_v4)
    }

    /// The next hop of `station` on the way to `network`: one of its interfaces, and who is there.
    fn next_hop(
        &self,
        station: usize,
        network: Network,
        owners: &[usize],
    ) -> Option<(usize, usize)> {
        let hops = self.hops(network, owners);
        let interfaces = self.nodes[station].interfaces.iter().enumerate();
        // Of equally many hops, the first interface.
        let best = interfaces.min_by_key(|(number, i)| (hops[i.link].distance, *number));
        let (number, hop) = best.map(|(number, i)| (number, hops[i.link]))?;
        let is_v4 = network.0.is_ipv4();
        (hop.distance != NONE).then_some(())?;
        self.gateway(hop.station as usize, (station, number), is_v4)?;
        Some((number, hop.station as usize))
    }

    /// The best next hop to `network` on every link.
    fn hops(&self, network: Network, owners: &[usize]) -> Arc<[Hop]> {
        let mut trees = self.trees.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(tree) = trees.known.get(&network) {
            return Arc::clone(tree);
        }
        let tree: Arc<[Hop]> = self.tree(owners).into();
        while trees.known.len() * tree.len() > KEPT
            && let Some(oldest) = trees.order.pop_front()
        {
            trees.known.remove(&oldest);
        }
        trees.order.push_back(network);
        trees.known.insert(network, Arc::clone(&tree));
        tree
    }

    /// Works out the best next hop to the network of `owners` on every link, from its stations
    /// outwards; takes time linear in the stations and links.
    fn tree(&self, owners: &[usize]) -> Vec<Hop> {
        let mut hops = vec![Hop { distance: NONE, station: NONE }; self.links.len()];
        let mut distances = vec![NONE; self.nodes.len()];
        let mut waiting: VecDeque<usize> = owners.iter().copied().collect();
        for &owner in owners {
            distances[owner] = 0;
        }
        while let Some(station) = waiting.pop_front() {
            let distance = distances[station];
            if distance > 0 && !self.nodes[station].forward {
                continue;
            }
            for interface in &self.nodes[station].interfaces {
                let hop = &mut hops[interface.link];
                if hop.distance == NONE {
                    *hop = Hop { distance, station: station as u32 };
                    for &other in &self.links[interface.link] {
                        if distances[other] == NONE {
                            distances[other] = distance + 1;
                            waiting.push_back(other);
                        }
                    }
                } else if hop.distance == distance {
                    hop.station = hop.station.min(station as u32);
                }
            }
        }
        hops
    }

    /// The longest network with `destination` in it that `station` reaches by way of others, and
    /// the next hop.
    fn route(&self, station: usize, destination: IpAddr) -> Option<(u8, (usize, usize))> {
        let width = if destination.is_ipv4() { 32 } else { 128 };
        let fitting = self.networks.iter().filter(|(length, _)| *length <= width);
        fitting.into_iter().find_map(|(length, networks)| {
            let network = Prefix { address: destination, length: *length }.network();
            let owners =
                networks.get(&network).filter(|owners| owners.binary_search(&station).is_err())?;
            Some((*length, self.next_hop(station, (network, *length), owners)?))
        })
    }

    /// The networks that are reached through each of the stations on a link, as a station there
    /// with these routes sees it: their own addresses, and the networks to which they lead.
    pub(crate) fn behind(
        &self,
        link: usize,
        members: &[usize],
        routes: &[StationRoute],
    ) -> Vec<Vec<IpNet>> {
        let mut by_gateway = BTreeMap::<IpAddr, Vec<(usize, IpNet)>>::new();
        for (number, StationRoute { to, via, .. }) in routes.iter().enumerate() {
            by_gateway.entry(*via).or_default().push((number, to.net()));
        }
        let behind = |&member: &usize| {
            let interfaces = self.nodes[member].interfaces.iter().filter(|i| i.link == link);
            let own: Vec<IpAddr> =
                interfaces.flat_map(|i| i.addresses.iter().map(|prefix| prefix.address)).collect();
            let networks = own.iter().filter_map(|own| by_gateway.get(own)).flatten();
            let mut networks: Vec<_> = networks.copied().collect();
            networks.sort_unstable_by_key(|(number, _)| *number);
            let networks = networks.into_iter().map(|(_, block)| block);
            own.iter().copied().map(IpNet::from).chain(networks).collect()
        };
        members.iter().map(behind).collect()
    }

    /// The view that stations of a link share if they see the same behind the others: the networks
    /// of one that is on no other link; `None` for one that is.
    pub(crate) fn view(&self, station: usize) -> Option<BTreeSet<Network>> {
        (self.nodes[station].interfaces.len() == 1).then(|| self.own_networks(station).collect())
    }
}

impl windfall_ip::RouteSource for RouteMap {
    fn lookup(&self, station: usize, destination: IpAddr) -> Option<(u8, usize)> {
        self.route(station, destination).map(|(length, (interface, _))| (length, interface))
    }
}

/// The interfaces by which packets from `from` to `destination` leave each station on their way, as
/// (station, interface); `None` if they do not arrive.
pub(crate) fn path(
    map: &RouteMap,
    stations: &[StationPlan],
    from: usize,
    destination: IpAddr,
) -> Option<Vec<(usize, usize)>> {
    let mut path = Vec::new();
    let mut station = from;
    // No packet takes more hops than this.
    while path.len() <= usize::from(u8::MAX) {
        let plan = &stations[station];
        let own = |i: &InterfacePlan| i.addresses.iter().any(|a| a.address == destination);
        if plan.interfaces.iter().any(own) {
            return Some(path);
        }
        let (interface, next) = next_hop(map, plan, station, destination)?;
        path.push((station, interface));
        station = next;
    }
    None
}

/// The next hop of `station` on the way to `destination`: its interface, and the next station.
fn next_hop(
    map: &RouteMap,
    plan: &StationPlan,
    station: usize,
    destination: IpAddr,
) -> Option<(usize, usize)> {
    let owner = |interface: usize, address: IpAddr| {
        let link = plan.interfaces[interface].link;
        let is_there = |other: &&usize| {
            let mut interfaces = map.nodes[**other].interfaces.iter().filter(|i| i.link == link);
            interfaces.any(|i| i.addresses.iter().any(|prefix| prefix.address == address))
        };
        Some((interface, *map.links[link].iter().find(is_there)?))
    };
    let connected = plan.interfaces.iter().enumerate().flat_map(|(number, interface)| {
        let fitting = interface.addresses.iter().filter(|prefix| prefix.contains(destination));
        fitting.map(move |prefix| (prefix.length, number, destination))
    });
    let named = plan.routes.iter().filter(|route| route.to.contains(destination));
    let named = named.map(|route| (route.to.length, route.interface, route.via));
    let best = connected.chain(named).max_by_key(|(length, ..)| *length);
    let shared = map.route(station, destination).filter(|_| plan.routes.is_empty());
    match (best, shared) {
        (Some((length, ..)), Some((longer, hop))) if longer > length => Some(hop),
        (Some((_, interface, address)), _) => owner(interface, address),
        (None, shared) => shared.map(|(_, hop)| hop),
    }
}

/// The networks of some addresses.
fn networks_of(addresses: &[Prefix]) -> impl Iterator<Item = Network> + '_ {
    addresses.iter().map(|prefix| (prefix.network(), prefix.length))
}

#[cfg(test)]
mod tests;
