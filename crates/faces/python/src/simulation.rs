//! One scenario in simulated time: its summary, and its measures over time.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use windfall_base::{Duration, Instant, MemoryBudget, Seed};
use windfall_scenario::sim::Simulation;
use windfall_scenario::{Scenario, Topology, without_span};
use windfall_sweep::measures_of;

/// The share of the memory for files that one of them may take.
const DATA_PART: usize = 4;
/// The most windows of a series.
const MOST_WINDOWS: f64 = 1e6;

/// Measures over time by name; one that a window lacks is no number there.
type Columns = BTreeMap<String, Vec<f64>>;

/// Returns the TOML of a scenario that is an object in JSON.
#[pyfunction]
pub(crate) fn scenario_of_json(text: &str) -> PyResult<String> {
    let value: toml::Value =
        serde_json::from_str(text).map_err(|error| PyValueError::new_err(error.to_string()))?;
    toml::to_string(&value).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// Reads a scenario; `name` is the file that it comes from, for errors.
pub(crate) fn parse(name: &str, text: &str) -> Result<Scenario, String> {
    Scenario::parse(name, text).map_err(|error| error.to_string())
}

/// Builds a scenario whose files count from `folder`; the content of each goes to `seen`.
pub(crate) fn build(
    scenario: &Scenario,
    folder: &Path,
    seen: &mut dyn FnMut(&[u8]),
) -> Result<Topology, String> {
    let budget = MemoryBudget::default();
    let read = &mut |name: &str| {
        let read = budget.clone().read(File::open(folder.join(name))?, DATA_PART);
        read.inspect(|bytes| seen(bytes))
    };
    let built = scenario.topology_within(0, ("", ""), read, budget.clone());
    built.map_err(|error| error.to_string())
}

/// Asks Python whether a signal has come; it is raised when the run has ended.
#[derive(Default)]
pub(crate) struct Interrupt(Option<PyErr>);

impl Interrupt {
    pub(crate) fn has_come(&mut self) -> bool {
        if self.0.is_none() {
            self.0 = Python::attach(|py| py.check_signals().err());
        }
        self.0.is_some()
    }

    /// Returns the exception of the signal, or the other error.
    pub(crate) fn or(self, other: impl FnOnce() -> PyErr) -> PyErr {
        self.0.unwrap_or_else(other)
    }
}

/// Simulates a scenario. Returns its summary as JSON, the ends of the windows in seconds, and every
/// measure at the end of each; without `every` there are no windows.
#[pyfunction]
#[pyo3(signature = (name, text, folder, seed=None, every=None))]
pub(crate) fn simulate(
    py: Python<'_>,
    name: &str,
    text: &str,
    folder: &str,
    seed: Option<u64>,
    every: Option<f64>,
) -> PyResult<(String, Vec<f64>, Columns)> {
    py.detach(|| {
        let mut scenario = parse(name, text).map_err(PyValueError::new_err)?;
        if let Some(seed) = seed {
            scenario.run.seed = Some(without_span(Seed(seed)));
        }
        let starts = scenario.check_starts((name, text));
        starts.map_err(|error| PyValueError::new_err(error.to_string()))?;
        let built = build(&scenario, Path::new(folder), &mut |_| {});
        let topology = built.map_err(PyValueError::new_err)?;
        let windows = windows(every, topology.duration)?;
        let simulation = Simulation::new(&topology, scenario.seed());
        let simulation = simulation.map_err(|error| PyValueError::new_err(error.to_string()))?;
        run(simulation, &topology, scenario.seed(), &windows)
    })
}

/// Returns the ends of the windows: whole ones, and the end of the run.
fn windows(every: Option<f64>, duration: Duration) -> PyResult<Vec<Instant>> {
    let Some(every) = every else { return Ok(Vec::new()) };
    let count = duration.as_secs_f64() / every;
    if !(every > 0.0 && count <= MOST_WINDOWS) {
        return Err(PyValueError::new_err(format!(
            "every={every} is no length of windows for a run of {duration}: it must be at least a \
             millionth of it"
        )));
    }
    let at = |number: u64| Instant::START + Duration::from_secs_f64(every * number as f64);
    let end = Instant::START + duration;
    let mut ends: Vec<Instant> = (1..).map(at).take_while(|at| *at < end).collect();
    ends.push(end);
    Ok(ends)
}

fn run(
    mut simulation: Simulation,
    topology: &Topology,
    seed: Seed,
    windows: &[Instant],
) -> PyResult<(String, Vec<f64>, Columns)> {
    let mut interrupt = Interrupt::default();
    let mut columns = Columns::new();
    let ends = [simulation.end()];
    for (row, until) in windows.iter().chain(&ends).enumerate() {
        let ran = simulation.run_unless(*until, &mut |_| Ok(()), &mut || interrupt.has_come());
        if !ran.map_err(|error| PyRuntimeError::new_err(error.to_string()))? {
            return Err(interrupt.or(|| PyRuntimeError::new_err("it was stopped")));
        }
        if row < windows.len() {
            let network = simulation.network();
            let now = simulation.now();
            let summary = windfall_output::totals::of_simulation(network, topology, seed, "", now);
            for (name, value) in measures_of(&summary) {
                let column = columns.entry(name).or_insert_with(|| vec![f64::NAN; windows.len()]);
                column[row] = value;
            }
        }
    }
    let network = simulation.network();
    let now = simulation.now();
    let summary = windfall_output::totals::of_simulation(network, topology, seed, "", now);
    let seconds = windows.iter().map(|it| (*it - Instant::START).as_secs_f64());
    Ok((summary.to_json().to_string(), seconds.collect(), columns))
}
