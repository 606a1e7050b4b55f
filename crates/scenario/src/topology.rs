//! From what a scenario says to what it builds.

use std::sync::Arc;

use windfall_base::Rate;
use windfall_network::{EndConfig, LinkConfig, NetworkConfig, StationConfig};
use windfall_stack::Neighbour;
use windfall_wire_link::ieee80211::Phy;

use crate::error::{Fault, ScenarioError};
use crate::links::Parts;
use crate::model::{DEFAULT_DURATION, Link, LinkKind, Route, Scenario, Station, StationInterface};
use crate::plan::{InterfacePlan, Read, StationPlan, StationRoute, Topology};
use crate::{addresses, applications, flows, links, radio, routes, wifi};

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
        let networks = addresses::networks(self.links.iter().map(|l| l.stations.get_ref().len()));
        if let Some(link) = self.links.get(networks.len()) {
            let message = "from this link on there are no addresses left in 10.77.0.0/16";
            return Err(Fault::at(link.stations.span(), message));
        }
        let mut stations: Vec<StationPlan> =
            self.stations.iter().map(|station| self.station(level, &networks, station)).collect();
        for (number, station) in self.stations.iter().enumerate() {
            stations[number].routes = match station.routes.is_empty() {
                true => routes::shortest(number, &stations),
                false => own_routes(station, &stations[number])?,
            };
        }
        let links = self
            .links
            .iter()
            .enumerate()
            .map(|(number, link)| self.link((number, link), &stations, read))
            .collect::<Result<Vec<_>, _>>()?;
        let names = self.stations.iter().map(|station| station.name.get_ref().clone());
        let devices = names.map(|name| StationConfig { name, host: None });
        let rates: Vec<Option<Rate>> = self.links.iter().map(fastest).collect();
        let apps = applications::plan(self, &stations, &rates)?;
        let flows = self.flows.iter().map(|flow| flow.name.get_ref().clone()).collect();
        let overcommitted = overcommitted(self, &links);
        Ok(Topology {
            flows,
            overcommitted,
            apps,
            network: NetworkConfig { stations: devices.collect(), links },
            stations,
            duration: self.duration.as_ref().map_or(DEFAULT_DURATION, |d| *d.get_ref()),
        })
    }

    fn station(
        &self,
        level: u8,
        networks: &[addresses::Network],
        station: &Station,
    ) -> StationPlan {
        let name = station.name.get_ref();
        let ends = self.links.iter().enumerate().filter_map(|(number, link)| {
            let end = link.stations.get_ref().iter().position(|end| end.get_ref() == name)?;
            let mtu = link.mtu();
            let said = station.interface(&link.name());
            let said = said.map(|i| i.addresses.iter().map(|a| *a.get_ref()).collect::<Vec<_>>());
            let addresses = said
                .filter(|addresses| !addresses.is_empty())
                .unwrap_or_else(|| networks[number].of_end(level, end, mtu));
            Some(InterfacePlan { link: number, end, addresses, mtu })
        });
        StationPlan {
            name: name.clone(),
            forward: station.forward,
            simulated: station.simulated,
            tcp: station.tcp.clone().unwrap_or_default(),
            interfaces: ends.collect(),
            routes: Vec::new(),
        }
    }

    fn link(
        &self,
        (number, link): (usize, &Link),
        stations: &[StationPlan],
        read: &mut Read<'_>,
    ) -> Result<LinkConfig, Fault> {
        let names = link.stations.get_ref().iter();
        let members: Vec<usize> = names
            .map(|name| self.stations.iter().position(|s| s.name == *name).unwrap_or(usize::MAX))
            .collect();
        let (medium, interfaces) = match link.kind() {
            LinkKind::Pipe => links::pipe(link, self, read)?,
            LinkKind::Wavelan => {
                let behind = routes::behind(number, members[link.base()], &members, stations);
                radio::wavelan(link, self, behind, read)?
            }
            LinkKind::WifiB => self.wifi(Phy::B, (number, link), &members, stations)?,
            LinkKind::WifiG => self.wifi(Phy::G, (number, link), &members, stations)?,
        };
        let ends = members.into_iter().zip(interfaces);
        let ends = ends.map(|(station, mut interface)| {
            let said = self.stations.get(station).and_then(|it| it.interface(&link.name()));
            interface.assist = said.map(StationInterface::assist).unwrap_or_default();
            EndConfig { station, interface }
        });
        let ends = ends.collect();
        Ok(LinkConfig { name: link.name(), medium, ends })
    }
}

/// Where reserved flows can take more than all of a link at worst, and how much of it.
//= S3.46
fn overcommitted(scenario: &Scenario, links: &[LinkConfig]) -> Vec<(String, f64)> {
    let ends = links.iter().flat_map(|link| link.ends.iter().map(move |end| (link, end)));
    let worst = |(link, end): (&LinkConfig, &EndConfig)| {
        let station = scenario.stations[end.station].name.get_ref();
        let worst = flows::overcommitment(&end.interface.flows)?;
        Some((format!("{}/{station}", link.name), worst))
    };
    ends.filter_map(worst).collect()
}

impl Scenario {
    fn wifi(
        &self,
        phy: Phy,
        (number, link): (usize, &Link),
        members: &[usize],
        stations: &[StationPlan],
    ) -> Result<Parts, Fault> {
        let on_link: Vec<&Station> = members.iter().map(|&member| &self.stations[member]).collect();
        let seen_from = |member| {
            let behind = routes::behind(number, member, members, stations);
            let neighbour = |(place, behind)| Neighbour { address: wifi::address(place), behind };
            behind.into_iter().enumerate().map(neighbour).collect::<Arc<[_]>>()
        };
        // Stations without routes, which are most of them, all see the same.
        let plain = members.iter().copied().find(|&member| stations[member].routes.is_empty());
        let plain = plain.map(seen_from);
        wifi::wifi(link, phy, &on_link, &mut |place| match (
            &plain,
            stations[members[place]].routes.is_empty(),
        ) {
            (Some(plain), true) => Arc::clone(plain),
            _ => seen_from(members[place]),
        })
    }
}

/// The rate of a link's faster direction, if it has one.
fn fastest(link: &Link) -> Option<Rate> {
    let rate = |is_uplink| link.direction(is_uplink).rate.map(|rate| *rate.get_ref());
    let silent = match link.kind() {
        LinkKind::Pipe => None,
        LinkKind::Wavelan => Some(radio::WAVELAN_RATE),
        LinkKind::WifiB => Some(wifi::highest(Phy::B).rate()),
        LinkKind::WifiG => Some(wifi::highest(Phy::G).rate()),
    };
    rate(true).max(rate(false)).or(silent)
}

/// The routes that a station names, each with the interface that its next hop is on.
fn own_routes(station: &Station, plan: &StationPlan) -> Result<Vec<StationRoute>, Fault> {
    let route = |route: &Route| {
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
