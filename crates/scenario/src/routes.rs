//! The shortest ways through a scenario, for stations that say nothing of routes.

use core::net::IpAddr;
use std::collections::{BTreeSet, VecDeque};

use windfall_stack::Block;

use crate::plan::{StationPlan, StationRoute};
use crate::values::Prefix;

/// The routes of station `from` to every network that it reaches by way of others.
///
/// Only stations that forward pass packets on; of ways with equally many hops, the one by the
/// earlier interface holds.
pub(crate) fn shortest(from: usize, stations: &[StationPlan]) -> Vec<StationRoute> {
    let own: BTreeSet<(IpAddr, u8)> =
        stations[from].interfaces.iter().flat_map(|i| networks(&i.addresses)).collect();
    let mut known = own;
    let mut routes = Vec::new();
    let mut seen = BTreeSet::from([from]);
    // Stations yet to be looked at, with the first hop on the way to each.
    let mut waiting: VecDeque<(usize, Option<(usize, usize)>)> = VecDeque::from([(from, None)]);
    while let Some((station, first)) = waiting.pop_front() {
        for (number, interface) in stations[station].interfaces.iter().enumerate() {
            if let Some((out, hop)) = first {
                for network in networks(&interface.addresses) {
                    if known.insert(network)
                        && let Some(via) = gateway(stations, hop, (from, out), network.0.is_ipv4())
                    {
                        let (address, length) = network;
                        let to = Prefix { address, length };
                        routes.push(StationRoute { to, via, interface: out });
                    }
                }
            }
            if station != from && !stations[station].forward {
                continue;
            }
            for (other, plan) in stations.iter().enumerate() {
                if plan.interfaces.iter().any(|i| i.link == interface.link) && seen.insert(other) {
                    waiting.push_back((other, first.or(Some((number, other)))));
                }
            }
        }
    }
    routes
}

/// The networks of some addresses.
fn networks(addresses: &[Prefix]) -> impl Iterator<Item = (IpAddr, u8)> + '_ {
    addresses.iter().map(|prefix| (prefix.network(), prefix.length))
}

/// The address of station `hop` on the link of an interface (station, number).
fn gateway(
    stations: &[StationPlan],
    hop: usize,
    (from, out): (usize, usize),
    is_v4: bool,
) -> Option<IpAddr> {
    let link = stations[from].interfaces[out].link;
    let interface = stations[hop].interfaces.iter().find(|i| i.link == link)?;
    interface.addresses.iter().map(|prefix| prefix.address).find(|a| a.is_ipv4() == is_v4)
}

/// What is reached through each of the stations `members` of a link, as the station `base` on it
/// sees it: their own addresses, and the networks to which they lead.
pub(crate) fn behind(
    link: usize,
    base: usize,
    members: &[usize],
    stations: &[StationPlan],
) -> Vec<Vec<Block>> {
    let block = |prefix: Prefix| Block { address: prefix.address, bits: prefix.length };
    let behind = |&member: &usize| {
        let interfaces = stations[member].interfaces.iter().filter(|i| i.link == link);
        let own: Vec<IpAddr> =
            interfaces.flat_map(|i| i.addresses.iter().map(|prefix| prefix.address)).collect();
        let routes = stations[base].routes.iter().filter(|route| own.contains(&route.via));
        let networks = routes.map(|route| block(route.to));
        own.iter().copied().map(Block::of).chain(networks).collect()
    };
    members.iter().map(behind).collect()
}
