//! Throughput over coded frames in the places of Table 1, in simulated time.

use windfall_base::{Duration, Seed};
use windfall_experiment::{Context, ExperimentError, Extent};
use windfall_scenario::{
    Direction, ENVIRONMENT_FRAMES, Environment, Link, PolicyKind, RunSettings, Scenario,
    ScenarioOptions, Settings, unplaced,
};
use windfall_sim::Simulation;

const SPRAY: &str = include_str!("../../../../../scenarios/paper-003/coded-spray.toml");
const TCP: &str = include_str!("../../../../../scenarios/paper-003/coded-tcp.toml");
/// Bytes of data in each sprayed packet.
const SIZE: f64 = 1168.0;

/// Bytes of a transfer.
const LENGTH: f64 = 1e6;
/// The time limit of a transfer: NetBSD gives up connecting after 75 s.
const PATIENCE: Duration = Duration::from_secs(130);

/// The traces in which something is measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Air {
    pub(crate) place: Environment,
    /// The seed of the uplink's trace; those that `--environment` replays if there is none.
    pub(crate) trace: Option<Seed>,
}

impl Air {
    /// The traces that `--environment` replays.
    pub(crate) const fn own(place: Environment) -> Self {
        Self { place, trace: None }
    }

    /// Returns `count` traces: first those of the environment itself, then others that follow from
    /// the seed.
    fn several(context: &Context<'_>, place: Environment, count: usize) -> Vec<Self> {
        let seed = |number: usize| Seed(context.seed.0.wrapping_add(200 + number as u64));
        let trace = |number| (number > 0).then(|| seed(number));
        (0..count).map(|number| Self { place, trace: trace(number) }).collect()
    }

    /// The trace of this name, for a scenario made by [`Air::scenario`].
    fn read(self, name: &str) -> std::io::Result<Vec<u8>> {
        let Some(seed) = self.trace else {
            return Err(std::io::Error::other(format!("the scenario must not name files: {name}")));
        };
        // Both directions in one trace would fail together.
        let seed = if name == "up" { seed } else { Seed(!seed.0) };
        Ok(self.place.synthesize(seed, ENVIRONMENT_FRAMES).to_text().into())
    }

    /// The scenario in this air, and what is to be set in both directions.
    fn scenario(self, text: &str, both: Direction) -> (String, Direction) {
        match self.trace {
            None => {
                let environment = Some(unplaced(self.place));
                (text.to_owned(), Direction { environment, ..both })
            }
            Some(_) => {
                let traces = "uplink.error-trace = \"up\"\ndownlink.error-trace = \"down\"";
                (text.replace("environment = \"table\"", traces), both)
            }
        }
    }
}

/// The throughput of one policy in one place, in KB/s.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    pub(crate) place: Environment,
    pub(crate) policy: PolicyKind,
    /// The throughput of a spray, the mean over the traces.
    pub(crate) udp: f64,
    /// The throughput of a TCP transfer in each trace.
    pub(crate) tcp: Vec<f64>,
}

impl Cell {
    /// The mean of the transfers.
    pub(crate) fn mean(&self) -> f64 {
        windfall_report::statistics::mean(&self.tcp).unwrap_or(0.0)
    }
}

/// Every policy in every place, sprayed and transferred; the places are the outer order.
///
/// # Errors
/// If the scenario is wrong.
pub(crate) fn cells(
    context: &Context<'_>,
    figure: &'static str,
) -> Result<Vec<Cell>, ExperimentError> {
    let (traces, length) = match context.extent {
        Extent::Quick => (1, Duration::from_secs(20)),
        Extent::Paper => (5, Duration::from_secs(60)),
        Extent::Full => (20, Duration::from_secs(60)),
    };
    let mut cells = Vec::new();
    for place in Environment::ALL {
        for policy in PolicyKind::ALL {
            (context.progress)(&format!("{policy} in {place}"));
            let mut udp = 0.0;
            let mut tcp = Vec::new();
            for air in Air::several(context, place, traces) {
                udp += spray(context, figure, air, policy, length)? / traces as f64;
                let both = Direction { policy: Some(unplaced(policy)), ..Direction::default() };
                tcp.push(transfer(context, figure, air, both)?.rate);
            }
            cells.push(Cell { place, policy, udp, tcp });
        }
    }
    Ok(cells)
}

