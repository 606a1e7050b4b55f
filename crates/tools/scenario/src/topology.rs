//! From what a scenario says to what it builds.

use core::net::IpAddr;
use std::collections::BTreeMap;
use std::sync::Arc;

use ipnet::IpNet;
use toml::Spanned;
use windfall_base::{Duration, MemoryBudget, Rate};
use windfall_channel::MediumConfig;
use windfall_network::{EndConfig, LinkConfig, NetworkConfig, StationConfig};
use windfall_settings::{Get, Settings as _};
use windfall_stack::Neighbour;
use windfall_wire_link::ieee80211::Phy;

use crate::change::Change;
use crate::direction::Direction;
use crate::error::{ScenarioError, SettingFault};
use crate::link::{Link, LinkKind};
use crate::links::Parts;
use crate::model::Scenario;
use crate::plan::{Files, Read, Topology};
use crate::routes::RouteMap;
use crate::side::Side;
use crate::station::{Route, Station, StationInterface};
use crate::stations::{InterfacePlan, Places, StationPlan, StationRoute};
use crate::{addresses, applications, flows, links, pace};

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
        self.topology_within(level, (file, text), read, MemoryBudget::default())
    }

    /// Builds the topology within a budget of memory for all files that the scenario names
    /// together.
    ///
    /// # Errors
    /// Those of [`topology`](Self::topology).
    pub fn topology_within(
        &self,
        level: u8,
        (file, text): (&str, &str),
        read: &mut Read<'_>,
        budget: MemoryBudget,
    ) -> Result<Topology, ScenarioError> {
        let mut files = Files { open: read, budget };
        self.work_out(level, &mut files)
            .map_err(|fault| ScenarioError::in_file_or_options(fault, file, text))
    }

    fn work_out(&self, level: u8, files: &mut Files<'_, '_>) -> Result<Topology, SettingFault> {
        if self.stations.is_empty() {
            let message = "the scenario has no station: add one by [[station]], with its name";
            return Err(SettingFault::at(0..1, message));
        }
        let networks = addresses::networks(self.links.iter().map(|l| l.stations.get_ref().len()));
        if let Some(link) = self.links.get(networks.len()) {
            let message = "from this link on there are no addresses left in 10.77.0.0/16";
            return Err(SettingFault::at(link.stations.span(), message));
        }
        let places = self.places();
        let stations = self.station_plans((level, &networks), &places, files)?;
        if let Some((first, second, address)) = addresses::clash(&stations) {
            return Err(self.fault_of_clash(&stations, first, second, address));
        }
        let map = Arc::new(RouteMap::new(&stations, self.links.len()));
        self.check_queues()?;
        let links = self
            .links
            .iter()
            .enumerate()
            .map(|(number, link)| self.link((number, link), &places, &stations, &map, files))
            .collect::<Result<Vec<_>, _>>()?;
        let names = self.stations.iter().map(|station| station.name.get_ref().clone());
        let devices = names.map(|name| StationConfig { name, host: None });
        let rates: Vec<Option<Rate>> = self.links.iter().map(fastest).collect();
        let apps = applications::plan(self, &stations, &places, (&rates, &map))?;
        let media = links.iter().map(|link| &link.medium).collect::<Vec<_>>();
        pace::check(self, &stations, &apps, &media, &map)?;
        let flows = self.flows.iter().map(|flow| flow.name.get_ref().clone()).collect();
        let overcommitted = overcommitted(self, &links);
        Ok(Topology {
            flows,
            overcommitted,
            apps,
            hop_limit: self.run.hop_limit.value().unwrap_or(DEFAULT_HOP_LIMIT),
            parameters: self.parameters(),
            map,
            sides: self.links.iter().map(sides).collect(),
            network: NetworkConfig { stations: devices.collect(), links },
            stations,
            duration: self.duration(),
        })
    }

    /// Works out the medium of the link that `change`, one of the changes of this scenario, is of,
    /// with all of its changes; returns the link's place and the medium.
    ///
    /// # Errors
    /// If a file that the link or a change names cannot be read, or the change changes nothing.
    pub fn changed_medium(
        &self,
        change: &Change,
        read: &mut Read<'_>,
    ) -> Result<(usize, MediumConfig), ScenarioError> {
        let mut files = Files { open: read, budget: MemoryBudget::default() };
        let found = self.links.iter().enumerate().find(|(_, link)| change.is_of(link));
        let Some((place, link)) = found.filter(|(_, link)| link.kind().is_wire()) else {
            return Err(ScenarioError::nowhere("the change is of no pipe".to_owned()));
        };
        let medium = links::pipe_medium(link, self, &mut files);
        Ok((place, medium.map_err(|fault| ScenarioError::in_file_or_options(fault, "", ""))?))
    }

    /// Makes the changes that have come to their end before `at` part of what the links are from
    /// the beginning, so that only those are left that go on or are to come.
    pub fn settle(&mut self, at: Duration) {
        self.changes.sort_by_key(|change| *change.at.get_ref());
        let has_ended = |change: &Change| {
            change.at.get_ref().saturating_add(change.over.value().unwrap_or(Duration::ZERO)) < at
        };
        let ended = self.changes.iter().take_while(|change| has_ended(change)).count();
        for change in self.changes.drain(..ended) {
            for link in self.links.iter_mut().filter(|link| change.is_of(link)) {
                let directions = [&mut link.uplink, &mut link.downlink];
                for (side, own) in Side::BOTH.into_iter().zip(directions) {
                    let mut whole = link.both.clone();
                    whole.overlay(own);
                    whole.overlay(&change.of_side(side));
                    *own = whole;
                }
                link.both = Direction::unset();
            }
        }
    }

    /// The settings of a direction of the link of a place as the changes up to `at` leave it.
    #[must_use]
    pub fn direction_at(&self, place: usize, side: Side, at: Duration) -> Direction {
        let Some(link) = self.links.get(place) else { return Direction::unset() };
        let mut changes: Vec<&Change> = self.changes.iter().filter(|it| it.is_of(link)).collect();
        changes.retain(|change| *change.at.get_ref() <= at);
        changes.sort_by_key(|change| *change.at.get_ref());
        let mut direction = link.direction(side);
        for change in changes {
            direction.overlay(&change.of_side(side));
        }
        direction
    }

    /// Refuses queues that never mark although they should, and queues that keep no reservations
    /// where flows reserve.
    fn check_queues(&self) -> Result<(), SettingFault> {
        let both = |link: &Link| Side::BOTH.map(|side| link.direction(side));
        let directions: Vec<Direction> = self.links.iter().flat_map(both).collect();
        let queues = || directions.iter().filter_map(|it| it.queue.as_ref());
        for Direction { queue, fec, .. } in &directions {
            let Some(queue) = queue else { continue };
            let says = queue.get_ref();
            let message = says.mark_beside_control().or_else(|| says.useless_mark());
            message.map_or(Ok(()), |message| Err(SettingFault::at(queue.span(), message)))?;
            if let (Some(fec), true) = (fec, says.tells_flows_apart()) {
                let message = "fq-codel changes the order of packets that a code has numbered: \
                               use codel";
                return Err(SettingFault::at(fec.span(), message));
            }
        }
        let sorting = queues().find(|queue| queue.get_ref().tells_flows_apart());
        let flow = self.flows.iter().find(|flow| flow.has_queue());
        if let (Some(queue), Some(flow)) = (sorting, flow) {
            let message = format!(
                "fq-codel tells flows apart by itself, and flow \"{}\" has a queue of its own: use \
                 codel for each flow, or remove the flows",
                flow.name.get_ref()
            );
            return Err(SettingFault::at(queue.span(), message));
        }
        let mut rates = self.flows.iter().map(|flow| (flow.name.get_ref(), flow.reserve.value()));
        let Some((name, Some(rate))) = rates.find(|(_, rate)| rate.is_some()) else {
            return Ok(());
        };
        for queue in queues() {
            let discipline = queue.get_ref().discipline.unwrap_or_default();
            if !discipline.keeps_reservations() {
                let message = format!(
                    "{discipline} keeps no reservations, and flow \"{name}\" reserves {rate}: use \
                     elf, airtime, wfq or wrr, or give the flow a weight"
                );
                return Err(SettingFault::at(queue.span(), message));
            }
        }
        Ok(())
    }

    /// Checks that each application begins before a simulation ends.
    ///
    /// `file` and `text` are where the scenario was read, for messages; empty if nowhere.
    ///
    /// # Errors
    /// Names the first that would do nothing, and the fix.
    pub fn check_starts(&self, (file, text): (&str, &str)) -> Result<(), ScenarioError> {
        let end = self.duration();
        let starts = self.apps.iter().filter_map(|app| app.start.as_ref());
        let Some(late) = starts.into_iter().find(|start| *start.get_ref() >= end) else {
            return Ok(());
        };
        let message = format!(
            "an application that starts at {} does nothing in a run of {end}: start it earlier, or \
             make the run longer by duration",
            late.get_ref()
        );
        Err(ScenarioError::in_file_or_options(SettingFault::at(late.span(), message), file, text))
    }

    /// The kernel parameters of every station; the congestion control is one of them.
    fn parameters(&self) -> Vec<(String, String)> {
        let key = || "net.ipv4.tcp_congestion_control".to_owned();
        let congestion = self.run.tcp_congestion.value().map(|name| (key(), name));
        let hops = self.run.hop_limit.value().into_iter().flat_map(|limit| {
            let keys =
                ["ipv4.ip_default_ttl", "ipv6.conf.all.hop_limit", "ipv6.conf.default.hop_limit"];
            keys.map(|key| (format!("net.{key}"), limit.to_string()))
        });
        let others = self.run.sysctl.value().unwrap_or_default().0;
        congestion
            .into_iter()
            .chain(hops)
            .chain(others.into_iter().map(|it| (it.key, it.value)))
            .collect()
    }

    /// The stations by their names.
    fn places(&self) -> Places<'_> {
        let names = self.stations.iter().map(|station| station.name.get_ref().as_str());
        names.enumerate().map(|(number, name)| (name, number)).collect()
    }

    fn station_plans(
        &self,
        (level, networks): (u8, &[addresses::Network]),
        places: &Places<'_>,
        files: &mut Files<'_, '_>,
    ) -> Result<Vec<StationPlan>, SettingFault> {
        // The link and the end there of each interface of each station.
        let mut ends = vec![Vec::new(); self.stations.len()];
        for (number, link) in self.links.iter().enumerate() {
            for (end, name) in link.stations.get_ref().iter().enumerate() {
                if let Some(&station) = places.get(name.get_ref().as_str()) {
                    ends[station].push((number, end));
                }
            }
        }
        let plans = self.stations.iter().zip(&ends).map(|(station, ends)| {
            let mut plan = self.station(level, networks, station, ends);
            plan.routes = own_routes(station, &plan)?;
            plan.energy = self.energy_model(station, files)?;
            plan.processor = station.processor(plan.energy.as_ref());
            Ok(plan)
        });
        plans.collect()
    }

    /// Says which two stations have the same address, at one of the places that name it.
    fn fault_of_clash(
        &self,
        stations: &[StationPlan],
        first: usize,
        second: usize,
        address: IpAddr,
    ) -> SettingFault {
        let named = [second, first].into_iter().find_map(|number| {
            let interfaces = self.stations[number].interfaces.iter();
            let addresses = interfaces.filter_map(|interface| interface.addresses.as_ref());
            addresses.flat_map(Spanned::get_ref).find(|it| it.get_ref().address == address)
        });
        let first = &stations[first].name;
        let second = &stations[second].name;
        let message =
            format!("{second} has the address {address}, which is {first}'s: choose another");
        match named {
            Some(address) => SettingFault::at(address.span(), message),
            None => SettingFault { span: None, message },
        }
    }

    fn station(
        &self,
        level: u8,
        networks: &[addresses::Network],
        station: &Station,
        ends: &[(usize, usize)],
    ) -> StationPlan {
        let name = station.name.get_ref();
        let ends = ends.iter().map(|&(number, end)| {
            let link = &self.links[number];
            let mtu = link.mtu();
            let own = station.interface(&link.name()).and_then(|it| it.addresses.value());
            let addresses = match own.filter(|addresses| !addresses.is_empty()) {
                Some(addresses) => addresses.into_iter().map(Spanned::into_inner).collect(),
                None => networks[number].of_end(level, end, mtu),
            };
            InterfacePlan { link: number, end, addresses, mtu }
        });
        StationPlan {
            name: name.clone(),
            forward: station.forward.value().unwrap_or(false),
            simulated: station.simulated.value().unwrap_or(false),
            tcp: station.tcp.value().unwrap_or_default(),
            energy: None,
            processor: None,
            interfaces: ends.collect(),
            routes: Vec::new(),
        }
    }

    fn link(
        &self,
        (number, link): (usize, &Link),
        places: &Places<'_>,
        stations: &[StationPlan],
        map: &RouteMap,
        files: &mut Files<'_, '_>,
    ) -> Result<LinkConfig, SettingFault> {
        let names = link.stations.get_ref().iter();
        let members: Vec<usize> = names
            .map(|name| places.get(name.get_ref().as_str()).copied().unwrap_or(usize::MAX))
            .collect();
        let seen_from = |member| seen_from(number, member, &members, stations, map);
        let (medium, interfaces) = match link.kind() {
            LinkKind::Pipe => links::pipe(link, self, files)?,
            LinkKind::Gsm => links::gsm::gsm(link, self, files)?,
            LinkKind::Wavelan => {
                links::wavelan::wavelan(link, self, seen_from(members[link.base()]), files)?
            }
            LinkKind::WifiB => self.wifi(Phy::B, link, &members, stations, map, &seen_from)?,
            LinkKind::WifiG => self.wifi(Phy::G, link, &members, stations, map, &seen_from)?,
        };
        let ends = members.into_iter().zip(interfaces);
        let ends = ends.map(|(station, mut interface)| {
            let said = self.stations.get(station).and_then(|it| it.interface(&link.name()));
            interface.assist = said.map(StationInterface::assist).unwrap_or_default();
            EndConfig { station, interface }
        });
        Ok(LinkConfig { name: link.name(), medium, ends: ends.collect() })
    }
}

