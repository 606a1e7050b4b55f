//! Simulations that benchmarks run.

use windfall_base::Seed;
use windfall_scenario::Scenario;
use windfall_scenario::sim::Simulation;

/// Returns the simulation of a scenario that reads no other file.
///
/// # Panics
/// If the text is no such scenario.
#[must_use]
pub fn simulation(text: &str) -> Simulation {
    let scenario = Scenario::parse("bench.toml", text).expect("a legal scenario");
    let mut read = |_: &str| Err(std::io::Error::from(std::io::ErrorKind::NotFound));
    let topology = scenario.topology(0, ("", ""), &mut read).expect("nothing to read");
    Simulation::new(&topology, Seed(1)).expect("a legal topology")
}

/// Counts the frames that it has sent, polls and acknowledgements included.
#[must_use]
pub fn frames(simulation: &Simulation) -> u64 {
    let network = simulation.network();
    let ledgers = network.interfaces().map(|interface| network.ledger(interface));
    ledgers.map(|ledger| ledger.packets.frames + ledger.control_frames).sum()
}
