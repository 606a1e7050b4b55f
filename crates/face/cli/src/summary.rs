//! The summary of a run, the same for simulated and for real time.

use std::os::fd::AsFd;

use windfall_base::text::visible;
use windfall_base::{Duration, Instant, Seed};
use windfall_energy::{Card, joules_per_byte};
use windfall_mac::wifi::radio::State;
use windfall_network::{ElementId, Network};
use windfall_run_output::summary::{LinkSummary, RadioSummary, Summary};
use windfall_scenario::Topology;

use crate::record::command_line;

/// Sums up the links and flows of a network whose run has lasted for `duration`.
///
/// The caller adds stations and applications, and then the energy by [`add_energy`].
pub(crate) fn of_network(
    network: &Network,
    topology: &Topology,
    seed: Seed,
    duration: Duration,
) -> Summary {
    let mut summary = Summary::new(seed, command_line(), duration);
    summary.add_overcommitted(&topology.overcommitted);
    for interface in network.interfaces() {
        let mut link = LinkSummary::new(network.name(interface), network.ledger(interface));
        link.radio = radio_summary(network, interface, Instant::START + duration);
        summary.links.push(link);
        summary.add_flows(network, interface, &topology.flows);
    }
    summary
}

/// Adds up the energy of all radios, for each byte that arrived.
pub(crate) fn add_energy(summary: &mut Summary, network: &Network) {
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

/// Returns the summary as text, as wide as the terminal that it is for.
pub(crate) fn to_text(summary: &Summary, terminal: &impl AsFd) -> String {
    let text = match rustix::termios::tcgetwinsize(terminal) {
        Ok(size) if size.ws_col > 0 => summary.to_text_within(size.ws_col.into()),
        _ => summary.to_text(),
    };
    visible(&text).into_owned()
}
