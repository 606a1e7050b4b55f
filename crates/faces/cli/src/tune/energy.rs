//! `windfall tune` for energy: the settings that cost a scenario the least.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::thread::available_parallelism;

use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use windfall_base::{Duration, Seed};
use windfall_live::Signals;
use windfall_scenario::{RunSettings, Settings as _, without_span};
use windfall_system::files::UsedFiles;
use windfall_tune::{EnergyGoal, EnergyTuneError, EnergyTuning, SettingChoice};

use crate::exit::{CliError, Completion, Result};
use crate::reproduce::cannot;
use crate::times::with_unit;
use crate::usage::whole;
use crate::{json, options, progress};

/// Options about the channel and the application, of which energy takes none.
const OF_CHANNEL: [&str; 9] =
    ["application", "rate", "size", "deadline", "loss", "damage", "exact", "link", "line_rate"];

/// Options of the search for the least energy.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Energy")]
pub(super) struct EnergyOptions {
    /// Find the settings of SCENARIO that are best for this goal, and the Linux commands that apply
    /// them
    #[arg(long = "for", value_name = "GOAL", conflicts_with_all = OF_CHANNEL,
          value_parser = PossibleValuesParser::new(EnergyGoal::ALL.map(EnergyGoal::name))
              .try_map(|name| name.parse::<EnergyGoal>()))]
    pub(super) goal: Option<EnergyGoal>,
    /// Energy model of stations without their own: a preset, or a file NAME.toml
    #[arg(long, value_name = "MODEL", requires = "goal", hide_short_help = true)]
    energy: Option<String>,
    /// Setting to vary, with the values to try: mss=500,1000. Repeat the option for more settings
    /// [default: mss, delayed-ack, timestamps, sack, window-scale, rts-threshold, rate, power]
    #[arg(
        long = "setting",
        value_name = "SETTING[=VALUES]",
        requires = "goal",
        hide_short_help = true
    )]
    settings: Vec<SettingChoice>,
    /// Number of seeds of the search, 1 to 1000. As many other seeds confirm it [default: 5]
    #[arg(long, value_name = "NUMBER", requires = "goal", hide_short_help = true,
          value_parser = whole(1..=1_000_usize))]
    seeds: Option<usize>,
    /// Length of each run in simulated time [default: that of the scenario]
    #[arg(long, value_name = "TIME", requires = "goal", hide_short_help = true,
          value_parser = with_unit)]
    duration: Option<Duration>,
    /// Number of parallel runs, 1 to 1024 [default: one per core]
    #[arg(long, value_name = "NUMBER", requires = "goal", hide_short_help = true,
          value_parser = whole(1..=1_024_usize))]
    jobs: Option<usize>,
    /// Write the scenario with the best settings to this file
    #[arg(long, value_name = "FILE", requires = "goal", hide_short_help = true)]
    out: Option<PathBuf>,
}

//= S2.43
pub(super) fn run(
    path: &Path,
    (args, goal): (&EnergyOptions, EnergyGoal),
    seed: Option<Seed>,
    as_json: bool,
) -> Result {
    let loaded = options::load_file(path, &args.of_run(seed))?;
    if let Some(out) = &args.out {
        let mut used = UsedFiles::default();
        used.read("the scenario", path);
        used.write_at_end("--out", out).map_err(CliError::usage)?;
    }
    loaded.check_starts()?;
    let build = |scenario: &_| {
        let topology = loaded.varied(scenario).topology();
        topology.map_err(|error| error.to_string())
    };
    let jobs = args.jobs.and_then(NonZeroUsize::new);
    let tuning = EnergyTuning {
        scenario: &loaded.scenario,
        build: &build,
        goal,
        settings: args.settings.clone(),
        seeds: args.seeds.unwrap_or(EnergyTuning::SEEDS),
        jobs: jobs.or_else(|| available_parallelism().ok()).unwrap_or(NonZeroUsize::MIN),
    };
    let signals = Signals::take_over().map_err(|error| CliError::new(error.to_string()))?;
    let spinner = progress::spinner()?;
    let mut signal = None;
    let advice = tuning.run(&mut |made| {
        spinner.set_message(format!("{made} simulations"));
        spinner.tick();
        signal = signals.take();
        signal.is_none()
    });
    spinner.finish_and_clear();
    let advice = match (advice, signal) {
        (Err(EnergyTuneError::Interrupted), Some(signal)) => {
            return Ok(Completion::Program(128 + signal as u8));
        }
        (advice, _) => advice.map_err(|error| CliError::usage(error.to_string()))?,
    };
    if let Some(path) = &args.out {
        let mut best = loaded.varied(&advice.scenario).placed()?;
        // The length of the runs of the search is none of the scenario's.
        best.run.duration = loaded.as_written()?.run.duration;
        let text = best.to_toml();
        windfall_system::files::replace(path, text.as_bytes())
            .map_err(|error| cannot(path, &error))?;
    }
    let object = serde_json::to_value(&advice)?;
    json::print(as_json, json::ENERGY_TUNE, object, &advice.to_text())?;
    Ok(Completion::Success)
}

impl EnergyOptions {
    /// The settings of the run among the options.
    fn of_run(&self, seed: Option<Seed>) -> RunSettings {
        let mut run = RunSettings::unset();
        run.energy = self.energy.clone().map(without_span);
        run.duration = self.duration.map(without_span);
        run.seed = seed.map(without_span);
        run
    }
}
