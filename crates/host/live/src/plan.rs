//! What to build: stations, their devices and addresses, and the programs in them.

use std::ffi::OsString;
use std::fs::File;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;

pub use windfall_kernel_counters::account::DeviceKind;
use windfall_netlink::RealInterface;
use windfall_scenario::{Topology, engine_beside};
use windfall_tcp_settings::KernelWay;
use windfall_ip::RouteMetric;

/// A network of stations, each a namespace of its own.
#[derive(Clone, Debug, Default)]
pub struct LivePlan {
    /// The stations, in order.
    pub stations: Vec<LiveStationPlan>,
    /// The order of the network's ports: station and device of each.
    pub ports: Vec<(usize, usize)>,
    /// The station and the device behind which the NAT gateway is; programs then resolve names by
    /// its resolver.
    pub nat: Option<(usize, usize)>,
    /// Programs stay root where sudo names another user.
    pub as_root: bool,
    /// The folder where the stations' network namespaces have their names, for programs outside.
    pub names: Option<PathBuf>,
    /// Interfaces of the caller that stations have while the run lasts, by the stations' numbers.
    pub interfaces: Vec<(usize, RealInterface)>,
    /// Ports on which a station must listen before the command starts.
    pub awaited: Vec<(usize, u16)>,
    /// Ports at which the run itself listens in a station, before any program starts there.
    pub listening: Vec<Listening>,
    /// The abstract name of a socket at which the run listens in every station that is its own.
    pub door: Option<String>,
}

/// A port at which the run itself listens in a station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listening {
    /// The number of the station.
    pub station: usize,
    /// The number of the port.
    pub port: u16,
    /// It is a port of UDP, which is taken; if not, one of TCP.
    pub is_udp: bool,
}

impl LivePlan {
    /// Returns the plan of a scenario.
    #[must_use]
    pub fn new(topology: &Topology) -> Self {
        let numbers = 0..topology.stations.len();
        let stations = numbers.map(|number| LiveStationPlan::new(topology, number));
        // The network numbers its ports in the order of the links and their ends.
        let mut ends: Vec<_> = (topology.stations.iter().enumerate())
            .flat_map(|(number, station)| {
                let numbered = real_interfaces(station).enumerate();
                numbered.map(move |(device, i)| ((i.link, i.end), (number, device)))
            })
            .collect();
        ends.sort_unstable();
        Self {
            stations: stations.collect(),
            ports: ends.into_iter().map(|(_, device)| device).collect(),
            nat: None,
            as_root: false,
            names: None,
            interfaces: Vec::new(),
            awaited: Vec::new(),
            listening: Vec::new(),
            door: None,
        }
    }

    /// Tells the kernel of every station of a setting of TCP, in the way that is given.
    ///
    /// Parameters that the scenario names itself win over these.
    pub fn tell_kernels(&mut self, way: &KernelWay) {
        for station in &mut self.stations {
            match way {
                KernelWay::Route(metric) => station.metrics.push(metric.clone()),
                KernelWay::Parameter(key, value) => {
                    station.parameters.insert(0, ((*key).to_owned(), value.clone()));
                }
                KernelWay::AsItIs | KernelWay::Cannot(_) => {}
            }
        }
    }

    /// The number of the station called `name`.
    #[must_use]
    pub fn station(&self, name: &str) -> Option<usize> {
        self.stations.iter().position(|station| station.name == name)
    }
}

/// The interfaces of a station that need devices: none if its host is simulated.
fn real_interfaces(
    station: &windfall_scenario::StationPlan,
) -> impl Iterator<Item = &windfall_scenario::InterfacePlan> {
    station.interfaces.iter().filter(|_| !station.simulated)
}

