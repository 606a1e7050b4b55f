//! Throughput over coded frames in the places of Table 1, in simulated time.

use windfall_base::{Duration, Seed};
use windfall_scenario::sim::Simulation;
use windfall_scenario::{
    Arrangement, Direction, ENVIRONMENT_FRAMES, Environment, Link, PolicyKind, RunSettings,
    Scenario, ScenarioOptions, Settings, without_span,
};
use windfall_trace::best_rate;

use crate::experiment::{Context, ExperimentError, ExperimentInput, Extent};

const SPRAY: &str = include_str!("../../../../../../scenarios/paper-003/coded-spray.toml");
const TCP: &str = include_str!("../../../../../../scenarios/paper-003/coded-tcp.toml");
/// Bytes of data in each sprayed packet.
const SIZE: f64 = 1168.0;

/// Bytes of a transfer.
const LENGTH: f64 = 1e6;
/// The time limit of a transfer: twice what the slowest takes that makes any progress.
const PATIENCE: Duration = Duration::from_secs(400);

/// The traces in which something is measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Air {
    pub(crate) place: Environment,
    /// The seed of the uplink's trace.
    seed: Seed,
    arrangement: Arrangement,
}

impl Air {
    /// The traces of a place that follow from a seed.
    pub(crate) const fn new(place: Environment, seed: Seed) -> Self {
        Self { place, seed, arrangement: place.arrangement() }
    }

    /// These traces with their totals in another arrangement.
    pub(crate) const fn arranged(self, arrangement: Arrangement) -> Self {
        Self { arrangement, ..self }
    }

    /// Returns the bound of every policy for packets of `packet` bytes, in bytes a second, up to a
    /// factor that is the same for all places.
    pub(crate) fn bound(&self, packet: usize) -> f64 {
        let cost = windfall_scenario::wavelan_cost();
        let trace =
            self.place.synthesize_arranged(self.seed, ENVIRONMENT_FRAMES, &self.arrangement);
        best_rate(&trace, packet, |bytes| cost.of(bytes).as_secs_f64())
    }

    /// The trace of this name, for a scenario made by [`Air::scenario`].
    fn read(&self, name: &str) -> Vec<u8> {
        // Both directions in one trace would fail together.
        let seed = if name == "up" { self.seed } else { Seed(!self.seed.0) };
        let trace = self.place.synthesize_arranged(seed, ENVIRONMENT_FRAMES, &self.arrangement);
        trace.to_text().into()
    }

    /// The scenario in this air.
    fn scenario(text: &str) -> String {
        let traces = "uplink.error-trace = \"up\"\ndownlink.error-trace = \"down\"";
        text.replace("environment = \"table\"", traces)
    }
}

/// The throughput of one policy in one place, in KB/s, in each trace.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    pub(crate) place: Environment,
    pub(crate) policy: PolicyKind,
    /// The throughput of sprays.
    pub(crate) udp: Vec<f64>,
    /// The throughput of TCP transfers; 0 of one that does not come to its end.
    pub(crate) tcp: Vec<f64>,
    /// The transfers in which TCP completed its handshake.
    pub(crate) connected: u64,
    /// Times that the sender's retransmission timer fired in each transfer.
    pub(crate) timeouts: Vec<f64>,
}

/// Each of `policies` in every place, sprayed and transferred in the same traces; the places are
/// the outer order. `settings` gives those of both directions under a policy.
///
/// # Errors
/// If the scenario is wrong.
pub(crate) fn cells(
    context: &Context<'_>,
    figure: &'static str,
    policies: &[PolicyKind],
    settings: impl Fn(PolicyKind) -> Direction + Sync,
) -> Result<Vec<Cell>, ExperimentError> {
    let length = match context.extent {
        Extent::Quick => Duration::from_secs(10),
        Extent::Paper => Duration::from_secs(40),
        Extent::Full => Duration::from_secs(60),
    };
    let traces = traces(context);
    let mut cells = Vec::new();
    for place in Environment::ALL {
        for &policy in policies {
            (context.progress)(&format!("{policy} in {place}"));
            let both = settings(policy);
            let runs = context.replicate(traces, |seed| {
                let air = Air::new(place, seed);
                let udp = spray(figure, air, &both, length)?;
                Ok((udp, transfer(figure, air, &both)?))
            });
            let runs: Vec<(f64, Transfer)> = runs.into_iter().collect::<Result<_, _>>()?;
            cells.push(Cell {
                place,
                policy,
                udp: runs.iter().map(|run| run.0).collect(),
                tcp: runs.iter().map(|run| run.1.rate).collect(),
                connected: runs.iter().filter(|run| run.1.connected).count() as u64,
                timeouts: runs.iter().map(|run| run.1.timeouts as f64).collect(),
            });
        }
    }
    Ok(cells)
}

/// The number of traces of each place.
pub(crate) fn traces(context: &Context<'_>) -> usize {
    match context.extent {
        Extent::Quick => 2,
        Extent::Paper => 20,
        Extent::Full => 30,
    }
}

