//! The status of a run.

use std::collections::BTreeMap;

use windfall_base::{Instant, Seed};
use windfall_live::Lateness;
use windfall_live::driver::PUNCTUAL;
use windfall_network::Network;
use windfall_output::series::Sample;
use windfall_output::summary::{FlowSummary, LatenessSummary, LinkSummary, Summary};
use windfall_scenario::{Direction, Scenario, Settings as _, StationPlan, Topology};

use crate::protocol::{FlowStatus, LinkStatus, QueueStatus, StationStatus};

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

/// The ledgers of links and flows.
pub(crate) fn summary(now: Instant, network: &Network, topology: &Topology, seed: Seed) -> Summary {
    windfall_output::totals::of_network(network, topology, seed, "", now - Instant::START)
}

/// The stations, with their addresses.
pub(crate) fn stations(topology: &Topology) -> Vec<StationStatus> {
    let station = |station: &StationPlan| {
        let addresses = station.interfaces.iter().flat_map(|interface| &interface.addresses);
        let addresses = addresses.map(|prefix| prefix.address.to_string()).collect();
        StationStatus { name: station.name.clone(), addresses }
    };
    topology.stations.iter().map(station).collect()
}

/// A run at a moment.
pub(crate) struct RunState<'a> {
    /// The scenario with the changes that were made.
    pub(crate) scenario: &'a Scenario,
    pub(crate) topology: &'a Topology,
    pub(crate) network: &'a Network,
    pub(crate) now: Instant,
}

/// Each direction with its settings, its queue, and what it did in the last window.
pub(crate) fn links(
    summaries: Vec<LinkSummary>,
    run: &RunState<'_>,
    window: &[Sample],
) -> Vec<LinkStatus> {
    let RunState { scenario, topology, network, now } = *run;
    let ends = topology.network.links.iter().enumerate();
    let ends = ends.flat_map(|(link, config)| (0..config.ends.len()).map(move |end| (link, end)));
    let directions = network.interfaces().zip(ends).zip(summaries);
    let status = |((id, (place, end)), summary): ((_, (usize, usize)), LinkSummary)| {
        let link = &scenario.links[place];
        let side = topology.sides[place][end];
        let direction = scenario.direction_at(place, side, now - Instant::START);
        let (packets, bytes) = network.queue_len(id);
        let recent = window
            .iter()
            .find(|sample| sample.flow.is_none() && sample.link == summary.name)
            .cloned();
        LinkStatus {
            summary,
            link: link.name(),
            direction: side.name().to_owned(),
            can_change: link.kind().is_wire(),
            settings: settings(&direction),
            queue: QueueStatus { packets, bytes },
            delivered_bytes: network.ledger(id).delivered_bytes,
            recent,
        }
    };
    directions.map(status).collect()
}

/// The settings that are not left out.
fn settings(direction: &Direction) -> BTreeMap<String, String> {
    let settings = Direction::TABLE.iter();
    settings.filter_map(|it| Some((it.name.to_owned(), it.text(direction)?))).collect()
}

/// Each flow with what it did in the last window.
pub(crate) fn flows(summaries: Vec<FlowSummary>, window: &[Sample]) -> Vec<FlowStatus> {
    let status = |summary: FlowSummary| {
        let recent = window
            .iter()
            .find(|sample| {
                sample.link == summary.link && sample.flow.as_ref() == Some(&summary.name)
            })
            .cloned();
        FlowStatus { summary, recent }
    };
    summaries.into_iter().map(status).collect()
}
