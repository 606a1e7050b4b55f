//! `windfall sim`: a scenario in simulated time.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;

use windfall_base::{Duration, Instant};
use windfall_live::Signals;
use windfall_network::AppConfig;
use windfall_run_output::recorder::RunRecorder;
use windfall_run_output::summary::{ApplicationSummary, StationSummary, Summary, named};
use windfall_scenario::{AppKind, Topology};
use windfall_sim::Simulation;
use windfall_socket_api::{Measured, Transport};

use crate::exit::{CliError, Completion, Result, tell};
use crate::face::Options;
use crate::options::{LinkOptions, OfSimulation};
use crate::record::RecordOptions;
use crate::{progress, summary};

/// The number of steps of a run, between which the progress is shown.
const STEPS: u64 = 200;

/// Run a scenario in simulated time: same seed, same output
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The scenario file, - for the standard input
    scenario: PathBuf,
    #[command(flatten)]
    simulation: Options<OfSimulation>,
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
    args.record.check(Some(&args.scenario), &args.link)?;
    let (topology, seed) = (loaded.topology()?, loaded.seed());
    if !loaded.scenario.apps.iter().any(|app| *app.kind.get_ref() != AppKind::Sink) {
        tell("no application sends anything in this scenario: add one by [[app]]");
    }
    let mut simulation = Simulation::new(&topology, seed)?;
    let mut recorder = args.record.recorder(&topology, simulation.network_mut(), seed, 0)?;
    let signals = Signals::take_over().map_err(|error| CliError::new(error.to_string()))?;
    let ended = advance(&mut simulation, &mut recorder, topology.duration, &signals);
    // What was recorded is complete up to here, whatever ended the run. Each file that cannot be
    // written has said so itself, and the result counts without it.
    let _ = recorder.finish();
    let ran = simulation.now() - Instant::START;
    let mut summary = summary::of_network(simulation.network(), &topology, seed, ran);
    if !matches!(ended, Ok(None)) {
        summary.interrupted_of_seconds = Some(topology.duration.as_secs_f64());
    }
    add_stations(&mut summary, &simulation, &topology);
    summary::add_energy(&mut summary, simulation.network());
    if args.record.json {
        writeln!(out, "{}", summary.to_json())?;
    } else {
        out.write_all(summary::to_text(&summary, &std::io::stdout()).as_bytes())?;
    }
    let signal = ended?;
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

/// Adds what the simulated hosts dropped, and what their applications measured.
fn add_stations(summary: &mut Summary, simulation: &Simulation, topology: &Topology) {
    let measures = measures(simulation, topology);
    for (number, plan) in topology.stations.iter().enumerate() {
        let Some(station) = simulation.network().station(number) else { continue };
        summary.stations.push(StationSummary {
            name: plan.name.clone(),
            dropped_after: named(&station.ledger().drops),
            tcp: station.tcp_operations().iter().filter(|(_, n)| *n > 0).collect(),
            ..StationSummary::default()
        });
        let all = topology.apps.iter().zip(&measures);
        let own: Vec<_> = all.filter(|(app, _)| app.station == number).collect();
        for (app, measures) in &own {
            let of_kind = own.iter().filter(|(it, _)| it.config.name() == app.config.name());
            let mut name = format!("{} at {}", app.config.name(), plan.name);
            if of_kind.count() > 1 {
                name = format!("{name} {}", app.config.endpoint());
            }
            let measures = (*measures).clone();
            summary.applications.push(ApplicationSummary { name, measures });
        }
    }
}

/// The measures of an application, by name.
type Measures = BTreeMap<&'static str, Measured>;

/// Returns what each application of the plan measured, and for each sink what was sent to it, which
/// it cannot know by itself.
fn measures(simulation: &Simulation, topology: &Topology) -> Vec<Measures> {
    let (network, now) = (simulation.network(), simulation.now());
    let stations = (0..topology.stations.len()).map(|number| network.station(number));
    let reports =
        stations.map(|station| station.into_iter().flat_map(|station| station.reports(now)));
    let mut reports: Vec<_> = reports.collect();
    let own = topology.apps.iter().map(|app| reports[app.station].next().unwrap_or_default());
    let mut all: Vec<Measures> = own.map(|report| report.into_iter().collect()).collect();
    let sent = sent(topology, &all);
    for (app, measures) in topology.apps.iter().zip(&mut all) {
        let (local, protocol) = match &app.config {
            AppConfig::Sink(sink) => (sink.local, of_datagrams(sink.transport)),
            AppConfig::SapSink(sink) => (sink.local, Protocol::Sap),
            _ => continue,
        };
        let of = |station| sent.get(&(station, local.port(), protocol)).copied();
        let sent = of(None).is_none().then(|| of(Some(app.station)).unwrap_or(0));
        let count = |name| measures.get(name).map_or(0, |it| it.number() as u64);
        let arrived = count("received") - count("duplicates");
        let missing = sent.map(|sent| sent.saturating_sub(arrived));
        measures.insert("sent", sent.map_or(Measured::Absent, Measured::Count));
        measures.insert("missing", missing.map_or(Measured::Absent, Measured::Count));
    }
    all
}

/// The protocol of a receiver; each has ports of its own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Protocol {
    Udp,
    UdpLite,
    Sap,
}

fn of_datagrams(transport: Transport) -> Protocol {
    match transport {
        Transport::UdpLite { .. } => Protocol::UdpLite,
        _ => Protocol::Udp,
    }
}

/// The place that datagrams or messages are sent to: the station, if the address is one's; the
/// port; and the protocol.
type Place = (Option<usize>, u16, Protocol);

/// The datagrams and messages that were sent to each place.
fn sent(topology: &Topology, measures: &[Measures]) -> BTreeMap<Place, u64> {
    let addresses = topology.stations.iter().enumerate().flat_map(|(number, station)| {
        let all = station.interfaces.iter().flat_map(|it| &it.addresses);
        all.map(move |prefix| (prefix.address, number))
    });
    let addresses: BTreeMap<_, _> = addresses.collect();
    let mut sent = BTreeMap::new();
    for (app, measures) in topology.apps.iter().zip(measures) {
        let (to, protocol) = match &app.config {
            AppConfig::Spray(config) | AppConfig::Cbr(config) => {
                (config.to, of_datagrams(config.transport))
            }
            AppConfig::SapBulk(config) | AppConfig::SapStream(config) => (config.to, Protocol::Sap),
            _ => continue,
        };
        let station = addresses.get(&to.ip()).copied();
        let number = measures.get("sent").map_or(0, |it| it.number() as u64);
        *sent.entry((station, to.port(), protocol)).or_default() += number;
    }
    sent
}