/// The networks behind each of the stations `members` of a link, as the station `base` sees it.
fn seen_from(
    link: usize,
    base: usize,
    members: &[usize],
    stations: &[StationPlan],
    map: &RouteMap,
) -> Vec<Vec<IpNet>> {
    let named = &stations[base].routes;
    match (members.len(), named.is_empty()) {
        // Whatever is not one's own is behind the only other station.
        (..=2, _) => map.behind(link, members, &[]),
        (_, true) => map.behind(link, members, &map.routes(base)),
        (_, false) => map.behind(link, members, named),
    }
}

//= S3.46
/// The interfaces whose reserved flows can take more than all of a link at worst, with the share.
fn overcommitted(scenario: &Scenario, links: &[LinkConfig]) -> Vec<(String, f64)> {
    let links = links.iter().zip(scenario.links.iter().map(links::wavelan::polling));
    let ends = links.flat_map(|(link, taken)| link.ends.iter().map(move |end| (link, taken, end)));
    let worst = |(link, taken, end): (&LinkConfig, f64, &EndConfig)| {
        let station = scenario.stations[end.station].name.get_ref();
        let worst = flows::overcommitment(&end.interface.flows, taken)?;
        Some((format!("{}/{station}", link.name), worst))
    };
    ends.filter_map(worst).collect()
}