/// The settings of both directions under a policy: those of Figures 8 and 9.
pub(crate) fn settings(policy: PolicyKind) -> Direction {
    Direction { policy: Some(without_span(Some(policy.into()))), ..Direction::default() }
}

/// The configuration of Figures 8 and 9.
pub(crate) fn inputs() -> Vec<ExperimentInput> {
    vec![
        ExperimentInput::given(
            "traces",
            "synthetic, with the totals of Table 1",
            "paper 003, table 1; how faults follow one another is ours",
        ),
        ExperimentInput::given(
            "retransmission",
            "without end, under every policy",
            "paper 003, section 4: all “follow the rules outlined in Section 3.2.1”, to be \
             “persistent enough”; it gives no number",
        ),
        ExperimentInput::given(
            "short packets",
            "sent in as many blocks as they need",
            "ours: the paper does not say whether they are padded",
        ),
        ExperimentInput::given(
            "FLEX",
            "size by truncation, parity by what recent blocks needed; failed blocks alone are \
             repeated",
            "the rules are ours: the paper has “simple heuristics”, and not what is repeated",
        ),
        ExperimentInput::given(
            "BOLD, LIGHT, ROBUST",
            "whole frames are repeated",
            "ours: the paper leaves open what is repeated",
        ),
        ExperimentInput::given(
            "packets",
            "1196 bytes, which LIGHT's five blocks hold",
            "ours: BOLD's five blocks would hold 5 % more, and have less overhead than this shows",
        ),
    ]
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
    figure: &'static str,
    air: Air,
    both: &Direction,
    length: Duration,
) -> Result<f64, ExperimentError> {
    let mut simulation = spraying(figure, air, both, length)?;
    simulation.finish();
    let network = simulation.network();
    let delivered = network.interfaces().next().map_or(0, |near| network.ledger(near).delivered);
    Ok(delivered as f64 * SIZE / 1e3 / length.as_secs_f64())
}

/// The result of a transfer of 1 MB.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Transfer {
    /// Throughput from the first byte to the last, in KB/s; 0 of one that does not end.
    pub(crate) rate: f64,
    /// Set once TCP has completed its handshake.
    pub(crate) connected: bool,
    /// Times that the sender's retransmission timer fired.
    pub(crate) timeouts: u64,
}

/// Makes one transfer.
///
/// # Errors
/// If the scenario is wrong.
pub(crate) fn transfer(
    figure: &'static str,
    air: Air,
    both: &Direction,
) -> Result<Transfer, ExperimentError> {
    finished(build(figure, TCP, air, both, PATIENCE)?)
}

/// Makes one transfer over the same radio without coding and without retransmission.
///
/// # Errors
/// If the scenario is wrong.
pub(crate) fn bare(figure: &'static str, air: Air) -> Result<Transfer, ExperimentError> {
    let bare = TCP.replace("policy = \"flex\"\n", "").replace("\"persistent\"", "\"none\"");
    finished(build(figure, &bare, air, &Direction::default(), PATIENCE)?)
}

/// Carries a transfer to its end.
fn finished(mut simulation: Simulation) -> Result<Transfer, ExperimentError> {
    simulation.finish();
    let network = simulation.network();
    let now = simulation.now();
    let reports = (0..2)
        .filter_map(|number| network.station(number))
        .flat_map(|station| station.reports(now).flatten().collect::<Vec<_>>());
    let mut bytes = 0.0;
    let mut seconds = 0.0;
    let mut connected = false;
    for (name, measured) in reports {
        let value = measured.number();
        match name {
            "received_bytes" => bytes = value,
            "seconds" => seconds = value,
            "connected_seconds" => connected = value > 0.0,
            _ => {}
        }
    }
    let rate = if bytes < LENGTH { 0.0 } else { bytes / 1e3 / seconds };
    let timeouts = network.station(0).map_or(0, |near| near.tcp_operations().timeouts);
    Ok(Transfer { rate, connected, timeouts })
}

/// A spray that has not begun.
///
/// # Errors
/// If the scenario is wrong.
pub(crate) fn spraying(
    figure: &'static str,
    air: Air,
    both: &Direction,
    length: Duration,
) -> Result<Simulation, ExperimentError> {
    build(figure, SPRAY, air, both, length)
}

fn build(
    figure: &'static str,
    text: &str,
    air: Air,
    both: &Direction,
    duration: Duration,
) -> Result<Simulation, ExperimentError> {
    let failed = |message: String| ExperimentError::Scenario { figure, message };
    let text = Air::scenario(text);
    let mut scenario = Scenario::parse(figure, &text).map_err(|error| failed(error.to_string()))?;
    let link = Link { both: both.clone(), ..Link::unset() };
    let run = RunSettings { duration: Some(without_span(duration)), ..RunSettings::unset() };
    let flags = ScenarioOptions { link, run, ..ScenarioOptions::default() };
    flags.apply(&mut scenario, ("", "")).map_err(|error| failed(error.to_string()))?;
    let topology = scenario
        .topology(0, (figure, &text), &mut |name| Ok(air.read(name)))
        .map_err(|error| failed(error.to_string()))?;
    Simulation::new(&topology, air.seed).map_err(|error| failed(error.to_string()))
}
