//! Sweeps: a scenario over the values of some of its keys, and over seeds.
//!
//! - [`Variation`]: a key of the scenario and its values, from `KEY=VALUES`.
//! - [`Grid`]: every combination of the values with every seed, each a [`SweepRun`].
//! - [`RunStore`]: the folder in which finished runs are kept; no run is counted twice.
//! - [`execute()`]: the runs that are missing, over the cores.
//! - [`SweepResult`]: means with confidence intervals, as CSV, Parquet, JSON and charts.
//! - [`simulate`] and [`measures_of`]: one run, and the numbers of its summary.
//!
//! The result depends on the grid and the measures alone, never on the order in which runs end.

mod error;
mod execute;
mod grid;
mod keys;
mod measures;
mod result;
mod store;
mod values;

pub use error::SweepError;
pub use execute::{Execution, RunFailure, SweepProgress, execute};
pub use grid::{BuildPoint, Grid, GridPoint, SweepRun};
pub use keys::ScenarioKey;
pub use measures::{Measures, add_measures, measures_of, measures_of_json, simulate};
pub use result::{PointMeasure, SweepResult, words_that_matter};
pub use store::RunStore;
pub use values::Variation;