impl Scenario {
    fn wifi(
        &self,
        phy: Phy,
        link: &Link,
        members: &[usize],
        stations: &[StationPlan],
        map: &RouteMap,
        seen_from: &dyn Fn(usize) -> Vec<Vec<IpNet>>,
    ) -> Result<Parts, SettingFault> {
        let on_link: Vec<&Station> = members.iter().map(|&member| &self.stations[member]).collect();
        let neighbours = |member| {
            let neighbour =
                |(place, behind)| Neighbour { address: links::wifi::address(place), behind };
            seen_from(member).into_iter().enumerate().map(neighbour).collect::<Arc<[_]>>()
        };
        // Stations that are on no other link, which are most of them, see the same.
        let mut views = BTreeMap::new();
        links::wifi::wifi(link, (phy, self), &on_link, &mut |place| {
            let member = members[place];
            let view = map.view(member).filter(|_| stations[member].routes.is_empty());
            match view {
                Some(view) => Arc::clone(views.entry(view).or_insert_with(|| neighbours(member))),
                None => neighbours(member),
            }
        })
    }
}

/// The links that a packet of IP may cross, if the scenario does not say.
const DEFAULT_HOP_LIMIT: u8 = 64;

/// The direction in which each station of a link sends, in their order.
fn sides(link: &Link) -> Vec<Side> {
    (0..link.stations.get_ref().len()).map(|place| link.side_of(place)).collect()
}

