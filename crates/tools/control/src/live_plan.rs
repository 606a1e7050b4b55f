//! What a scenario needs of the kernel: the plan of its stations, devices and routes.

use std::net::IpAddr;

use windfall_live::{DevicePlan, LivePlan, LiveStationPlan, RoutePlan};
use windfall_network::addresses::engine_beside;
use windfall_scenario::{InterfacePlan, StationPlan, StationRoute, Topology};
use windfall_settings::tcp::KernelWay;

/// Returns the plan of a scenario.
#[must_use]
pub fn live_plan(topology: &Topology) -> LivePlan {
    let numbers = 0..topology.stations.len();
    let stations = numbers.map(|number| station_plan(topology, number));
    // The network numbers its ports in the order of the links and their ends.
    let mut ends: Vec<_> = (topology.stations.iter().enumerate())
        .flat_map(|(number, station)| {
            let numbered = real_interfaces(station).enumerate();
            numbered.map(move |(device, i)| ((i.link, i.end), (number, device)))
        })
        .collect();
    ends.sort_unstable();
    LivePlan {
        stations: stations.collect(),
        ports: ends.into_iter().map(|(_, device)| device).collect(),
        nat: None,
        as_root: false,
        names: None,
        interfaces: Vec::new(),
        awaited: Vec::new(),
        listening: Vec::new(),
        entry_socket: None,
    }
}

/// Tells the kernel of every station of a setting of TCP, in the way that is given.
///
/// Parameters that the scenario names itself win over these.
pub fn tell_kernels(plan: &mut LivePlan, way: &KernelWay) {
    for station in &mut plan.stations {
        match way {
            KernelWay::Route(metric) => station.metrics.push(metric.clone()),
            KernelWay::Parameter(key, value) => {
                station.parameters.insert(0, ((*key).to_owned(), value.clone()));
            }
            KernelWay::AsItIs | KernelWay::Cannot(_) => {}
        }
    }
}

/// Returns the plan of the station of this number; one whose host is simulated has no devices.
fn station_plan(topology: &Topology, number: usize) -> LiveStationPlan {
    let station = &topology.stations[number];
    LiveStationPlan {
        name: station.name.clone(),
        devices: real_interfaces(station)
            .enumerate()
            .map(|(number, interface)| device(number, interface))
            .collect(),
        routes: if station.simulated { Vec::new() } else { routes(topology, number) },
        forwards: station.forward,
        neighbour: neighbour(topology, number),
        parameters: topology.parameters.clone(),
        namespace: None,
        metrics: Vec::new(),
    }
}

/// The interfaces of a station that need devices: none if its host is simulated.
fn real_interfaces(station: &StationPlan) -> impl Iterator<Item = &InterfacePlan> {
    station.interfaces.iter().filter(|_| !station.simulated)
}

fn device(number: usize, interface: &InterfacePlan) -> DevicePlan {
    let addresses = interface.addresses.iter().map(|prefix| (prefix.address, prefix.length));
    DevicePlan {
        name: format!("wf{number}"),
        mtu: interface.mtu.into(),
        addresses: addresses.collect(),
    }
}

/// The routes of a station: to the networks beyond its own, and to the engines in the others.
fn routes(topology: &Topology, number: usize) -> Vec<RoutePlan> {
    let routes = topology.routes(number);
    let own = routes.iter().map(route);
    own.chain(to_engines(topology, number, &routes)).collect()
}

fn route(route: &StationRoute) -> RoutePlan {
    RoutePlan {
        destination: route.to.network(),
        prefix: route.to.length,
        gateway: Some(route.via),
        device: route.interface,
    }
}

/// The routes of a station to the TCP engines in the others, where their addresses are known.
///
/// On a link each engine has a route of its own, and a station none to its own engine: without one
/// standing there, packets to it end instead of going back and forth.
fn to_engines(
    topology: &Topology,
    number: usize,
    routes: &[StationRoute],
) -> impl Iterator<Item = RoutePlan> {
    let station = &topology.stations[number];
    let others = topology.stations.iter().enumerate().filter(move |(other, _)| *other != number);
    let neighbours = others.flat_map(|(_, other)| &other.interfaces).flat_map(|there| {
        let device = station.interfaces.iter().position(|own| own.link == there.link);
        let addresses = there.addresses.iter().filter_map(|it| engine_beside(it.address));
        addresses.filter_map(move |destination| {
            let prefix = if destination.is_ipv4() { 32 } else { 128 };
            Some(RoutePlan { destination, prefix, gateway: None, device: device? })
        })
    });
    let beyond = routes.iter().map(route).filter_map(|plan| {
        let destination = engine_beside(plan.destination)?;
        Some(RoutePlan { destination, ..plan })
    });
    neighbours.chain(beyond)
}

/// The address of the first other station on a link of this one, if possible one that was chosen
/// automatically: a run inside takes other addresses than those around it by this one.
fn neighbour(topology: &Topology, number: usize) -> Option<IpAddr> {
    let others = topology.stations.iter().enumerate().filter(|(other, _)| *other != number);
    let own = topology.stations[number].interfaces.iter();
    let there = own.flat_map(|own| {
        others
            .clone()
            .flat_map(|(_, other)| &other.interfaces)
            .filter(|there| there.link == own.link)
    });
    let addresses: Vec<_> = there.flat_map(|it| &it.addresses).map(|it| it.address).collect();
    let chosen = addresses.iter().find(|address| engine_beside(**address).is_some());
    chosen.or(addresses.first()).copied()
}
