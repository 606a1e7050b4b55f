//! The measures of the applications on simulated hosts.

use std::collections::BTreeMap;

use windfall_base::Instant;
use windfall_network::{AppConfig, Network};
use windfall_scenario::{Topology, group_members, is_group};
use windfall_stack::socket_api::{Measured, Transport};

use crate::summary::ApplicationSummary;

/// Returns what the applications measured up to `now`, station by station, each named by its kind
/// and place, and by its address where one station has several of a kind.
pub(crate) fn summaries(
    network: &Network,
    topology: &Topology,
    now: Instant,
) -> Vec<ApplicationSummary> {
    let measures = measures(network, topology, now);
    let mut summaries = Vec::new();
    let hosts = topology.stations.iter().enumerate();
    for (number, plan) in hosts.filter(|(number, _)| network.station(*number).is_some()) {
        let all = topology.apps.iter().zip(&measures);
        let own: Vec<_> = all.filter(|(app, _)| app.station == number).collect();
        for (app, measures) in &own {
            let of_kind = own.iter().filter(|(it, _)| it.config.name() == app.config.name());
            let mut name = format!("{} at {}", app.config.name(), plan.name);
            if of_kind.count() > 1 {
                name = format!("{name} {}", app.config.endpoint());
            }
            let measures = (*measures).clone();
            summaries.push(ApplicationSummary { name, measures });
        }
    }
    summaries
}

/// The measures of an application, by name.
type Measures = BTreeMap<&'static str, Measured>;

/// Returns what each application of the plan measured, and for each sink what was sent to it, which
/// it cannot know by itself.
fn measures(network: &Network, topology: &Topology, now: Instant) -> Vec<Measures> {
    let stations = (0..topology.stations.len()).map(|number| network.station(number));
    let reports =
        stations.map(|station| station.into_iter().flat_map(|station| station.reports(now)));
    let mut reports: Vec<_> = reports.collect();
    let own = topology.apps.iter().map(|app| reports[app.station].next().unwrap_or_default());
    let mut all: Vec<Measures> = own.map(|report| report.into_iter().collect()).collect();
    let sent = sent(topology, &all);
    for (app, measures) in topology.apps.iter().zip(&mut all) {
        let (local, protocol) = match &app.config {
            AppConfig::Sink(sink) => (sink.local, of_datagrams(sink.transport)),
            AppConfig::SapSink(sink) => (sink.local, Protocol::Sap),
            _ => continue,
        };
        let of = |station| sent.get(&(station, local.port(), protocol)).copied();
        let sent = of(None).is_none().then(|| of(Some(app.station)).unwrap_or(0));
        let count = |name| measures.get(name).map_or(0, |it| it.number() as u64);
        let arrived = count("received") - count("duplicates");
        let missing = sent.map(|sent| sent.saturating_sub(arrived));
        measures.insert("sent", sent.map_or(Measured::Absent, Measured::Count));
        measures.insert("missing", missing.map_or(Measured::Absent, Measured::Count));
    }
    all
}

/// The protocol of a receiver; each has ports of its own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Protocol {
    Udp,
    UdpLite,
    Sap,
}

fn of_datagrams(transport: Transport) -> Protocol {
    match transport {
        Transport::UdpLite { .. } => Protocol::UdpLite,
        _ => Protocol::Udp,
    }
}

/// The place that datagrams or messages are sent to: the station, if the address is one's; the
/// port; and the protocol.
type Place = (Option<usize>, u16, Protocol);

/// The datagrams and messages that were sent to each place.
fn sent(topology: &Topology, measures: &[Measures]) -> BTreeMap<Place, u64> {
    let addresses = topology.stations.iter().enumerate().flat_map(|(number, station)| {
        let all = station.interfaces.iter().flat_map(|it| &it.addresses);
        all.map(move |prefix| (prefix.address, number))
    });
    let addresses: BTreeMap<_, _> = addresses.collect();
    let mut sent = BTreeMap::new();
    for (app, measures) in topology.apps.iter().zip(measures) {
        let (to, protocol) = match &app.config {
            AppConfig::Spray(config) | AppConfig::Cbr(config) => {
                (config.to, of_datagrams(config.transport))
            }
            AppConfig::SapBulk(config) | AppConfig::SapStream(config) => (config.to, Protocol::Sap),
            _ => continue,
        };
        let number = measures.get("sent").map_or(0, |it| it.number() as u64);
        let stations = if is_group(to.ip()) {
            let members = group_members(&topology.stations, app.station, to.ip());
            members.into_iter().map(Some).collect()
        } else {
            vec![addresses.get(&to.ip()).copied()]
        };
        for station in stations {
            *sent.entry((station, to.port(), protocol)).or_default() += number;
        }
    }
    sent
}
