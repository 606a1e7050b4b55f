//! `windfall sim`: a scenario in simulated time.

use std::io::Write;
use std::path::PathBuf;

use windfall_base::{Duration, Instant};
use windfall_live::Signals;
use windfall_output::recorder::RunRecorder;
use windfall_scenario::AppKind;
use windfall_scenario::sim::Simulation;

use crate::exit::{CliError, Completion, Result, tell};
use crate::face::Options;
use crate::options::{LinkOptions, SimulationGroup};
use crate::record::{RecordOptions, command_line};
use crate::{progress, summary_text};

/// The number of steps of a run, between which the progress is shown.
const STEPS: u64 = 200;

/// Simulate a scenario: the same seed gives the same output
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Scenario file, - for the standard input
    scenario: PathBuf,
    #[command(flatten)]
    simulation: Options<SimulationGroup>,
    #[command(flatten)]
    link: LinkOptions,
    #[command(flatten)]
    record: RecordOptions,
}

pub(crate) fn run(args: &Args) -> Result {
    let loaded = args.link.load(Some(&args.scenario), &args.simulation.0)?;
    loaded.check_starts()?;
    let mut out = std::io::stdout().lock();
    if args.link.generate {
        out.write_all(loaded.generated()?.as_bytes())?;
        return Ok(Completion::Success);
    }
    let mut used = args.link.files(Some(&args.scenario), &loaded)?;
    args.record.check(&mut used, &args.link)?;
    let topology = loaded.topology()?;
    let seed = loaded.seed();
    if !loaded.scenario.apps.iter().any(|app| *app.kind.get_ref() != AppKind::Sink) {
        tell("no application sends anything in this scenario: add one by [[app]]");
    }
    let mut simulation = Simulation::new(&topology, seed)?;
    let mut recorder = args.record.recorder(&topology, simulation.network_mut(), seed, 0)?;
    let signals = Signals::take_over().map_err(|error| CliError::new(error.to_string()))?;
    let ended = advance(&mut simulation, &mut recorder, topology.duration, &signals);
    // What was recorded is complete up to here, whatever ended the run. Each file that cannot be
    // written has said so itself, and the result counts without it.
    let _ = recorder.finish_series(simulation.now(), simulation.network());
    let _ = recorder.finish();
    let network = simulation.network();
    let now = simulation.now();
    let mut summary =
        windfall_output::totals::of_simulation(network, &topology, seed, command_line(), now);
    windfall_output::totals::add_idle_changes(
        &mut summary,
        &loaded.scenario,
        Duration::ZERO,
        now,
        network,
        &topology,
    );
    if !matches!(ended, Ok(None)) {
        summary.interrupted_of_seconds = Some(topology.duration.as_secs_f64());
    }
    if args.record.json {
        writeln!(out, "{}", summary.to_json())?;
    } else {
        out.write_all(summary_text::to_text(&summary, &std::io::stdout()).as_bytes())?;
    }
    let signal = ended?;
    args.record.check_acted(&summary)?;
    Ok(signal.map_or(Completion::Success, |signal| Completion::Program(128 + signal as u8)))
}

/// Runs to the end or until a signal comes, which it returns; on a terminal, shows how far it has
/// come.
fn advance(
    simulation: &mut Simulation,
    recorder: &mut RunRecorder,
    length: Duration,
    signals: &Signals,
) -> Result<Option<i32>> {
    let bar = progress::bar(STEPS)?;
    let mut signal = None;
    for step in 1..=STEPS {
        let at = u128::from(length.as_nanos()) * u128::from(step) / u128::from(STEPS);
        let until = Instant::from_nanos(at as u64);
        let mut interrupted = || {
            signal = signals.take();
            signal.is_some()
        };
        match run_to(until, simulation, recorder, &mut interrupted) {
            Ok(true) => bar.set_position(step),
            Ok(false) => break,
            Err(error) => {
                bar.finish_and_clear();
                return Err(error.into());
            }
        }
    }
    bar.finish_and_clear();
    Ok(signal)
}

/// Runs until `until` in steps that end with the windows of the samples; returns whether it came
/// there.
fn run_to(
    until: Instant,
    simulation: &mut Simulation,
    recorder: &mut RunRecorder,
    interrupted: &mut dyn FnMut() -> bool,
) -> std::io::Result<bool> {
    loop {
        let window = recorder.next_sample().filter(|at| *at <= until);
        let record = &mut |event: &_| recorder.record(event);
        if !simulation.run_unless(window.unwrap_or(until), record, interrupted)? {
            return Ok(false);
        }
        let Some(end) = window else { return Ok(true) };
        recorder.advance(end, simulation.network())?;
    }
}