/// The rate of a link's faster direction, if it has one.
fn fastest(link: &Link) -> Option<Rate> {
    let rate = |side| link.direction(side).constant_rate();
    let default = match link.kind() {
        LinkKind::Pipe => None,
        LinkKind::Gsm => Some(links::gsm::SERVICE_RATE),
        LinkKind::Wavelan => Some(links::wavelan::WAVELAN_RATE),
        LinkKind::WifiB => Some(Phy::B.highest_rate().rate()),
        LinkKind::WifiG => Some(Phy::G.highest_rate().rate()),
    };
    // Under rate control the rate of a radio is only the one that it begins with.
    let is_adaptive = link.radio.rate_control.value().is_some_and(|kind| kind.is_adaptive);
    rate(Side::Uplink).max(rate(Side::Downlink)).filter(|_| !is_adaptive).or(default)
}

/// The routes that a station names, each with the interface that its next hop is on.
fn own_routes(station: &Station, plan: &StationPlan) -> Result<Vec<StationRoute>, SettingFault> {
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
            SettingFault::at(route.via.span(), message)
        })?;
        if plan.interfaces[interface].addresses.iter().any(|own| own.address == via) {
            let message = format!(
                "{via} is station \"{}\" itself: use the address of another station on the link",
                plan.name
            );
            return Err(SettingFault::at(route.via.span(), message));
        }
        Ok(StationRoute { to: *route.to.get_ref(), via, interface })
    };
    station.routes.iter().map(route).collect()
}

#[cfg(test)]
mod tests;
