//! From what a scenario says to what is built: stations with addresses and routes, media, interfaces.

use core::net::IpAddr;
use std::io;

use windfall_base::{Duration, Rate};
use windfall_network::{EndConfig, HostSetup, LinkConfig, NetworkConfig, StationConfig};
use windfall_stack::HostConfig;

use crate::applications::{self, AppPlan};
use crate::error::{Fault, ScenarioError};
use crate::links;
use crate::model::{Link, LinkKind, Scenario, Station};
use crate::values::Prefix;
use crate::{addresses, routes};

/// The MTU of a link that says nothing of it.
pub const DEFAULT_MTU: u16 = 1500;
/// How long a simulation runs that says nothing of it.
pub const DEFAULT_DURATION: Duration = Duration::from_secs(10);

/// A scenario, worked out: what every station and every link is like.
#[derive(Clone, Debug)]
pub struct Topology {
    /// The stations, in the order of the scenario.
    pub stations: Vec<StationPlan>,
    /// The links and their interfaces; stations have the same numbers as here.
    pub network: NetworkConfig,
    /// How long a simulation runs.
    pub duration: Duration,
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
        let mut network = self.network.clone();
        let stations = network.stations.iter_mut().zip(&self.stations);
        for (number, (station, plan)) in stations.enumerate() {
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
        HostConfig { internet, ..HostConfig::default() }
    }
}

/// Reads a file that a scenario names, by the name that stands there.
pub type Read<'a> = dyn FnMut(&str) -> io::Result<Vec<u8>> + 'a;

impl Scenario {
    /// Works out what the scenario, nested `level` deep in others, builds.
    ///
    /// `file` and `text` are where the scenario was read, for messages; empty if nowhere.
    ///
    /// # Errors
    /// If a trace file cannot be read or makes no sense, or a route leads nowhere.
    pub fn topology(
        &self,
        level: u8,
        (file, text): (&str, &str),
        read: &mut Read<'_>,
    ) -> Result<Topology, ScenarioError> {
        self.work_out(level, read).map_err(|fault| fault.in_file_or_options(file, text))
    }

    fn work_out(&self, level: u8, read: &mut Read<'_>) -> Result<Topology, Fault> {
        if let Some(link) = self.links.get(addresses::LINKS) {
            let message = format!("a scenario has at most {} links", addresses::LINKS);
            return Err(Fault::at(link.stations.span(), message));
        }
        let mut stations: Vec<StationPlan> =
            self.stations.iter().map(|station| self.station(level, station)).collect();
        for (number, station) in self.stations.iter().enumerate() {
            stations[number].routes = match station.routes.is_empty() {
                true => routes::shortest(number, &stations),
                false => own_routes(station, &stations[number])?,
            };
        }
        let links =
            self.links.iter().map(|link| self.link(link, read)).collect::<Result<_, _>>()?;
        let names = self.stations.iter().map(|station| station.name.get_ref().clone());
        let devices = names.map(|name| StationConfig { name, host: None });
        let rates: Vec<Option<Rate>> = self.links.iter().map(fastest).collect();
        let apps = applications::plan(self, &stations, &rates)?;
        Ok(Topology {
            apps,
            network: NetworkConfig { stations: devices.collect(), links },
            stations,
            duration: self.duration.as_ref().map_or(DEFAULT_DURATION, |d| *d.get_ref()),
        })
    }

    fn station(&self, level: u8, station: &Station) -> StationPlan {
        let name = station.name.get_ref();
        let ends = self.links.iter().enumerate().filter_map(|(number, link)| {
            let end = link.stations.get_ref().iter().position(|end| end.get_ref() == name)?;
            let mtu = mtu_of(link);
            let said = station.interfaces.iter().find(|i| *i.link.get_ref() == link.name());
            let said = said.map(|i| i.addresses.iter().map(|a| *a.get_ref()).collect::<Vec<_>>());
            let addresses = said
                .filter(|addresses| !addresses.is_empty())
                .unwrap_or_else(|| addresses::of_end(level, number, end, mtu));
            Some(InterfacePlan { link: number, end, addresses, mtu })
        });
        StationPlan {
            name: name.clone(),
            forward: station.forward,
            interfaces: ends.collect(),
            routes: Vec::new(),
        }
    }

    fn link(&self, link: &Link, read: &mut Read<'_>) -> Result<LinkConfig, Fault> {
        let (medium, ends) = match link.kind() {
            LinkKind::Pipe => links::pipe(link, read)?,
            LinkKind::Wavelan => links::wavelan(link, read)?,
        };
        let ends =
            ends.into_iter().zip(link.stations.get_ref()).map(|(interface, name)| EndConfig {
                station: self.stations.iter().position(|s| s.name == *name).unwrap_or(usize::MAX),
                interface,
            });
        Ok(LinkConfig { name: link.name(), medium, ends: ends.collect() })
    }
}

/// The rate of a link's faster direction, if it has one.
fn fastest(link: &Link) -> Option<Rate> {
    let rate = |is_uplink| link.direction(is_uplink).rate.map(|rate| *rate.get_ref());
    let silent = (link.kind() == LinkKind::Wavelan).then_some(links::WAVELAN_RATE);
    rate(true).max(rate(false)).or(silent)
}

/// The longest packet of a link, in bytes.
pub(crate) fn mtu_of(link: &Link) -> u16 {
    link.mtu.as_ref().map_or(DEFAULT_MTU, |mtu| *mtu.get_ref())
}

/// The routes that a station names, each with the interface that its next hop is on.
fn own_routes(station: &Station, plan: &StationPlan) -> Result<Vec<StationRoute>, Fault> {
    let route = |route: &crate::model::Route| {
        let via = *route.via.get_ref();
        let reaches = |i: &InterfacePlan| i.addresses.iter().any(|prefix| prefix.contains(via));
        let interface = plan.interfaces.iter().position(reaches).ok_or_else(|| {
            let networks: Vec<String> = plan
                .interfaces
                .iter()
                .flat_map(|i| i.addresses.iter().map(ToString::to_string))
                .collect();
            let message = format!(
                "{via} is on no link of station \"{}\": use an address in {}",
                plan.name,
                networks.join(", ")
            );
            Fault::at(route.via.span(), message)
        })?;
        Ok(StationRoute { to: *route.to.get_ref(), via, interface })
    };
    station.routes.iter().map(route).collect()
}

#[cfg(test)]
mod tests;
