//! Scenarios over a circuit in simulated time.

use std::collections::BTreeMap;

use windfall_base::{Instant, PacketEventKind, Seed};
use windfall_network::Recording;
use windfall_scenario::Scenario;
use windfall_scenario::sim::Simulation;

use crate::experiment::ExperimentError;

/// The outcome of a simulation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Simulated {
    /// The numbers that applications report, by name; of one name the last.
    reports: BTreeMap<&'static str, f64>,
    /// The times from the device to the device of the packets that were delivered, in seconds.
    pub(crate) delays: Vec<f64>,
    /// Packets that were dropped.
    pub(crate) dropped: u64,
}

impl Simulated {
    /// Returns a number that an application reports.
    pub(crate) fn report(&self, name: &str) -> f64 {
        self.reports.get(name).copied().unwrap_or(f64::NAN)
    }
}

/// Runs a scenario to its end.
pub(crate) fn simulate(
    figure: &'static str,
    text: &str,
    seed: Seed,
) -> Result<Simulated, ExperimentError> {
    let failed = |message: String| ExperimentError::Scenario { figure, message };
    let scenario = Scenario::parse(figure, text).map_err(|error| failed(error.to_string()))?;
    let no_files = &mut |name: &str| Err(std::io::Error::other(format!("it names {name}")));
    let topology = scenario.topology(0, (figure, text), no_files);
    let topology = topology.map_err(|error| failed(error.to_string()))?;
    let mut simulation =
        Simulation::new(&topology, seed).map_err(|error| failed(error.to_string()))?;
    simulation.network_mut().record(Recording { events: true, packets: false });
    let mut entered: BTreeMap<u64, Instant> = BTreeMap::new();
    let mut outcome = Simulated::default();
    let end = simulation.end();
    let ran = simulation.run(end, &mut |event| {
        let Some((tag, happened)) = event.what.named_packet() else { return Ok(()) };
        match happened {
            PacketEventKind::Queued { .. } => {
                entered.insert(tag.0, event.at);
            }
            PacketEventKind::Delivered { .. } => {
                let since = entered.remove(&tag.0);
                let delay = since.map(|since| event.at.saturating_since(since).as_secs_f64());
                outcome.delays.extend(delay);
            }
            PacketEventKind::Dropped(drop) if !drop.kept => outcome.dropped += 1,
            _ => {}
        }
        Ok(())
    });
    ran.map_err(|error| failed(error.to_string()))?;
    let network = simulation.network();
    for station in (0..2).filter_map(|number| network.station(number)) {
        let reports = station.reports(simulation.now()).flatten();
        outcome.reports.extend(reports.map(|(name, value)| (name, value.number())));
    }
    Ok(outcome)
}
