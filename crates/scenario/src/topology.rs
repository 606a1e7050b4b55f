//! From what a scenario says to what is built: stations with addresses and routes, media, interfaces.

use core::net::IpAddr;
use std::io;
use std::sync::Arc;

use windfall_base::{Duration, Probability};
use windfall_channel::error_trace::{Counted, Origin};
use windfall_channel::{
    self as channel, AirConfig, ErrorTrace, Exposure, Line, MediumConfig, Model, PathConfig,
    PipeConfig, RateTrace, Truncation,
};
use windfall_link::Window;
use windfall_network::{EndConfig, HostSetup, LinkConfig, NetworkConfig, StationConfig};
use windfall_queue::Limits;
use windfall_stack::{HostConfig, InterfaceConfig};

use crate::error::{Fault, ScenarioError};
use crate::model::{Direction, Exposed, Link, LinkKind, Scenario, Station};
use crate::values::{Prefix, QueueLength};
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
        for (station, plan) in network.stations.iter_mut().zip(&self.stations) {
            station.host = Some(HostSetup { host: plan.host() });
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
        Ok(Topology {
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
        let [up, down] = [link.direction(true), link.direction(false)];
        let medium = match link.kind() {
            LinkKind::Pipe => MediumConfig::Pipe(PipeConfig {
                forward: path(&up, read)?,
                backward: path(&down, read)?,
            }),
            LinkKind::Wavelan => {
                let span = link.kind.as_ref().map_or(0..0, toml::Spanned::span);
                return Err(Fault::at(
                    span,
                    "wavelan links are not supported: use kind = \"pipe\"",
                ));
            }
        };
        let interface = |own: &Direction, others: &Direction| InterfaceConfig {
            mtu: usize::from(mtu_of(link)),
            queue: limits(own.queue.as_ref().map(|queue| *queue.get_ref())),
            link: windfall_stack::LinkConfig::Pipe(pipe_end(link, own, others)),
            ..InterfaceConfig::default()
        };
        let ends = [(&up, &down), (&down, &up)].into_iter().zip(link.stations.get_ref());
        let ends = ends.map(|((own, others), name)| EndConfig {
            station: self.stations.iter().position(|s| s.name == *name).unwrap_or(usize::MAX),
            interface: interface(own, others),
        });
        Ok(LinkConfig { name: link.name(), medium, ends: ends.collect() })
    }
}

fn mtu_of(link: &Link) -> u16 {
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

/// One end of a pipe: how it sends is its own direction's matter, what it accepts the other's.
fn pipe_end(link: &Link, own: &Direction, others: &Direction) -> windfall_link::PipeConfig {
    let rate = own.rate.as_ref().map(|rate| *rate.get_ref());
    let delay =
        |direction: &Direction| direction.delay.as_ref().map_or(Duration::ZERO, |d| *d.get_ref());
    // The window is for the whole way there and back.
    let round_trip = delay(own).saturating_add(delay(others));
    let window = match rate {
        Some(rate) => Window::of_pipe(rate, round_trip / 2, usize::from(mtu_of(link))),
        None => Window::default(),
    };
    windfall_link::PipeConfig {
        arq: own.arq.as_ref().map_or(windfall_link::Arq::None, |arq| arq.get_ref().policy()),
        accept_damaged: others.accept_damaged.unwrap_or(false),
        window,
    }
}

fn limits(queue: Option<QueueLength>) -> Limits {
    queue.map_or_else(Limits::default, |queue| Limits {
        packets: queue.packets.map_or(usize::MAX, |n| n.get() as usize),
        bytes: queue.bytes.map_or(usize::MAX, |n| usize::try_from(n.0).unwrap_or(usize::MAX)),
    })
}

/// One direction of a pipe.
fn path(direction: &Direction, read: &mut Read<'_>) -> Result<PathConfig, Fault> {
    let line = match (&direction.rate, &direction.rate_trace) {
        (Some(rate), _) => Line::Rate(*rate.get_ref()),
        (None, Some(trace)) => {
            let name = trace.get_ref();
            let fault = |message: String| Fault::at(trace.span(), message);
            let bytes = read(name).map_err(|e| fault(format!("cannot read {name}: {e}")))?;
            let text = String::from_utf8_lossy(&bytes);
            Line::Trace(RateTrace::from_mahimahi(&text).map_err(|e| fault(format!("{name}: {e}")))?)
        }
        (None, None) => Line::Instant,
    };
    let delay = direction.delay.as_ref().map_or(Duration::ZERO, |delay| *delay.get_ref());
    Ok(PathConfig { line, delay, air: air(direction, read)? })
}

/// The air of one direction: losses first, then what happens to the bits of the rest.
fn air(direction: &Direction, read: &mut Read<'_>) -> Result<AirConfig, Fault> {
    let mut models = Vec::new();
    models.extend(direction.burst.map(Model::Pattern));
    models.extend(direction.loss.as_ref().map(|loss| Model::Loss(*loss.get_ref())));
    models.extend(direction.gemodel.map(Model::FrameBursts));
    models.extend(direction.ber.as_ref().map(|ber| Model::BitErrors(*ber.get_ref())));
    models.extend(direction.bit_gemodel.map(Model::BitBursts));
    models.extend(direction.corrupt.as_ref().map(|probability| {
        let probability = *probability.get_ref();
        Model::Window(channel::Window { probability, bits: 1, rate: Probability::ONE })
    }));
    models.extend(direction.truncate.as_ref().map(|probability| {
        Model::Truncation(Truncation { probability: *probability.get_ref(), least: 0 })
    }));
    let exposed = |what| direction.expose.iter().flatten().any(|exposed| *exposed == what);
    let mut exposure = Exposure {
        header: exposed(Exposed::Header),
        trailer: exposed(Exposed::Trailer),
        control: exposed(Exposed::Control),
    };
    if let Some(trace) = &direction.error_trace {
        let name = trace.get_ref();
        let fault = |message: String| Fault::at(trace.span(), message);
        let bytes = read(name).map_err(|e| fault(format!("cannot read {name}: {e}")))?;
        let trace = ErrorTrace::from_bytes(&bytes).map_err(|e| fault(format!("{name}: {e}")))?;
        // What a trace tells of must be exposed, or its events would hit other frames and bits.
        let is_whole = trace.header().origin == Origin::Frame;
        exposure.header |= is_whole;
        exposure.trailer |= is_whole;
        exposure.control |= trace.header().frames == Counted::All;
        models.push(Model::Replay(Arc::new(trace)));
    }
    let range = direction.range.as_ref().map(|range| range.get_ref().0.clone());
    Ok(AirConfig { models, exposure, range })
}

#[cfg(test)]
mod tests;
