//! What the stations of a scenario are like, worked out.

use core::net::IpAddr;
use std::collections::BTreeMap;

use windfall_energy::EnergyModel;
use windfall_settings::tcp::TcpSettings;
use windfall_stack::ProcessorConfig;

use crate::values::Prefix;

/// The stations of a scenario, in its order, by their names.
pub(crate) type Places<'a> = BTreeMap<&'a str, usize>;

/// A station, worked out.
#[derive(Clone, Debug, PartialEq)]
pub struct StationPlan {
    /// The name of the station.
    pub name: String,
    /// The station forwards packets between its interfaces.
    pub forward: bool,
    /// The host and its applications are simulated in any case.
    pub simulated: bool,
    /// The settings of its TCP, where its host is simulated.
    pub tcp: TcpSettings,
    /// The model of its energy, if the scenario names one.
    pub energy: Option<EnergyModel>,
    /// Its processor, where its host is simulated; without one, work takes no time.
    pub processor: Option<ProcessorConfig>,
    /// Its interfaces, in the order of the links.
    pub interfaces: Vec<InterfacePlan>,
    /// The routes that it names; if there are none, it takes the shortest ways, which
    /// [`Topology::routes`](crate::Topology::routes) tells.
    pub routes: Vec<StationRoute>,
}

/// An interface of a station, worked out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InterfacePlan {
    /// The link, by its place in the scenario.
    pub link: usize,
    /// The end of the link, in the order of the medium's ports.
    pub end: usize,
    /// The addresses of the interface.
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

/// Returns the stations that hear what station `from` sends to a group: all others on its first
/// link with addresses of the family.
#[must_use]
pub fn group_members(stations: &[StationPlan], from: usize, group: IpAddr) -> Vec<usize> {
    let is_of_family = |own: &Prefix| own.address.is_ipv4() == group.is_ipv4();
    let mut own = stations[from].interfaces.iter();
    let first = own.find(|it| it.addresses.iter().any(is_of_family)).map(|it| it.link);
    let is_on = |station: &StationPlan| station.interfaces.iter().any(|it| Some(it.link) == first);
    (0..stations.len()).filter(|at| *at != from && is_on(&stations[*at])).collect()
}

/// The station that has an address.
pub(crate) fn owner(stations: &[StationPlan], address: IpAddr) -> Option<usize> {
    let has = |station: &StationPlan| {
        let mut all = station.interfaces.iter().flat_map(|interface| &interface.addresses);
        all.any(|own| own.address == address)
    };
    stations.iter().position(has)
}
