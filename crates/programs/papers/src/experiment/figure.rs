//! Figures, the context of their experiments, and the choice of figures by name.

use std::path::PathBuf;
use std::sync::{Mutex, OnceLock, PoisonError};

use windfall_base::Seed;
use windfall_report::{Provenance, Table};

use rayon::iter::{IntoParallelIterator, ParallelIterator};
use windfall_base::Stream;

use crate::experiment::error::ExperimentError;
use crate::experiment::extent::Extent;
use crate::experiment::finding::Finding;
use crate::experiment::verdict::VerdictRecord;

/// The source of the values of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// A closed formula and simulated time: the same seed gives the same bytes.
    Simulated,
    /// Simulated time, and the kernel's TCP in real time beside it where the machine allows it.
    Both,
    /// The kernel's TCP in real time; needs what `windfall run` needs.
    RealTime,
}

/// The context of an experiment.
pub struct Context<'a> {
    /// The extent of the measurement.
    pub extent: Extent,
    /// The seed of everything that is drawn.
    pub seed: Seed,
    /// Breaks the mechanism that the figure is about, as [`Figure::mutation`] says.
    pub is_mutated: bool,
    /// This program, to be started again for what runs in real time.
    pub program: PathBuf,
    /// Is told in a few words how far the experiment is.
    pub progress: &'a (dyn Fn(&str) + Sync),
}

impl Context<'static> {
    /// The context of an experiment in simulated time that does not tell how far it is.
    #[must_use]
    pub fn simulated(extent: Extent, seed: Seed) -> Self {
        let program = PathBuf::new();
        Self { extent, seed, is_mutated: false, program, progress: &|_| {} }
    }
}

impl Context<'_> {
    /// Runs `experiment` with `count` independent seeds, on all processors, and returns the
    /// results in the order of the seeds.
    pub fn replicate<T: Send>(
        &self,
        count: usize,
        experiment: impl Fn(Seed) -> T + Sync + Send,
    ) -> Vec<T> {
        let slots: Vec<Mutex<Option<T>>> = (0..count).map(|_| Mutex::new(None)).collect();
        let seed = |run: usize| Seed(Stream::new(self.seed, "run").at(run as u64).bits());
        on_all_processors(count, &|run| {
            let result = experiment(seed(run));
            *slots[run].lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
        });
        let result = |slot: Mutex<Option<T>>| {
            slot.into_inner().unwrap_or_else(PoisonError::into_inner).expect("each run has ended")
        };
        slots.into_iter().map(result).collect()
    }
}

/// Calls `run` with each number below `count`. It takes no type of the experiment: the program
/// would hold rayon's machinery once for each of them, 4 kB a time.
///
/// Where the system has no threads for it, this one does all of the work.
fn on_all_processors(count: usize, run: &(dyn Fn(usize) + Sync)) {
    static POOL: OnceLock<Option<rayon::ThreadPool>> = OnceLock::new();
    let work = || (0..count).into_par_iter().for_each(run);
    if rayon::current_thread_index().is_some() {
        return work();
    }
    match POOL.get_or_init(|| rayon::ThreadPoolBuilder::new().build().ok()) {
        Some(pool) => pool.install(work),
        None => (0..count).for_each(run),
    }
}

/// A figure or a table of a paper.
#[derive(Clone, Copy)]
pub struct Figure {
    /// Its name, such as `S3.fig5`.
    pub name: &'static str,
    /// The subject of the figure, in one line.
    pub title: &'static str,
    /// The source of its values.
    pub basis: Basis,
    /// The verdict on record.
    pub record: VerdictRecord,
    /// The mechanism that a mutated run breaks, such as `no local retransmission`; the verdict
    /// must change then.
    pub mutation: Option<&'static str>,
    /// Runs the experiment.
    pub run: fn(&Figure, &Context<'_>) -> Result<Finding, ExperimentError>,
}

impl Figure {
    /// Runs the experiment. Takes up to some minutes for figures in real time.
    ///
    /// # Errors
    /// If it could not be run; a verdict, whatever it says, is no error.
    pub fn run(&self, context: &Context<'_>) -> Result<Finding, ExperimentError> {
        (self.run)(self, context)
    }

