//! Faults of connections at ports of the stations of a run.

use windfall_base::Port;
use windfall_network::Network;
use windfall_scenario::Topology;

use crate::fault_injection::{FaultCounters, Faulty, PortFaults};
use crate::live_plan;
use crate::protocol::FaultStatus;

/// Sets the faults of a port, in place of those that it had; none clear it.
///
/// # Errors
/// If there is no such station, or its host is simulated.
pub fn set(
    topology: &Topology,
    run: &mut Faulty<Network>,
    faults: PortFaults,
) -> Result<(), String> {
    let number = topology.stations.iter().position(|it| it.name == faults.station);
    let number = number.ok_or_else(|| {
        let names: Vec<_> = topology.stations.iter().map(|it| it.name.as_str()).collect();
        let text = &faults.station;
        let known = names.join(", ");
        format!("there is no station \"{text}\" for a fault: use one of {known}")
    })?;
    let station = &topology.stations[number];
    if station.simulated {
        let name = &station.name;
        return Err(format!(
            "the host of \"{name}\" is simulated, and has no connections: use another"
        ));
    }
    let addresses = station.interfaces.iter().flat_map(|interface| &interface.addresses);
    let addresses = addresses.map(|prefix| prefix.address).collect();
    let ports = live_plan(topology).ports;
    let own = (0..).zip(&ports).filter(|(_, (station, _))| *station == number);
    let own = own.map(|(port, _)| Port(port)).collect();
    run.set(faults, addresses, own);
    Ok(())
}

/// Describes the faults of a run, and what they did.
pub(crate) fn list(run: &Faulty<Network>) -> Vec<FaultStatus> {
    let row = |(faults, counters): (&PortFaults, FaultCounters)| {
        let FaultCounters { connections, withheld, made } = counters;
        FaultStatus { fault: faults.to_string(), connections, withheld, made }
    };
    run.faults().map(row).collect()
}
