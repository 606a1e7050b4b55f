//! Sums up a run from its network: the same for simulated and for real time.
//!
//! - [`of_simulation`]: the whole [`Summary`] of a run in simulated time.
//! - [`of_network`], [`add_simulated_hosts`] and [`add_energy`]: its parts, in this order,
//!   for runs whose stations are others: in real time a kernel stands there.
//! - [`add_idle_changes`]: the changes that changed nothing.
//! - [`queue_of`] and [`capture_name`]: names in its files.

mod applications;
mod names;

use windfall_base::{Duration, Instant, Seed};
use windfall_energy::{Card, EnergyModel, StationUsage, joules_per_byte};
use windfall_mac::wifi::radio::{Airtime, State};
use windfall_network::{ElementId, Network, SimulatedStation};
use windfall_scenario::{Change, Scenario, Side, Topology, without_span};

use crate::summary::{
    LinkSummary, RadioSummary, StationEnergySummary, StationSummary, Summary, named,
};

pub use names::{capture_name, queue_of};

/// Sums up a run in simulated time that began at [`Instant::START`] and has come to `now`.
///
/// `command` is the command line that repeats it.
#[must_use]
pub fn of_simulation(
    network: &Network,
    topology: &Topology,
    seed: Seed,
    command: impl Into<String>,
    now: Instant,
) -> Summary {
    let mut summary = of_network(network, topology, seed, command, now - Instant::START);
    add_simulated_hosts(&mut summary, network, topology, now);
    add_energy(&mut summary, network, topology, now);
    summary
}

/// Sums up the links and flows of a network whose run has lasted for `duration`.
///
/// The caller adds stations and applications, and then the energy by [`add_energy`].
#[must_use]
pub fn of_network(
    network: &Network,
    topology: &Topology,
    seed: Seed,
    command: impl Into<String>,
    duration: Duration,
) -> Summary {
    let mut summary = Summary::new(seed, command, duration);
    summary.add_overcommitted(&topology.overcommitted);
    for interface in network.interfaces() {
        let (ledger, awaited) = network.open_ledger(interface);
        let mut link = LinkSummary::new(network.name(interface), &ledger);
        link.awaiting_repair = awaited;
        let station = topology.stations.get(network.station_of(interface));
        let model = station.and_then(|station| station.energy.as_ref());
        let card = model.map_or(Card::WAVELAN, |model| model.card);
        link.radio = radio_summary(network, interface, Instant::START + duration, &card);
        summary.links.push(link);
        summary.add_flows(network, interface, &topology.flows);
    }
    summary
}

/// Adds the changes of `scenario` that no frame has met before the run `ended`; their times were
/// written from `began` on.
pub fn add_idle_changes(
    summary: &mut Summary,
    scenario: &Scenario,
    began: Duration,
    ended: Instant,
    network: &Network,
    topology: &Topology,
) {
    let met = |link: usize, side: Side| -> Vec<Instant> {
        let ends = topology.sides.get(link).into_iter().flatten().enumerate();
        let ends = ends.filter(|(_, it)| **it == side).map(|(end, _)| end);
        let met = ends.flat_map(|end| network.changes_met(link, end));
        met.copied().filter(|at| *at < ended).collect()
    };
    let idle = scenario.idle_changes(&met);
    summary.never_acted.extend(idle.into_iter().map(|it| named_change(it, began)));
}

/// Names a change as users write it: its time counts from `began`, the start of a command, and one
/// that was made during the run, between any two microseconds, is in whole milliseconds.
fn named_change(change: &Change, began: Duration) -> String {
    let at = *change.at.get_ref();
    let at = if at < began { at } else { at.saturating_sub(began) };
    let is_written = at.as_nanos() % 1_000 == 0;
    let at = if is_written { at } else { Duration::from_millis(at.as_millis()) };
    let change = Change { at: without_span(at), ..change.clone() };
    format!("change {change}")
}