    /// Creates a finding of this figure, as yet without claims, charts and tables.
    #[must_use]
    pub fn finding(&self, context: &Context<'_>, method: impl Into<String>) -> Finding {
        Finding {
            figure: self.name,
            title: self.title.to_owned(),
            method: method.into(),
            inputs: Vec::new(),
            claims: Vec::new(),
            record: self.record,
            extent: context.extent,
            charts: Vec::new(),
            tables: Vec::new(),
            provenance: self.provenance(context),
        }
    }

    /// The command that runs the experiment again, and what else belongs into its files.
    #[must_use]
    pub fn provenance(&self, context: &Context<'_>) -> Provenance {
        let extent = match context.extent {
            Extent::Quick => " --quick",
            Extent::Paper => "",
            Extent::Full => " --full",
        };
        let mutated = if context.is_mutated { " --mutate" } else { "" };
        Provenance {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            seed: context.seed,
            command: format!(
                "windfall reproduce {} --seed {}{extent}{mutated}",
                self.name, context.seed
            ),
        }
    }
}

/// Those of `figures` that `names` choose: a figure such as `S3.fig5`, a paper such as `S3`, all
/// that begin alike such as `S3.fig*`, or `all`.
///
/// Names are not case-sensitive; no names choose all. The order is that of `figures`.
///
/// # Errors
/// If a name chooses nothing.
pub fn select(
    figures: impl Iterator<Item = &'static Figure> + Clone,
    names: &[String],
) -> Result<Vec<&'static Figure>, ExperimentError> {
    let chooses = |name: &str, figure: &Figure| {
        let paper = figure.name.split('.').next().unwrap_or_default();
        let begins = |start: &str| {
            figure.name.get(..start.len()).is_some_and(|own| own.eq_ignore_ascii_case(start))
        };
        name.eq_ignore_ascii_case("all")
            || name.eq_ignore_ascii_case(paper)
            || name.strip_suffix('*').is_some_and(begins)
            || name.eq_ignore_ascii_case(figure.name)
    };
    for name in names {
        if !figures.clone().any(|figure| chooses(name, figure)) {
            let known: Vec<_> = figures.map(|figure| figure.name).collect();
            return Err(ExperimentError::NoSuchFigure {
                name: name.clone(),
                known: known.join(", "),
            });
        }
    }
    let chosen =
        |figure: &&Figure| names.is_empty() || names.iter().any(|name| chooses(name, figure));
    Ok(figures.filter(chosen).collect())
}

impl Basis {
    /// The source of the values in words.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Simulated => "simulated time",
            Self::Both => "simulated and real time",
            Self::RealTime => "real time",
        }
    }
}

/// The figures as a table: what each shows, where it is measured, the verdict on record.
#[must_use]
pub fn list_table(figures: &[&Figure]) -> Table {
    let mut table = Table::new(["figure", "shows", "measured in", "verdict", "extent", "seeds"]);
    for Figure { name, title, basis, record, .. } in figures {
        let verdict = record.verdict.to_string();
        let extent = record.extent.to_string();
        table.push([name, title, basis.name(), &verdict, &extent, &record.seeds_as_text()]);
    }
    table
}

/// Returns the list of figures as JSON.
#[must_use]
pub fn list_json(figures: &[&Figure]) -> serde_json::Value {
    let list = figures.iter().map(|figure| {
        serde_json::json!({
            "figure": figure.name,
            "title": figure.title,
            "basis": figure.basis.name(),
            "recorded": figure.record.verdict,
            "extent": figure.record.extent,
            "seeds": figure.record.seeds,
            "mutation": figure.mutation,
        })
    });
    serde_json::json!({ "figures": list.collect::<serde_json::Value>() })
}

#[cfg(test)]
mod tests;
