//! Datagrams sent as fast as the link takes them, in simulated time: what the link itself carries.

use windfall_base::{Duration, Seed};
use windfall_network::LinkLedger;
use windfall_report::Point;
use windfall_scenario::sim::Simulation;

use crate::experiment::scenario;
use crate::experiment::{Context, ExperimentError, Extent};

use super::bursts::Burst;

/// The link of Figure 3 with a spray of full packets.
const SPRAY: &str = include_str!("../../../../../../scenarios/paper-003/spray.toml");
/// Bytes of data in each of its packets.
const SIZE: f64 = 1472.0;

/// A simulation of one spray.
pub(super) struct Spray {
    /// The figure that it is for.
    pub(super) figure: &'static str,
    /// The scenario, as TOML.
    pub(super) scenario: &'static str,
    /// The keys that differ from it in the direction of the data, as TOML.
    pub(super) uplink: String,
    /// The seed of the run.
    pub(super) seed: Seed,
    /// The duration of the spray.
    pub(super) duration: Duration,
}

impl Spray {
    /// Runs it, and returns the ledger of the packets in the direction of the data.
    ///
    /// # Errors
    /// If the scenario is wrong.
    pub(super) fn run(&self) -> Result<LinkLedger, ExperimentError> {
        let failed = |error: &dyn std::error::Error| ExperimentError::Scenario {
            figure: self.figure,
            message: error.to_string(),
        };
        let scenario =
            scenario::with(self.figure, self.scenario, &self.uplink, Some(self.duration))?;
        let place = (self.figure, self.scenario);
        let no_files = &mut |name: &str| {
            Err(std::io::Error::other(format!("the scenario must not name files: {name}")))
        };
        let topology = scenario.topology(0, place, no_files).map_err(|error| failed(&error))?;
        let mut simulation =
            Simulation::new(&topology, self.seed).map_err(|error| failed(&error))?;
        simulation.finish();
        let network = simulation.network();
        let near = network.interfaces().next();
        Ok(near.map(|near| network.ledger(near).clone()).unwrap_or_default())
    }
}

/// The throughput of a spray with one burst, in several runs.
pub(super) struct Sprayed {
    burst: Burst,
    /// KB/s in each run.
    pub(super) rates: Vec<f64>,
}

impl Sprayed {
    /// Mean and range of the throughput over the loss in per cent.
    pub(super) fn point(&self) -> Option<Point> {
        Point::of(100.0 * self.burst.loss(), &self.rates)
    }
}

/// The throughput of the spray at each burst, the same seeds at each.
///
/// # Errors
/// If the scenario is wrong.
pub(super) fn throughput(
    context: &Context<'_>,
    figure: &'static str,
    bursts: &[Burst],
) -> Result<Vec<Sprayed>, ExperimentError> {
    let (runs, duration) = match context.extent {
        Extent::Quick => (2, Duration::from_secs(20)),
        Extent::Paper => (10, Duration::from_secs(60)),
        Extent::Full => (10, Duration::from_secs(600)),
    };
    let sprayed = |burst: &Burst| {
        let rates = context.replicate(runs, |seed| {
            let arq = if context.is_mutated { "none" } else { "persistent" };
            let uplink = format!("{}\narq = \"{arq}\"", burst.at_random(seed));
            let ledger = Spray { figure, scenario: SPRAY, uplink, seed, duration }.run()?;
            Ok(ledger.delivered as f64 * SIZE / 1e3 / duration.as_secs_f64())
        });
        Ok(Sprayed { burst: *burst, rates: rates.into_iter().collect::<Result<_, _>>()? })
    };
    bursts.iter().map(sprayed).collect()
}
