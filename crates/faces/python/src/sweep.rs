//! Sweeps whose runs Python spreads: what is to run, what has run, and the result.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use windfall_report::Provenance;
use windfall_sweep::{Grid, Measures, RunStore, SweepError, SweepResult, SweepRun, Variation};

use crate::simulation;

/// The version that results name, and by which runs of another program are told apart.
const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), env!("WINDFALL_COMMIT"));

/// A run to do: its place, and its scenario as TOML.
type Missing = (usize, String);

fn refuse(error: SweepError) -> PyErr {
    match error {
        SweepError::Disk { .. } => PyOSError::new_err(error.to_string()),
        error => PyValueError::new_err(error.to_string()),
    }
}

/// Simulates one run of a sweep, and returns its measures as JSON.
#[pyfunction]
pub(crate) fn measures(py: Python<'_>, text: &str, folder: &str) -> PyResult<String> {
    py.detach(|| {
        let scenario = simulation::parse("", text).map_err(PyValueError::new_err)?;
        let topology = simulation::build(&scenario, Path::new(folder), &mut |_| {});
        let topology = topology.map_err(PyValueError::new_err)?;
        let never = AtomicBool::new(false);
        let measures = windfall_sweep::simulate(&topology, scenario.seed(), &never);
        let measures = measures.map_err(PyRuntimeError::new_err)?;
        serde_json::to_string(&measures).map_err(|error| PyRuntimeError::new_err(error.to_string()))
    })
}

/// A sweep: every combination of values with every seed, and the runs that have finished.
#[pyclass(frozen, name = "Sweep", module = "windfall")]
pub(crate) struct PySweep {
    grid: Grid,
    runs: Vec<SweepRun>,
    store: Mutex<RunStore>,
    command: String,
    out: Option<PathBuf>,
}

impl PySweep {
    fn store(&self) -> MutexGuard<'_, RunStore> {
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn provenance(&self, result: &SweepResult<'_>) -> Provenance {
        Provenance {
            version: VERSION.to_owned(),
            seed: result.first_seed(),
            command: self.command.clone(),
        }
    }
}

#[pymethods]
impl PySweep {
    /// Checks every combination. `out` is the folder that keeps finished runs and the result.
    #[new]
    #[pyo3(signature = (name, text, folder, vary, seeds, command, out=None))]
    fn new(
        name: &str,
        text: &str,
        folder: &str,
        vary: Vec<String>,
        seeds: usize,
        command: String,
        out: Option<PathBuf>,
    ) -> PyResult<Self> {
        let scenario = simulation::parse(name, text).map_err(PyValueError::new_err)?;
        let variations = vary.iter().map(|it| Variation::parse(&scenario, it));
        let variations = variations.collect::<Result<_, _>>().map_err(refuse)?;
        let grid = Grid::new(&scenario, variations, seeds).map_err(refuse)?;
        let build = &mut |scenario: &_, seen: &mut dyn FnMut(&[u8])| {
            simulation::build(scenario, Path::new(folder), seen).map(|_| ())
        };
        let runs = grid.checked_runs(VERSION, build).map_err(refuse)?;
        let store = match &out {
            Some(out) => {
                windfall_system::files::make_folder(out)?;
                RunStore::open(out).map_err(refuse)?
            }
            None => RunStore::default(),
        };
        Ok(Self { grid, runs, store: Mutex::new(store), command, out })
    }

    /// The number of runs, and of those that have finished.
    fn progress(&self) -> (usize, usize) {
        let store = self.store();
        (self.runs.len(), SweepResult::new(&self.grid, &self.runs, &store).finished())
    }

    /// The runs that have not finished; equal ones once.
    fn missing(&self) -> Vec<Missing> {
        let store = self.store();
        let mut seen = std::collections::BTreeSet::new();
        let runs = self.runs.iter().enumerate().filter(|(_, it)| store.get(it).is_none());
        let runs = runs.filter(|(_, it)| seen.insert(&it.identity));
        runs.map(|(place, run)| (place, run.scenario.to_toml())).collect()
    }

    /// The run at a place in words.
    fn name_of(&self, place: usize) -> String {
        let run = self.runs.get(place);
        run.map_or_else(String::new, |it| {
            format!("{}, seed {}", self.grid.name_of(it.point), it.seed)
        })
    }

    /// Keeps the measures of the run at a place; those of a run that is kept already do not count.
    fn keep(&self, place: usize, measures: &str) -> PyResult<()> {
        let wrong = |what: String| PyValueError::new_err(format!("run {place}: {what}"));
        let run = self.runs.get(place).ok_or_else(|| wrong("there is none".to_owned()))?;
        let measures: Measures =
            serde_json::from_str(measures).map_err(|error| wrong(error.to_string()))?;
        self.store().keep(run, self.grid.name_of(run.point), measures).map_err(refuse)
    }

    /// The result as JSON.
    fn to_json(&self) -> String {
        let store = self.store();
        let result = SweepResult::new(&self.grid, &self.runs, &store);
        result.to_json(&self.provenance(&result))
    }

    /// The files of the result: names and texts. `charts` are the measures to draw.
    fn files(&self, charts: Vec<String>) -> Vec<(String, String)> {
        let store = self.store();
        let result = SweepResult::new(&self.grid, &self.runs, &store);
        result.files(&result.charted(&charts), &self.provenance(&result))
    }

    /// The tables of the result as Parquet: names and bytes.
    fn parquet(&self) -> Vec<(&'static str, Vec<u8>)> {
        let store = self.store();
        SweepResult::new(&self.grid, &self.runs, &store).parquet_files().into()
    }

    /// The patterns of `charts` that no measure matches.
    fn unmatched(&self, charts: Vec<String>) -> Vec<String> {
        let store = self.store();
        let result = SweepResult::new(&self.grid, &self.runs, &store);
        result.unmatched(&charts).into_iter().map(str::to_owned).collect()
    }

    /// Writes the files of the result into the folder, if there is one, and leaves it to others.
    fn write(&self, charts: Vec<String>) -> PyResult<()> {
        let Some(out) = &self.out else { return Ok(()) };
        self.store().settle().map_err(refuse)?;
        for (name, text) in self.files(charts) {
            windfall_system::files::replace(&out.join(name), text.as_bytes())?;
        }
        for (name, bytes) in self.parquet() {
            windfall_system::files::replace(&out.join(name), &bytes)?;
        }
        self.store().close();
        Ok(())
    }
}
