//! Scenarios as text, run in simulated time.

use std::collections::BTreeMap;
use std::path::Path;

use windfall_base::Seed;
use windfall_network::{ElementId, LinkLedger};
use windfall_scenario::sim::Simulation;
use windfall_scenario::{Scenario, Topology};

/// The interface of the first station of the first link.
pub const UPLINK: ElementId = ElementId(0);

/// Two stations, `near` and `far`, a link between them and applications, for `seconds` seconds.
#[must_use]
pub fn pair(seconds: u64, link: &str, apps: &str) -> String {
    format!(
        "format = 1\nduration = \"{seconds}s\"\n\
         [[station]]\nname = \"near\"\n[[station]]\nname = \"far\"\n\
         [[link]]\nname = \"air\"\nstations = [\"near\", \"far\"]\n{link}\n{apps}"
    )
}

/// The topology of a scenario; names of files count from the root of the workspace.
///
/// # Panics
/// If the scenario is not legal.
#[must_use]
pub fn topology(text: &str) -> Topology {
    let scenario = Scenario::parse("test.toml", text).unwrap_or_else(|error| panic!("{error}"));
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut read = |name: &str| std::fs::read(root.join(name));
    let topology = scenario.topology(0, ("test.toml", text), &mut read);
    topology.unwrap_or_else(|error| panic!("{error}"))
}

/// The result of a simulation.
#[derive(Debug)]
pub struct Outcome {
    /// The simulation at its end.
    pub simulation: Simulation,
    topology: Topology,
}

impl Outcome {
    /// Returns the fates of the packets that entered at an interface.
    #[must_use]
    pub fn ledger(&self, interface: ElementId) -> &LinkLedger {
        self.simulation.network().ledger(interface)
    }

    /// Returns the measurements of the first application of `kind`.
    ///
    /// # Panics
    /// If there is none.
    #[must_use]
    pub fn report(&self, kind: &str) -> BTreeMap<&'static str, f64> {
        let first = self.topology.apps.iter().find(|app| app.config.name() == kind);
        let first = first.unwrap_or_else(|| panic!("no application is a {kind}"));
        self.report_at(kind, first.station)
    }

    /// Returns the measurements of every application of `kind`, in the order of their stations.
    #[must_use]
    pub fn reports(&self, kind: &str) -> Vec<BTreeMap<&'static str, f64>> {
        let now = self.simulation.now();
        let mut found = Vec::new();
        for station in 0..self.topology.stations.len() {
            let Some(host) = self.simulation.network().station(station) else { continue };
            let own = self.topology.apps.iter().filter(|app| app.station == station);
            let of_kind = own.zip(host.reports(now)).filter(|(app, _)| app.config.name() == kind);
            let numbers = of_kind.map(|(_, report)| {
                report.into_iter().map(|(name, it)| (name, it.number())).collect()
            });
            found.extend(numbers);
        }
        found
    }

    /// Returns the measurements of the first application of `kind` at a station.
    ///
    /// # Panics
    /// If there is none.
    #[must_use]
    pub fn report_at(&self, kind: &str, station: usize) -> BTreeMap<&'static str, f64> {
        let mut own = self.topology.apps.iter().filter(|app| app.station == station);
        let number = own.position(|app| app.config.name() == kind);
        let number = number.unwrap_or_else(|| panic!("no application of {station} is a {kind}"));
        let station = self.simulation.network().station(station);
        let now = self.simulation.now();
        let report = station.and_then(|station| station.reports(now).nth(number));
        report.unwrap_or_default().into_iter().map(|(name, it)| (name, it.number())).collect()
    }
}

/// Runs a scenario to its end, and checks that every ledger balances.
///
/// # Panics
/// If the scenario is not legal, or a ledger does not balance.
#[must_use]
pub fn run(text: &str, seed: u64) -> Outcome {
    let topology = topology(text);
    let mut simulation =
        Simulation::new(&topology, Seed(seed)).unwrap_or_else(|error| panic!("{error}"));
    simulation.finish();
    let network = simulation.network();
    for interface in network.interfaces() {
        let ledger = network.ledger(interface);
        assert!(ledger.balances(), "{}: {ledger:?}", network.name(interface));
    }
    for station in 0..topology.stations.len() {
        let ledger = network.station(station).map(windfall_network::SimulatedStation::ledger);
        assert!(ledger.is_some_and(|ledger| ledger.balances()), "station {station}");
    }
    Outcome { simulation, topology }
}
