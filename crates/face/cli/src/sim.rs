//! `windfall sim`: a scenario in simulated time.

use std::io::{IsTerminal, Write};
use std::path::PathBuf;

use indicatif::{ProgressBar, ProgressStyle};
use windfall_base::{Duration, Instant};
use windfall_live::Signals;
use windfall_scenario::{AppKind, Flags, Topology};
use windfall_sim::Simulation;
use windfall_trace::recorder::Recorder;
use windfall_trace::summary::{ApplicationSummary, LinkSummary, StationSummary, Summary, named};

use crate::exit::{Outcome, Result, tell};
use crate::options::LinkOptions;
use crate::record::{RecordOptions, command_line};
use crate::watch::summary_text;
use crate::wifi::{delivered_bytes, radio_summary};

/// How many steps a run is cut into, between which the progress is shown.
const STEPS: u64 = 200;

/// Run a scenario in simulated time: same seed, same output
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The scenario file, - for the standard input
    scenario: PathBuf,
    /// How long to run, in simulated time; a bare number is in ms [default: as the scenario says]
    #[arg(long, value_name = "TIME", value_parser = some_time)]
    duration: Option<Duration>,
    #[command(flatten)]
    link: LinkOptions,
    #[command(flatten)]
    record: RecordOptions,
}

/// A duration in which something can happen.
fn some_time(text: &str) -> std::result::Result<Duration, String> {
    match text.parse::<Duration>() {
        Ok(time) if time.is_zero() => Err("a duration of 0 shows nothing: write 10s".to_owned()),
        other => other.map_err(|error| error.to_string()),
    }
}

pub(crate) fn run(args: &Args) -> Result {
    let rest = Flags { duration: args.duration, ..Flags::default() };
    let loaded = args.link.load(Some(&args.scenario), rest)?;
    let mut out = std::io::stdout().lock();
    if args.link.generate {
        out.write_all(loaded.generated()?.as_bytes())?;
        return Ok(Outcome::Done);
    }
    let (topology, seed) = (loaded.topology()?, loaded.seed());
    if !loaded.scenario.apps.iter().any(|app| *app.kind.get_ref() != AppKind::Sink) {
        tell("no application sends anything in this scenario: add one by [[app]]");
    }
    let mut simulation = Simulation::new(&topology, seed)?;
    let mut recorder = args.record.recorder(&topology, simulation.network_mut(), seed, 0)?;
    let signals = Signals::take_over()?;
    let ended = advance(&mut simulation, &mut recorder, topology.duration, &signals);
    // What was recorded is complete up to here, whatever ended the run. Each file that cannot be
    // written has said so itself, and the result counts without it.
    let _ = recorder.finish();
    let mut summary = Summary::new(seed, command_line(), simulation.now() - Instant::START);
    if !matches!(ended, Ok(None)) {
        summary.interrupted_of_seconds = Some(topology.duration.as_secs_f64());
    }
    fill(&mut summary, &simulation, &topology);
    match args.record.json {
        true => writeln!(out, "{}", summary.to_json())?,
        false => out.write_all(summary_text(&summary, &std::io::stdout()).as_bytes())?,
    }
    let signal = ended?;
    Ok(signal.map_or(Outcome::Done, |signal| Outcome::Command(128 + signal as u8)))
}

/// Runs to the end or until a signal comes, which it returns; on a terminal, shows how far it has
/// come.
fn advance(
    simulation: &mut Simulation,
    recorder: &mut Recorder,
    length: Duration,
    signals: &Signals,
) -> Result<Option<i32>> {
    let bar = match std::io::stderr().is_terminal() {
        true => ProgressBar::new(STEPS),
        false => ProgressBar::hidden(),
    };
    let template = "{bar:40} {percent} % of the scenario, {eta} to go";
    bar.set_style(ProgressStyle::with_template(template)?);
    let mut signal = None;
    for step in 1..=STEPS {
        let at = u128::from(length.as_nanos()) * u128::from(step) / u128::from(STEPS);
        let until = Instant::from_nanos(at as u64);
        let mut interrupted = || {
            signal = signals.take();
            signal.is_some()
        };
        let record = &mut |event: &_| recorder.record(event);
        match simulation.run_unless(until, record, &mut interrupted) {
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

fn fill(summary: &mut Summary, simulation: &Simulation, topology: &Topology) {
    let network = simulation.network();
    summary.add_overcommitted(&topology.overcommitted);
    for interface in network.interfaces() {
        let mut link = LinkSummary::new(network.name(interface), network.ledger(interface));
        link.radio = radio_summary(network, interface, simulation.now());
        summary.links.push(link);
        summary.add_flows(network, interface, &topology.flows);
    }
    for (number, plan) in topology.stations.iter().enumerate() {
        let Some(station) = network.station(number) else { continue };
        summary.stations.push(StationSummary {
            name: plan.name.clone(),
            dropped_after: named(&station.ledger().drops),
            tcp: station.tcp_operations().iter().filter(|(_, n)| *n > 0).collect(),
            ..StationSummary::default()
        });
        let own = topology.apps.iter().filter(|app| app.station == number);
        for (app, measures) in own.zip(station.reports()) {
            summary.applications.push(ApplicationSummary {
                name: format!("{} at {}", app.config.name(), plan.name),
                measures: measures.into_iter().collect(),
            });
        }
    }
    summary.add_energy(delivered_bytes(network));
}
