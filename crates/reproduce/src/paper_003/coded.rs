//! Throughput over coded frames in the places of Table 1, in simulated time.

use windfall_base::Duration;
use windfall_scenario::{Direction, Environment, Flags, Policy, Scenario};
use windfall_sim::Simulation;

use crate::error::Error;
use crate::figure::{Context, Effort};

const SPRAY: &str = include_str!("../../../../scenarios/paper-003/coded-spray.toml");
const TCP: &str = include_str!("../../../../scenarios/paper-003/coded-tcp.toml");
/// Bytes of data in each sprayed packet.
const SIZE: f64 = 1168.0;

/// What one policy achieves in one place, in KB/s.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cell {
    pub(super) place: Environment,
    pub(super) policy: Policy,
    /// What the spray got through.
    pub(super) udp: f64,
    /// What a TCP transfer got through; `None` if it was not asked for.
    pub(super) tcp: Option<f64>,
}

/// Every policy in every place; the places are the outer order.
///
/// # Errors
/// If the scenario is wrong.
pub(super) fn cells(
    context: &Context<'_>,
    figure: &'static str,
    with_tcp: bool,
) -> Result<Vec<Cell>, Error> {
    let mut cells = Vec::new();
    for place in Environment::ALL {
        for policy in Policy::ALL {
            (context.progress)(&format!("{policy} in {place}"));
            let udp = spray(context, figure, place, policy)?;
            let tcp = match with_tcp {
                true => Some(transfer(context, figure, direction(place, policy))?.0),
                false => None,
            };
            cells.push(Cell { place, policy, udp, tcp });
        }
    }
    Ok(cells)
}

/// Both directions of the link in a place under a policy.
pub(super) fn direction(place: Environment, policy: Policy) -> Direction {
    Direction { environment: Some(place), policy: Some(policy), ..Direction::default() }
}

/// The value of one cell.
pub(super) fn of(cells: &[Cell], place: Environment, policy: Policy) -> Option<&Cell> {
    cells.iter().find(|cell| cell.place == place && cell.policy == policy)
}

fn spray(
    context: &Context<'_>,
    figure: &'static str,
    place: Environment,
    policy: Policy,
) -> Result<f64, Error> {
    let length = match context.effort {
        Effort::Quick => Duration::from_secs(20),
        Effort::Paper => Duration::from_secs(60),
        Effort::Full => Duration::from_secs(300),
    };
    let mut simulation = spraying(context, figure, place, policy, length)?;
    simulation.finish();
    let network = simulation.network();
    let delivered = network.interfaces().next().map_or(0, |near| network.ledger(near).delivered);
    Ok(delivered as f64 * SIZE / 1e3 / length.as_secs_f64())
}

/// The throughput of a transfer from the first byte to the last, and whether it was connected.
///
/// # Errors
/// If the scenario is wrong.
pub(super) fn transfer(
    context: &Context<'_>,
    figure: &'static str,
    both: Direction,
) -> Result<(f64, bool), Error> {
    let length = match context.effort {
        Effort::Quick => Duration::from_secs(20),
        _ => Duration::from_secs(130),
    };
    let mut simulation = build(context, figure, TCP, both, length)?;
    simulation.finish();
    let network = simulation.network();
    let reports = (0..2)
        .filter_map(|number| network.station(number))
        .flat_map(|station| station.reports().flatten().collect::<Vec<_>>());
    let (mut bytes, mut seconds, mut connected) = (0.0, 0.0, false);
    for (name, value) in reports {
        match name {
            "received-bytes" => bytes = value,
            "seconds" => seconds = value,
            "connected-s" => connected = value > 0.0,
            _ => {}
        }
    }
    Ok((if seconds > 0.0 { bytes / 1e3 / seconds } else { 0.0 }, connected))
}

/// A spray that has not begun.
///
/// # Errors
/// If the scenario is wrong.
pub(super) fn spraying(
    context: &Context<'_>,
    figure: &'static str,
    place: Environment,
    policy: Policy,
    duration: Duration,
) -> Result<Simulation, Error> {
    build(context, figure, SPRAY, direction(place, policy), duration)
}

fn build(
    context: &Context<'_>,
    figure: &'static str,
    text: &'static str,
    both: Direction,
    duration: Duration,
) -> Result<Simulation, Error> {
    let failed = |message: String| Error::Scenario { figure, message };
    let mut scenario = Scenario::parse(figure, text).map_err(|error| failed(error.to_string()))?;
    let flags = Flags { both, duration: Some(duration), ..Flags::default() };
    flags.apply(&mut scenario).map_err(|error| failed(error.to_string()))?;
    let no_files = &mut |name: &str| {
        Err(std::io::Error::other(format!("the scenario must not name files: {name}")))
    };
    let topology =
        scenario.topology(0, (figure, text), no_files).map_err(|e| failed(e.to_string()))?;
    Simulation::new(&topology, context.seed).map_err(|e| failed(e.to_string()))
}
