//! Names in the files of a run.

use windfall_network::{ElementId, Network};
use windfall_scenario::Topology;

/// Returns the queue at one end of the first link, in mahimahi's terms where it has one.
#[must_use]
pub fn queue_of(topology: &Topology, end: usize) -> String {
    let end = topology.network.links.first().and_then(|link| link.ends.get(end));
    let limits = end.map(|end| end.interface.queue).unwrap_or_default();
    let discipline = end.map(|end| end.interface.discipline).unwrap_or_default();
    let bounds = [("packets", limits.packets), ("bytes", limits.bytes)];
    let bounds = bounds.into_iter().filter(|(_, bound)| *bound < usize::MAX);
    let bounds: Vec<_> = bounds.map(|(name, bound)| format!("{name}={bound}")).collect();
    let discipline = discipline.to_string();
    let name = match (discipline.as_str(), bounds.is_empty()) {
        ("fifo", true) => "infinite",
        ("fifo", false) => "droptail",
        (other, _) => other,
    };
    let bounds = bounds.join(", ");
    if bounds.is_empty() { name.to_owned() } else { format!("{name} [{bounds}]") }
}

/// Returns the name of a capture: the station, and the link if the station has several.
#[must_use]
pub fn capture_name(topology: &Topology, network: &Network, interface: ElementId) -> String {
    let station = &topology.stations[network.station_of(interface)];
    if station.interfaces.len() == 1 {
        return format!("{}.pcapng", station.name);
    }
    let link = network.name(interface).split('/').next().unwrap_or_default();
    format!("{}-{link}.pcapng", station.name)
}
