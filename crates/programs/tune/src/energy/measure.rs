//! One run of a scenario, and what it took.

use windfall_base::{Duration, Instant, Seed};
use windfall_scenario::Topology;
use windfall_scenario::sim::Simulation;

use crate::lifetimes::WARM_UP;

/// The energy and the traffic of a run after its first sixth: what fills the buffers first is
/// copied and summed, but not sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Taken {
    /// Joules of all stations that have a model.
    pub(super) joules: f64,
    /// Bytes that applications received.
    pub(super) bytes: f64,
    /// The time, in seconds.
    pub(super) seconds: f64,
    /// The time until the first battery is empty, in seconds, if a station has one.
    pub(super) lifetime: Option<f64>,
    /// Packets of IP that stations sent, and those that were delivered.
    pub(super) packets: f64,
    /// The share of the time in which a radio sent.
    pub(super) airtime: f64,
}

/// The work of all stations up to a moment.
struct Totals {
    usage: Vec<windfall_energy::StationUsage>,
    bytes: f64,
    packets: u64,
}

impl Totals {
    fn of(simulation: &Simulation, topology: &Topology) -> Self {
        let network = simulation.network();
        let now = simulation.now();
        let numbers = 0..topology.stations.len();
        let stations = numbers.clone().filter_map(|number| network.station(number));
        let reports = stations.flat_map(|station| station.reports(now));
        let received = reports.flatten().filter(|(name, _)| *name == "received_bytes");
        Self {
            usage: numbers
                .map(|it| windfall_output::totals::station_usage(network, it, now))
                .collect(),
            bytes: received.map(|(_, measured)| measured.number()).sum(),
            packets: network.interfaces().map(|it| network.ledger(it).delivered).sum(),
        }
    }
}

/// Runs a scenario once.
pub(super) fn measure(topology: &Topology, seed: Seed) -> Result<Taken, String> {
    let failed = |error: &dyn core::fmt::Display| error.to_string();
    let mut simulation = Simulation::new(topology, seed).map_err(|error| failed(&error))?;
    let warm = Instant::START + (simulation.end() - Instant::START) / WARM_UP;
    simulation.run(warm, &mut |_| Ok(())).map_err(|error| failed(&error))?;
    let before = Totals::of(&simulation, topology);
    let end = simulation.end();
    simulation.run(end, &mut |_| Ok(())).map_err(|error| failed(&error))?;
    let after = Totals::of(&simulation, topology);
    let mut joules = 0.0;
    let mut airtime = 0.0;
    let mut lifetime = None::<f64>;
    for (number, station) in topology.stations.iter().enumerate() {
        let usage = after.usage[number].since(&before.usage[number]);
        let state = windfall_mac::wifi::radio::State::Transmit;
        airtime += usage.airtime.of(state).as_secs_f64();
        let Some(model) = &station.energy else { continue };
        joules += model.energy(&usage).total();
        if let Some(own) = model.lifetime(&usage).map(Duration::as_secs_f64) {
            lifetime = Some(lifetime.map_or(own, |least| least.min(own)));
        }
    }
    let seconds = (end - warm).as_secs_f64();
    Ok(Taken {
        joules,
        bytes: after.bytes - before.bytes,
        seconds,
        lifetime,
        packets: (after.packets - before.packets) as f64,
        airtime: airtime / seconds,
    })
}
