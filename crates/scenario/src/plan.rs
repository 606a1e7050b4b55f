//! What a scenario builds, worked out: stations with addresses and routes, media, interfaces.

use core::net::IpAddr;
use std::io;

use windfall_base::Duration;
use windfall_network::{AppConfig, HostSetup, NetworkConfig};
use windfall_stack::HostConfig;

use crate::tcp::TcpSettings;
use crate::values::Prefix;

/// A scenario, worked out: what every station and every link is like.
#[derive(Clone, Debug)]
pub struct Topology {
    /// The stations, in the order of the scenario.
    pub stations: Vec<StationPlan>,
    /// The links and their interfaces; stations have the same numbers as here.
    pub network: NetworkConfig,
    /// How long a simulation runs.
    pub duration: Duration,
    /// The names of the flows; the flow numbered *i* + 1 is at place *i*.
    pub flows: Vec<String>,
    /// The interfaces whose reserved flows can take more than their whole link at worst, and what
    /// share of it.
    pub overcommitted: Vec<(String, f64)>,
    /// The applications, in the order of the scenario, then the sinks that it implies.
    pub apps: Vec<AppPlan>,
}

/// What a station is like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StationPlan {
    /// Its name.
    pub name: String,
    /// Whether it forwards packets between its interfaces.
    pub forward: bool,
    /// Whether its host and its applications are simulated in any case.
    pub simulated: bool,
    /// How its TCP behaves, where its host is simulated.
    pub tcp: TcpSettings,
    /// Its interfaces, in the order of the links.
    pub interfaces: Vec<InterfacePlan>,
    /// Its routes to networks that are not its own.
    pub routes: Vec<StationRoute>,
}

/// What an interface of a station is like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InterfacePlan {
    /// The link, by its place in the scenario.
    pub link: usize,
    /// The end of the link, in the order of the medium's ports.
    pub end: usize,
    /// Its addresses.
    pub addresses: Vec<Prefix>,
    /// The longest packet, in bytes.
    pub mtu: u16,
}

/// A route of a station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StationRoute {
    /// The network that it leads to.
    pub to: Prefix,
    /// The next station on the way.
    pub via: IpAddr,
    /// The interface on which that station is, by its place in [`StationPlan::interfaces`].
    pub interface: usize,
}

impl Topology {
    /// The network with a host in each station, as a simulation runs it.
    #[must_use]
    pub fn with_hosts(&self) -> NetworkConfig {
        self.hosting(|_| true)
    }

    /// The network with a host in each station whose plan asks for one, as real time runs it.
    #[must_use]
    pub fn with_simulated_hosts(&self) -> NetworkConfig {
        self.hosting(|plan| plan.simulated)
    }

    fn hosting(&self, hosted: impl Fn(&StationPlan) -> bool) -> NetworkConfig {
        let mut network = self.network.clone();
        let stations = network.stations.iter_mut().zip(&self.stations).enumerate();
        for (number, (station, plan)) in stations.filter(|(_, (_, plan))| hosted(plan)) {
            let own = self.apps.iter().filter(|app| app.station == number);
            let apps = own.map(|app| app.config.clone()).collect();
            station.host = Some(HostSetup { host: plan.host(), apps });
        }
        network
    }
}

impl StationPlan {
    /// The host of the station, with its addresses and routes.
    #[must_use]
    pub fn host(&self) -> HostConfig {
        let prefix = |prefix: &Prefix| windfall_ip::Prefix::new(prefix.address, prefix.length);
        let interface = |interface: &InterfacePlan| windfall_ip::InterfaceConfig {
            addresses: interface.addresses.iter().filter_map(prefix).collect(),
            mtu: usize::from(interface.mtu),
        };
        let route = |route: &StationRoute| {
            let (to, interface) = (prefix(&route.to)?, route.interface);
            Some(windfall_ip::Route { to, interface })
        };
        let internet = windfall_ip::Config {
            interfaces: self.interfaces.iter().map(interface).collect(),
            routes: self.routes.iter().filter_map(route).collect(),
            forwarding: self.forward,
            ..windfall_ip::Config::default()
        };
        HostConfig { internet, tcp: self.tcp.config().clone(), ..HostConfig::default() }
    }
}

/// Reads a file that a scenario names, by the name that stands there.
pub type Read<'a> = dyn FnMut(&str) -> io::Result<Vec<u8>> + 'a;

/// An application and the station that it runs on.
#[derive(Clone, Debug)]
pub struct AppPlan {
    /// The station, by its place in the scenario.
    pub station: usize,
    /// Its configuration.
    pub config: AppConfig,
}
