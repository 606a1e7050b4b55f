//! Settings that `windfall tune` found, used by a run.

use std::path::PathBuf;

use windfall_control::{live_plan, tell_kernels};
use windfall_live::LivePlan;
use windfall_scenario::Topology;
use windfall_tune::AppliedSettings;

use crate::exit::{CliError, Result, tell};
use crate::input;
use crate::options::Loaded;

/// The option that names the settings.
#[derive(Debug, clap::Args)]
pub(crate) struct ApplyOptions {
    /// File of TCP settings for the kernels of the stations: the output of `windfall tune --for`,
    /// or a list such as mss=1000, sack=off. - is the standard input
    #[arg(
        long = "apply",
        value_name = "FILE",
        help_heading = "Stations",
        conflicts_with = "generate"
    )]
    file: Option<PathBuf>,
}

impl ApplyOptions {
    /// Refuses the standard input for a run that has none.
    pub(crate) fn check_detached(&self) -> Result<()> {
        let is_stdin = self.file.as_ref().is_some_and(|file| file.as_os_str() == "-");
        let message = "--apply -: a detached run cannot read its settings from the standard \
                       input: name a file";
        if is_stdin { Err(CliError::usage(message)) } else { Ok(()) }
    }

    /// Reads the settings, and changes the links of the scenario by them.
    pub(crate) fn apply(&self, loaded: Loaded) -> Result<(Loaded, AppliedSettings)> {
        let Some(path) = &self.file else { return Ok((loaded, AppliedSettings::default())) };
        let wrong = |why| CliError::usage(format!("--apply {}: {why}", path.display()));
        let text = input::read_tree(path, "list of settings")?;
        let settings: AppliedSettings = text.parse().map_err(wrong)?;
        let mut scenario = loaded.scenario.clone();
        settings.change_links(&mut scenario).map_err(wrong)?;
        let is_same = scenario == loaded.scenario;
        Ok((if is_same { loaded } else { loaded.varied(&scenario) }, settings))
    }
}

/// Returns the plan of a scenario whose kernels have the settings; says which they cannot have
/// unless it is to be `silent`.
pub(crate) fn plan(settings: &AppliedSettings, topology: &Topology, silent: bool) -> LivePlan {
    let mut plan = live_plan(topology);
    settings.tcp().iter().for_each(|setting| tell_kernels(&mut plan, &setting.way));
    let applied = settings.summaries();
    for it in applied.iter().filter(|it| it.cannot.is_some() && !silent) {
        tell(format_args!("--apply: {it}"));
    }
    plan
}
