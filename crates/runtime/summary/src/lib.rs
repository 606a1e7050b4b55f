//! Sums up a run from its network: the same for simulated and for real time.
//!
//! - [`of_simulation`]: the whole [`Summary`] of a run in simulated time.
//! - [`of_network`], [`add_simulated_hosts`] and [`add_radio_energy`]: its parts, in this order,
//!   for runs whose stations are others: in real time a kernel stands there.

mod applications;

use windfall_base::{Duration, Instant, Seed};
use windfall_energy::{Card, joules_per_byte};
use windfall_mac::wifi::radio::State;
use windfall_network::{ElementId, Network};
use windfall_run_output::summary::{LinkSummary, RadioSummary, StationSummary, Summary, named};
use windfall_scenario::Topology;

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
    add_radio_energy(&mut summary, network);
    summary
}

/// Sums up the links and flows of a network whose run has lasted for `duration`.
///
/// The caller adds stations and applications, and then the energy by [`add_radio_energy`].
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
        let mut link = LinkSummary::new(network.name(interface), network.ledger(interface));
        link.radio = radio_summary(network, interface, Instant::START + duration);
        summary.links.push(link);
        summary.add_flows(network, interface, &topology.flows);
    }
    summary
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

/// Adds up the energy of all radios, for each byte that arrived; links and applications are
/// entered by then.
pub fn add_radio_energy(summary: &mut Summary, network: &Network) {
    let delivered = network.interfaces().map(|it| network.ledger(it).delivered_bytes).sum();
    summary.add_energy(delivered);
}

//= S2.22
/// Returns the time that the radio of an interface spent in each state up to `now`, and its energy
/// by the currents of paper 002's card; `None` where there is no radio of 802.11.
fn radio_summary(network: &Network, interface: ElementId, now: Instant) -> Option<RadioSummary> {
    let airtime = network.airtime(interface, now)?;
    let seconds = State::ALL.map(|state| (state.name(), airtime.of(state).as_secs_f64()));
    let joules = Card::WAVELAN.joules(&airtime);
    let ledger = network.ledger(interface);
    let (sent, received) = (ledger.delivered_bytes, ledger.received_bytes);
    Some(RadioSummary {
        seconds: seconds.into_iter().filter(|(_, seconds)| *seconds > 0.0).collect(),
        joules,
        role: match sent + received {
            0 => "bystander",
            _ if sent >= received => "sender",
            _ => "receiver",
        },
        bytes_moved: sent + received,
        joules_per_byte: joules_per_byte(joules, sent + received),
    })
}

#[cfg(test)]
mod tests;