/// Adds what the simulated hosts dropped, the steps of their TCP, and what their applications
/// measured up to `now`.
pub fn add_simulated_hosts(
    summary: &mut Summary,
    network: &Network,
    topology: &Topology,
    now: Instant,
) {
    for (number, plan) in topology.stations.iter().enumerate() {
        let Some(station) = network.station(number) else { continue };
        summary.stations.push(StationSummary {
            name: plan.name.clone(),
            dropped_after: named(&station.ledger().drops),
            tcp: station.tcp_operations().iter().filter(|(_, n)| *n > 0).collect(),
            ..StationSummary::default()
        });
    }
    summary.applications.extend(applications::summaries(network, topology, now));
}

/// Adds the energy of all radios, for each byte that arrived, and that of each station for which
/// the scenario names an energy model; links, stations and applications are entered by then.
pub fn add_energy(summary: &mut Summary, network: &Network, topology: &Topology, now: Instant) {
    let delivered = network.interfaces().map(|it| network.ledger(it).delivered_bytes).sum();
    summary.add_energy(delivered);
    let plans = topology.stations.iter().enumerate();
    for (number, plan) in plans.filter(|(_, plan)| plan.energy.is_some()) {
        let own = summary.stations.iter_mut().find(|station| station.name == plan.name);
        if let (Some(own), Some(model)) = (own, &plan.energy) {
            own.energy = Some(station_energy(model, network, number, now));
        }
    }
}

/// Returns what the station `number` did up to `now`, as far as it takes energy.
#[must_use]
pub fn station_usage(network: &Network, number: usize, now: Instant) -> StationUsage {
    let mut airtime = Airtime::default();
    let own = network.interfaces().filter(|it| network.station_of(*it) == number);
    for radio in own.filter_map(|interface| network.airtime(interface, now)) {
        for state in State::ALL {
            airtime.add(state, radio.of(state));
        }
    }
    let station = network.station(number);
    StationUsage {
        airtime,
        operations: station.map(SimulatedStation::tcp_operations).unwrap_or_default(),
        span: now - Instant::START,
    }
}

//= S2.28
/// Returns the energy of the station `number` up to `now` by its model.
fn station_energy(
    model: &EnergyModel,
    network: &Network,
    number: usize,
    now: Instant,
) -> StationEnergySummary {
    let usage = station_usage(network, number, now);
    let energy = model.energy(&usage);
    let own = network.interfaces().filter(|it| network.station_of(*it) == number);
    let own: Vec<ElementId> = own.collect();
    let ledgers = own.iter().map(|it| network.ledger(*it));
    let bytes = ledgers.map(|it| it.delivered_bytes + it.received_bytes).sum();
    StationEnergySummary {
        model: model.name.clone(),
        joules: energy.total(),
        platform_joules: energy.platform,
        radios: own.iter().filter(|it| network.airtime(**it, now).is_some()).count(),
        radio_joules: energy.of_radio(),
        tcp_joules: energy.processor.total(),
        part_joules: energy.parts().filter(|(_, joules)| *joules > 0.0).collect(),
        bytes,
        joules_per_byte: joules_per_byte(energy.total(), bytes),
        lifetime_seconds: model.lifetime(&usage).map(Duration::as_secs_f64),
    }
}

//= S2.22
/// Returns the time that the radio of an interface spent in each state up to `now`, and its energy
/// by the currents of `card`; `None` where there is no radio of 802.11.
fn radio_summary(
    network: &Network,
    interface: ElementId,
    now: Instant,
    card: &Card,
) -> Option<RadioSummary> {
    let airtime = network.airtime(interface, now)?;
    let seconds = State::ALL.map(|state| (state.name().into(), airtime.of(state).as_secs_f64()));
    let joules = card.joules(&airtime);
    let ledger = network.ledger(interface);
    let sent = ledger.delivered_bytes;
    let received = ledger.received_bytes;
    Some(RadioSummary {
        seconds: seconds.into_iter().filter(|(_, seconds)| *seconds > 0.0).collect(),
        joules,
        role: match sent + received {
            0 => "bystander".into(),
            _ if sent >= received => "sender".into(),
            _ => "receiver".into(),
        },
        bytes_moved: sent + received,
        joules_per_byte: joules_per_byte(joules, sent + received),
    })
}

#[cfg(test)]
mod tests;
