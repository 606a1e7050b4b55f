//! `windfall sweep`: a scenario over the values of some of its keys, and over seeds.

mod program;

use std::io::Write as _;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::thread::available_parallelism;

use windfall_live::Signals;
use windfall_report::Provenance;
use windfall_sweep::{
    Execution, Grid, RunStore, SweepResult, Variation, execute, simulate, words_that_matter,
};

use crate::exit::{CliError, Completion, Result, tell};
use crate::face::Options;
use crate::options::{LinkOptions, SimulationGroup};
use crate::reproduce::cannot;
use crate::usage::{shell_quoted, whole};
use crate::{VERSION, progress};
use program::{ProgramOptions, ProgramRuns};

/// Run a scenario over many values and seeds
///
/// Prints the mean of each measure, with its 95 % interval.
#[derive(Debug, clap::Args)]
#[command(after_help = "Exit codes: 0 every run has ended, 1 some have failed or a \
                        --chart has no measure, 2 could not run.")]
pub(crate) struct Args {
    /// Scenario file, - for the standard input
    ///
    /// With --run, options can describe the link instead.
    #[arg(required_unless_present = "command")]
    scenario: Option<PathBuf>,
    /// Key of the scenario and its values, such as link.ber=1e-6..1e-3:log7 or policy=bold,flex.
    /// Repeat the option for more keys
    #[arg(long = "vary", value_name = "KEY=VALUES", help_heading = "Sweep")]
    variations: Vec<String>,
    /// Number of seeds. They count up from the seed of the scenario
    #[arg(long, value_name = "NUMBER", default_value_t = 5, help_heading = "Sweep",
          value_parser = whole(1..=1_000_000_usize))]
    seeds: usize,
    /// Number of parallel runs, 1 to 1024 [default: one per core, or 1 with --run]
    #[arg(long, value_name = "NUMBER", help_heading = "Sweep",
          value_parser = whole(1..=1_024_usize))]
    jobs: Option<usize>,
    /// Directory for finished runs, values and charts
    #[arg(long, value_name = "DIR", default_value = "out/sweep", help_heading = "Sweep")]
    out: PathBuf,
    /// Measure to draw, with * for any text [default: the measures of applications that differ]
    #[arg(long = "chart", value_name = "MEASURE", help_heading = "Sweep")]
    charts: Vec<String>,
    /// Print the result as JSON
    #[arg(long, help_heading = "Sweep")]
    json: bool,
    #[command(flatten)]
    program: ProgramOptions,
    #[command(flatten)]
    simulation: Options<SimulationGroup>,
    #[command(flatten)]
    link: LinkOptions,
}

pub(crate) fn run(args: &Args) -> Result {
    let loaded = args.link.load(args.scenario.as_deref(), &args.simulation.0)?;
    if args.link.generate {
        std::io::stdout().write_all(loaded.generated()?.as_bytes())?;
        return Ok(Completion::Success);
    }
    let parse = |text: &String| Variation::parse(&loaded.scenario, text);
    let variations = args.variations.iter().map(parse).collect::<std::result::Result<_, _>>()?;
    let grid = Grid::new(&loaded.scenario, variations, args.seeds)?;
    let version = format!("{VERSION}{}", args.program.words());
    let runs = grid.checked_runs(&version, &mut |scenario, seen| {
        let built = loaded.varied(scenario).topology_reading(seen);
        built.map(|_| ()).map_err(|error| error.to_string())
    })?;
    windfall_system::files::make_folder(&args.out).map_err(|error| cannot(&args.out, &error))?;
    let mut store = RunStore::open(&args.out)?;
    let signals = Signals::take_over().map_err(|error| CliError::new(error.to_string()))?;
    let bar = progress::runs()?;
    let mut signal = None;
    let real = args.program.command.as_ref();
    let real =
        real.map(|command| ProgramRuns::new(&args.program, command, &args.out)).transpose()?;
    let jobs = args.jobs.and_then(NonZeroUsize::new);
    let cores = || available_parallelism().ok().filter(|_| real.is_none());
    let mut execution = Execution {
        run: &|run, stopped| match &real {
            Some(real) => {
                let scenario = loaded.varied(&run.scenario).placed();
                let scenario = scenario.map_err(|error| error.to_string())?;
                real.run(run, &grid.name_of(run.point), &scenario, stopped)
            }
            None => {
                let topology = loaded.varied(&run.scenario).topology();
                simulate(&topology.map_err(|error| error.to_string())?, run.seed, stopped)
            }
        },
        jobs: jobs.or_else(cores).unwrap_or(NonZeroUsize::MIN),
        progress: &mut |it| progress::show_runs(&bar, it.done, it.all),
        is_interrupted: &mut || {
            signal = signal.or_else(|| signals.take());
            signal.is_some()
        },
    };
    let failures = execute(&grid, &runs, &mut store, &mut execution)?;
    bar.finish_and_clear();
    store.settle()?;
    let result = SweepResult::new(&grid, &runs, &store);
    report(args, &result)?;
    let known = args.out.join("sweep.csv");
    result.remarks(&args.charts, &known).iter().for_each(|it| tell(format_args!("{it}")));
    failures.iter().for_each(|it| tell(format_args!("{}: {}", it.run, it.message)));
    if let Some(late @ 1..) = real.as_ref().map(ProgramRuns::disturbed) {
        tell(format_args!(
            "{late} runs had late packets in each of three attempts: their numbers are not the \
             link's alone; use fewer --jobs, or a quieter machine"
        ));
    }
    if let Some(signal) = signal {
        tell(format_args!("{} of {} runs kept: repeat to go on", result.finished(), runs.len()));
        return Ok(Completion::Program(128 + signal as u8));
    }
    let is_good = failures.is_empty() && result.unmatched(&args.charts).is_empty();
    Ok(if is_good { Completion::Success } else { Completion::Negative })
}

/// Writes the files, and prints the means of what the charts show.
fn report(args: &Args, result: &SweepResult<'_>) -> Result<()> {
    let words = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    let words = words_that_matter(words).map(|word| shell_quoted(&word)).collect::<Vec<_>>();
    let version = VERSION.to_owned();
    let seed = result.first_seed();
    let provenance = Provenance { version, seed, command: format!("windfall {}", words.join(" ")) };
    let charted = result.charted(&args.charts);
    let files = result.files(&charted, &provenance);
    let texts = files.iter().map(|(name, text)| (name.as_str(), text.as_bytes()));
    let tables = result.parquet_files();
    for (name, bytes) in texts.chain(tables.iter().map(|(name, bytes)| (*name, &bytes[..]))) {
        let path = args.out.join(name);
        windfall_system::files::replace(&path, bytes).map_err(|error| cannot(&path, &error))?;
    }
    let mut out = std::io::stdout().lock();
    if args.json {
        return Ok(out.write_all(result.to_json(&provenance).as_bytes())?);
    }
    write!(
        out,
        "{}\n{}\n",
        result.shown(&charted).to_text(),
        args.out.join("sweep.csv").display()
    )?;
    Ok(())
}