/// The value of one cell.
pub(crate) fn of(cells: &[Cell], place: Environment, policy: PolicyKind) -> Option<&Cell> {
    cells.iter().find(|cell| cell.place == place && cell.policy == policy)
}

/// Returns the throughput of a spray in KB/s.
///
/// # Errors
/// If the scenario is wrong.
pub(crate) fn spray(
    context: &Context<'_>,
    figure: &'static str,
    air: Air,
    policy: PolicyKind,
    length: Duration,
) -> Result<f64, ExperimentError> {
    let mut simulation = spraying(context, figure, air, policy, length)?;
    simulation.finish();
    let network = simulation.network();
    let delivered = network.interfaces().next().map_or(0, |near| network.ledger(near).delivered);
    Ok(delivered as f64 * SIZE / 1e3 / length.as_secs_f64())
}

/// The result of a transfer of 1 MB.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Transfer {
    /// Throughput from the first byte to the last, in KB/s; of one that does not end, so far.
    pub(crate) rate: f64,
    /// Set once TCP has completed its handshake.
    pub(crate) connected: bool,
}

/// Makes the same transfer in a number of traces of a place.
///
/// # Errors
/// If the scenario is wrong.
pub(crate) fn transfers(
    context: &Context<'_>,
    figure: &'static str,
    (place, both, traces): (Environment, &Direction, usize),
) -> Result<Vec<Transfer>, ExperimentError> {
    let airs = Air::several(context, place, traces).into_iter();
    airs.map(|air| transfer(context, figure, air, both.clone())).collect()
}

fn transfer(
    context: &Context<'_>,
    figure: &'static str,
    air: Air,
    both: Direction,
) -> Result<Transfer, ExperimentError> {
    let mut simulation = build(context, figure, (TCP, air), both, PATIENCE)?;
    simulation.finish();
    let network = simulation.network();
    let reports = (0..2)
        .filter_map(|number| network.station(number))
        .flat_map(|station| station.reports().flatten().collect::<Vec<_>>());
    let mut bytes = 0.0;
    let mut seconds = 0.0;
    let mut connected = false;
    for (name, value) in reports {
        match name {
            "received_bytes" => bytes = value,
            "seconds" => seconds = value,
            "connected_s" => connected = value > 0.0,
            _ => {}
        }
    }
    let seconds = if bytes < LENGTH { PATIENCE.as_secs_f64() } else { seconds };
    let rate = bytes / 1e3 / seconds;
    Ok(Transfer { rate, connected })
}

/// A spray that has not begun.
///
/// # Errors
/// If the scenario is wrong.
pub(crate) fn spraying(
    context: &Context<'_>,
    figure: &'static str,
    air: Air,
    policy: PolicyKind,
    length: Duration,
) -> Result<Simulation, ExperimentError> {
    let both = Direction { policy: Some(unplaced(policy)), ..Direction::default() };
    build(context, figure, (SPRAY, air), both, length)
}

fn build(
    context: &Context<'_>,
    figure: &'static str,
    (text, air): (&str, Air),
    both: Direction,
    duration: Duration,
) -> Result<Simulation, ExperimentError> {
    let failed = |message: String| ExperimentError::Scenario { figure, message };
    let (text, both) = air.scenario(text, both);
    let mut scenario = Scenario::parse(figure, &text).map_err(|error| failed(error.to_string()))?;
    let link = Link { both, ..Link::unset() };
    let run = RunSettings { duration: Some(unplaced(duration)), ..RunSettings::unset() };
    let flags = ScenarioOptions { link, run, ..ScenarioOptions::default() };
    flags.apply(&mut scenario).map_err(|error| failed(error.to_string()))?;
    let topology = scenario
        .topology(0, (figure, &text), &mut |name| air.read(name))
        .map_err(|error| failed(error.to_string()))?;
    Simulation::new(&topology, context.seed).map_err(|error| failed(error.to_string()))
}