fn device((number, interface): (usize, &windfall_scenario::InterfacePlan)) -> DevicePlan {
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

fn route(route: &windfall_scenario::StationRoute) -> RoutePlan {
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
    routes: &[windfall_scenario::StationRoute],
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
    let others = || others.clone().flat_map(|(_, other)| &other.interfaces);
    let own = topology.stations[number].interfaces.iter();
    let there = own.flat_map(|own| others().filter(|there| there.link == own.link));
    let addresses: Vec<_> = there.flat_map(|it| &it.addresses).map(|it| it.address).collect();
    let chosen = addresses.iter().find(|address| engine_beside(**address).is_some());
    chosen.or(addresses.first()).copied()
}

/// Returns the variables of programs that find another station at `address`: that address, and that
/// of the TCP engine which may run there.
#[must_use]
pub fn neighbour_variables(address: Option<IpAddr>) -> Vec<(OsString, OsString)> {
    let text = |address: IpAddr| OsString::from(address.to_string());
    let base = ("WINDFALL_BASE".into(), address.map(text).unwrap_or_default());
    let engine = address.and_then(engine_beside).map(text);
    [base].into_iter().chain(engine.map(|engine| ("WINDFALL_ENGINE".into(), engine))).collect()
}

/// The plan of one station.
#[derive(Clone, Debug, Default)]
pub struct LiveStationPlan {
    /// The name of the station.
    pub name: String,
    /// Its devices, beside the loopback.
    pub devices: Vec<DevicePlan>,
    /// The routes for packets that no device's own prefix covers.
    pub routes: Vec<RoutePlan>,
    /// The station forwards packets between its devices.
    pub forwards: bool,
    /// The address of its neighbour, the first other station on its first link.
    pub neighbour: Option<IpAddr>,
    /// Kernel parameters, as keys with dots and values, set before the devices come up.
    pub parameters: Vec<(String, String)>,
    /// The namespace of other programs that it is, with parameters of their own.
    pub namespace: Option<Arc<File>>,
    /// Metrics of its routes, those to the networks of its links among them.
    pub metrics: Vec<RouteMetric>,
}

impl LiveStationPlan {
    /// Returns the plan of the station of this number; one whose host is simulated has no devices.
    fn new(topology: &Topology, number: usize) -> Self {
        let station = &topology.stations[number];
        Self {
            name: station.name.clone(),
            devices: real_interfaces(station).enumerate().map(device).collect(),
            routes: if station.simulated { Vec::new() } else { routes(topology, number) },
            forwards: station.forward,
            neighbour: neighbour(topology, number),
            parameters: topology.parameters.clone(),
            namespace: None,
            metrics: Vec::new(),
        }
    }
}

/// One device of a station.
#[derive(Clone, Debug)]
pub struct DevicePlan {
    /// Its name, 15 letters at most.
    pub name: String,
    /// The longest packet, in bytes.
    pub mtu: u32,
    /// Its addresses with the lengths of their prefixes.
    pub addresses: Vec<(IpAddr, u8)>,
}

/// One route of a station.
#[derive(Clone, Debug)]
pub struct RoutePlan {
    /// The prefix that it covers.
    pub destination: IpAddr,
    /// The length of the prefix, in bits.
    pub prefix: u8,
    /// The next station, if the destination is not on the link itself.
    pub gateway: Option<IpAddr>,
    /// Which of the station's devices to use.
    pub device: usize,
}

/// A program to run in a station.
#[derive(Clone, Debug)]
pub struct Program {
    /// In which station.
    pub station: usize,
    /// The program and its arguments.
    pub arguments: Vec<OsString>,
    /// Variables beside those of the caller.
    pub environment: Vec<(OsString, OsString)>,
    /// An interactive shell, which gets the terminal for itself.
    pub interactive: bool,
    /// The destination of its standard output and its standard error.
    pub output: ProgramOutput,
}

/// The destination of the standard output and the standard error of a program.
#[derive(Clone, Debug, Default)]
pub enum ProgramOutput {
    /// To those of the run.
    #[default]
    Inherit,
    /// Both to the standard error of the run, each line with this prefix.
    Prefixed(String),
    /// Both to an open file.
    File(Arc<File>),
}
