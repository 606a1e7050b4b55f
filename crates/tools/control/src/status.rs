//! The status of a run, as JSON.

use serde_json::{Map, Value, json};
use windfall_base::{Instant, Seed};
use windfall_live::Lateness;
use windfall_live::driver::PUNCTUAL;
use windfall_network::Network;
use windfall_output::series::Sample;
use windfall_output::summary::LatenessSummary;
use windfall_scenario::{Direction, LinkKind, Scenario, Settings as _, Topology};

/// Returns the delays of a run, and its pauses.
#[must_use]
pub fn lateness_summary(lateness: &Lateness) -> LatenessSummary {
    LatenessSummary {
        delivered: lateness.delivered,
        late_deliveries: lateness.late,
        threshold_seconds: PUNCTUAL.as_secs_f64(),
        reads: lateness.read,
        late_reads: lateness.read_late,
        worst_seconds: lateness.worst.as_secs_f64(),
        disturbed: lateness.pauses > 0,
        pauses: lateness.pauses,
        paused_seconds: lateness.paused.as_secs_f64(),
        longest_pause_seconds: lateness.longest_pause.as_secs_f64(),
    }
}

/// The ledgers of links and flows, the stations and the lateness.
pub(crate) fn of_run(
    now: Instant,
    network: &Network,
    topology: &Topology,
    seed: Seed,
    lateness: &Lateness,
) -> Value {
    let span = now - Instant::START;
    let summary = windfall_output::totals::of_network(network, topology, seed, "", span);
    let stations = topology.stations.iter().map(|station| {
        let addresses = station.interfaces.iter().flat_map(|interface| &interface.addresses);
        let addresses: Vec<_> = addresses.map(|prefix| prefix.address.to_string()).collect();
        json!({ "name": station.name, "addresses": addresses })
    });
    json!({
        "t": now.as_secs_f64(),
        "seed": seed.0,
        "stations": stations.collect::<Vec<_>>(),
        "links": summary.links,
        "flows": summary.flows,
        "lateness": lateness_summary(lateness),
    })
}

/// Adds the settings and the queue of each direction.
pub(crate) fn add_links(
    status: &mut Value,
    scenario: &Scenario,
    network: &Network,
    topology: &Topology,
    now: Instant,
) {
    let ends = topology.network.links.iter().enumerate();
    let ends = ends.flat_map(|(link, config)| (0..config.ends.len()).map(move |end| (link, end)));
    let links = status.get_mut("links").and_then(Value::as_array_mut).into_iter().flatten();
    for ((id, (place, end)), entry) in network.interfaces().zip(ends).zip(links) {
        let Some(entry) = entry.as_object_mut() else { continue };
        let link = &scenario.links[place];
        let is_pipe = link.kind() == LinkKind::Pipe;
        let side = topology.sides[place][end];
        let direction = scenario.direction_at(place, side, now - Instant::START);
        let (packets, bytes) = network.queue_len(id);
        entry.insert("link".to_owned(), link.name().into());
        entry.insert("direction".to_owned(), side.name().into());
        entry.insert("can_change".to_owned(), is_pipe.into());
        entry.insert("settings".to_owned(), settings(&direction).into());
        entry.insert("queue".to_owned(), json!({ "packets": packets, "bytes": bytes }));
        let delivered = network.ledger(id).delivered_bytes;
        entry.insert("delivered_bytes".to_owned(), delivered.into());
    }
}

/// The settings that are not left out.
fn settings(direction: &Direction) -> Map<String, Value> {
    let settings = Direction::TABLE.iter();
    let text = settings.filter_map(|it| Some((it.name.to_owned(), it.text(direction)?.into())));
    text.collect()
}

/// Adds what each direction and flow did in the last window, once there is one.
pub(crate) fn add_recent(status: &mut Value, window: Option<&Vec<Sample>>) {
    let window = window.map_or(&[][..], Vec::as_slice);
    for entry in status.get_mut("links").and_then(Value::as_array_mut).into_iter().flatten() {
        let of_link = |sample: &&Sample| sample.flow.is_none() && entry["name"] == *sample.link;
        let recent = window.iter().find(of_link);
        let recent = recent.map(|it| serde_json::to_value(it).unwrap_or_default());
        entry["recent"] = recent.unwrap_or_default();
    }
    for entry in status.get_mut("flows").and_then(Value::as_array_mut).into_iter().flatten() {
        let of_flow = |sample: &&Sample| {
            entry["link"] == *sample.link && entry["name"].as_str() == sample.flow.as_deref()
        };
        let recent = window.iter().find(of_flow);
        let recent = recent.map(|it| serde_json::to_value(it).unwrap_or_default());
        entry["recent"] = recent.unwrap_or_default();
    }
}
