//! Throughput over coded frames in the places of Table 1, in simulated time.

use windfall_base::{Duration, Seed};
use windfall_scenario::{Direction, ENVIRONMENT_FRAMES, Environment, Flags, Policy, Scenario};
use windfall_sim::Simulation;

use crate::error::Error;
use crate::figure::{Context, Effort};

const SPRAY: &str = include_str!("../../../../scenarios/paper-003/coded-spray.toml");
const TCP: &str = include_str!("../../../../scenarios/paper-003/coded-tcp.toml");
/// Bytes of data in each sprayed packet.
const SIZE: f64 = 1168.0;

/// What reads the files that a scenario names.
type Read<'a> = dyn FnMut(&str) -> std::io::Result<Vec<u8>> + 'a;

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
                true => Some(transfers(context, figure, place, policy)?),
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
    Ok(goodput(spraying(context, figure, place, policy, length)?, length))
}

/// What a spray gets through, in KB/s.
fn goodput(mut simulation: Simulation, length: Duration) -> f64 {
    simulation.finish();
    let network = simulation.network();
    let delivered = network.interfaces().next().map_or(0, |near| network.ledger(near).delivered);
    delivered as f64 * SIZE / 1e3 / length.as_secs_f64()
}

/// What a spray gets through in another trace of a place, that of `seed`, in KB/s.
///
/// # Errors
/// If the scenario is wrong.
pub(super) fn spray_in(
    context: &Context<'_>,
    figure: &'static str,
    place: Environment,
    policy: Policy,
    seed: Seed,
) -> Result<f64, Error> {
    let length = Duration::from_secs(60);
    let both = Direction { policy: Some(policy), ..Direction::default() };
    let simulation =
        build(context, figure, &in_trace(SPRAY), both, length, &mut traces(place, seed))?;
    Ok(goodput(simulation, length))
}

/// The mean throughput of transfers of 1 MB, each through a trace of its own; five in the paper.
fn transfers(
    context: &Context<'_>,
    figure: &'static str,
    place: Environment,
    policy: Policy,
) -> Result<f64, Error> {
    let runs = match context.effort {
        Effort::Quick => 1,
        Effort::Paper | Effort::Full => 5,
    };
    let mut sum = transfer(context, figure, direction(place, policy))?.0;
    for number in 1..runs {
        let both = Direction { policy: Some(policy), ..Direction::default() };
        let seed = Seed(context.seed.0.wrapping_add(200 + number));
        sum += run_transfer(context, figure, &in_trace(TCP), both, &mut traces(place, seed))?.0;
    }
    Ok(sum / runs as f64)
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
    run_transfer(context, figure, TCP, both, &mut no_files)
}

fn run_transfer(
    context: &Context<'_>,
    figure: &'static str,
    text: &str,
    both: Direction,
    read: &mut Read<'_>,
) -> Result<(f64, bool), Error> {
    let length = match context.effort {
        Effort::Quick => Duration::from_secs(20),
        _ => Duration::from_secs(130),
    };
    let mut simulation = build(context, figure, text, both, length, read)?;
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

/// A scenario in a trace that is read instead of that of its environment.
fn in_trace(text: &str) -> String {
    text.replace("environment = \"table\"", "error-trace = \"another\"")
}

/// Reads the trace of a place that `seed` gives, whatever its name.
fn traces(place: Environment, seed: Seed) -> impl FnMut(&str) -> std::io::Result<Vec<u8>> {
    move |_| Ok(place.synthesize(seed, ENVIRONMENT_FRAMES).to_text().into())
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
    build(context, figure, SPRAY, direction(place, policy), duration, &mut no_files)
}

fn build(
    context: &Context<'_>,
    figure: &'static str,
    text: &str,
    both: Direction,
    duration: Duration,
    read: &mut Read<'_>,
) -> Result<Simulation, Error> {
    let failed = |message: String| Error::Scenario { figure, message };
    let mut scenario = Scenario::parse(figure, text).map_err(|error| failed(error.to_string()))?;
    let flags = Flags { both, duration: Some(duration), ..Flags::default() };
    flags.apply(&mut scenario).map_err(|error| failed(error.to_string()))?;
    let topology = scenario.topology(0, (figure, text), read).map_err(|e| failed(e.to_string()))?;
    Simulation::new(&topology, context.seed).map_err(|e| failed(e.to_string()))
}

fn no_files(name: &str) -> std::io::Result<Vec<u8>> {
    Err(std::io::Error::other(format!("the scenario must not name files: {name}")))
}
