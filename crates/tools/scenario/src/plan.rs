//! What a scenario builds, worked out: stations with addresses and routes, media, interfaces.

use std::io;
use std::sync::Arc;

use windfall_base::{Duration, MemoryBudget};
use windfall_ip::SharedRoutes;
use windfall_network::{AppConfig, HostSetup, NetworkConfig};
use windfall_stack::HostConfig;

use crate::routes::RouteMap;
use crate::side::Side;
use crate::stations::{InterfacePlan, StationPlan, StationRoute};
use crate::values::Prefix;

/// A scenario, worked out: what every station and every link is like.
#[derive(Clone, Debug)]
pub struct Topology {
    /// The stations, in the order of the scenario.
    pub stations: Vec<StationPlan>,
    /// The links and their interfaces; stations have the same numbers as here.
    pub network: NetworkConfig,
    /// The directions in which the ends of each link send, in their order.
    pub sides: Vec<Vec<Side>>,
    /// The length of a simulation.
    pub duration: Duration,
    /// The names of the flows; the flow numbered *i* + 1 is at place *i*.
    pub flows: Vec<String>,
    /// The interfaces whose reserved flows can take more than their whole link at worst, and what
    /// share of it.
    pub overcommitted: Vec<(String, f64)>,
    /// The applications, in the order of the scenario, then the sinks that it implies.
    pub apps: Vec<AppPlan>,
    /// The links that a packet of IP may cross.
    pub hop_limit: u8,
    /// Kernel parameters of every station that has a kernel, as keys with dots and values.
    pub parameters: Vec<(String, String)>,
    /// The ways between the stations, for those that name no routes.
    pub(crate) map: Arc<RouteMap>,
}

impl Topology {
    /// The routes of a station to networks that are not its own: those that it names, or the
    /// shortest ways.
    ///
    /// # Panics
    /// If there is no such station.
    #[must_use]
    pub fn routes(&self, station: usize) -> Vec<StationRoute> {
        if self.stations[station].routes.is_empty() {
            self.map.routes(station)
        } else {
            self.stations[station].routes.clone()
        }
    }

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
        let mut apps = vec![Vec::new(); self.stations.len()];
        for app in &self.apps {
            apps[app.station].push(app.config.clone());
        }
        let stations = network.stations.iter_mut().zip(&self.stations).enumerate();
        for (number, (station, plan)) in stations.filter(|(_, (_, plan))| hosted(plan)) {
            let apps = std::mem::take(&mut apps[number]);
            station.host = Some(HostSetup { host: self.host(plan, number), apps });
        }
        network
    }

    /// The host of the station of a number, with its addresses and routes.
    fn host(&self, plan: &StationPlan, number: usize) -> HostConfig {
        let interface = |interface: &InterfacePlan| windfall_ip::IpInterfaceConfig {
            addresses: interface.addresses.iter().map(Prefix::net).collect(),
            mtu: usize::from(interface.mtu),
        };
        let route = |route: &StationRoute| windfall_ip::RouteEntry {
            to: route.to.net(),
            interface: route.interface,
        };
        let internet = windfall_ip::IpConfig {
            interfaces: plan.interfaces.iter().map(interface).collect(),
            routes: plan.routes.iter().map(route).collect(),
            shared: plan.routes.is_empty().then(|| SharedRoutes {
                source: Arc::<RouteMap>::clone(&self.map),
                station: number,
            }),
            forwarding: plan.forward,
            hop_limit: self.hop_limit,
            ..windfall_ip::IpConfig::default()
        };
        HostConfig {
            internet,
            tcp: plan.tcp.config().clone(),
            processor: plan.processor,
            ..HostConfig::default()
        }
    }
}

/// The files that a scenario names.
pub(crate) struct Files<'f, 'r> {
    /// Reads one of them.
    pub(crate) open: &'f mut Read<'r>,
    /// The memory that is left for what is kept of them.
    pub(crate) budget: MemoryBudget,
}

impl Files<'_, '_> {
    /// Reads a file, and takes its bytes from the budget.
    pub(crate) fn read(&mut self, name: &str) -> Result<Vec<u8>, String> {
        let bytes = (self.open)(name).map_err(|error| format!("cannot read {name}: {error}"))?;
        self.budget.take(bytes.len()).map_err(|error| format!("cannot read {name}: {error}"))?;
        Ok(bytes)
    }
}

/// Reads a file that a scenario names, by the name that stands there.
pub type Read<'a> = dyn FnMut(&str) -> io::Result<Vec<u8>> + 'a;

/// An application and the station that it runs on.
#[derive(Clone, Debug)]
pub struct AppPlan {
    /// The station, by its place in the scenario.
    pub station: usize,
    /// The configuration of the application.
    pub config: AppConfig,
}
