//! `windfall up`: the stations of a scenario, until they are told to go.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use windfall_base::text::visible;
use windfall_control::detach;
use windfall_control::lifeline::Lifeline;
use windfall_live::{ControlSocket, RunEnd, Signals, Stations, control_socket, session};
use windfall_network::Network;
use windfall_system::files::Replacement;

use crate::exit::{CliError, Completion, Result};
use crate::options::{LinkOptions, Loaded};
use crate::record::RecordOptions;
use crate::relay::PortOptions;
use crate::watch::{LiveOptions, Watcher, epoch};
use crate::{apply, control, relay};

/// The name of a run without a scenario file.
const NAME: &str = "link";

/// Start the stations of a scenario, until you interrupt it
///
/// Programs enter the stations with `windfall exec STATION -- COMMAND`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Scenario file, - for the standard input [default: near, far and one link, as the options
    /// say]
    scenario: Option<PathBuf>,
    /// Name of the run, for `windfall exec` [default: the name of the file, or link]
    #[arg(long, value_name = "NAME", value_parser = control::run_name)]
    name: Option<String>,
    /// Return after the stations are up. `windfall down` ends them
    #[arg(long, short)]
    detach: bool,
    /// File for the output of a detached run [default: ~/.local/state/windfall/NAME.log]
    #[arg(long, value_name = "FILE", requires = "detach")]
    output: Option<PathBuf>,
    /// End the run after the writer of the pipe at this descriptor closes the pipe
    #[arg(long, value_name = "DESCRIPTOR", conflicts_with = "detach")]
    lifeline: Option<u16>,
    /// This process is the detached one.
    #[arg(long, hide = true)]
    is_detached: bool,
    #[command(flatten)]
    link: LinkOptions,
    #[command(flatten)]
    live: LiveOptions,
    #[command(flatten)]
    ports: PortOptions,
    #[command(flatten)]
    record: RecordOptions,
}

impl Args {
    /// The scenario, changed as the options say.
    pub(crate) fn load(&self) -> Result<Loaded> {
        if self.detach {
            self.live.apply.check_detached()?;
        }
        self.link.load(self.scenario.as_deref(), self.live.settings())
    }
}

pub(crate) fn run(args: &Args) -> Result {
    let result = args.lifelines().and_then(|lifelines| bring_up(args, lifelines));
    if let (true, Err(error)) = (args.is_detached, &result) {
        // Whoever has started it waits for it.
        detach::report(&error.to_string());
    }
    result
}

fn bring_up(args: &Args, lifelines: Vec<Lifeline>) -> Result {
    let loaded = args.load()?;
    if args.link.generate {
        std::io::stdout().write_all(loaded.generated()?.as_bytes())?;
        return Ok(Completion::Success);
    }
    let mut used = args.link.files(args.scenario.as_deref(), &loaded)?;
    args.record.check(&mut used, &args.link)?;
    args.live.check_files(&mut used)?;
    if let Some(path) = &args.output {
        used.write("--output", path).map_err(CliError::usage)?;
    }
    let (loaded, applied) = args.live.apply.apply(loaded)?;
    let topology = loaded.topology()?;
    let seed = loaded.seed();
    let scenario = args.scenario.as_deref();
    let stem = |path: &Path| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let of_file = || scenario.map_or_else(|| NAME.to_owned(), stem);
    let name = args.name.clone().unwrap_or_else(of_file);
    control_socket::check_name(&name)?;
    if args.detach && !args.is_detached {
        let at = match &args.output {
            Some(output) => output.clone(),
            None => detach::default_output(&name)?,
        };
        let unwritten = |error: std::io::Error| crate::input::cannot_write(&at, &error);
        // What stands in the file stays until the run is up.
        let file = Replacement::begin(&at).map_err(unwritten)?;
        detach::detach(&name, file.file(), scenario)?;
        file.place().map_err(unwritten)?;
        if !args.live.quiet {
            let output = at.display().to_string();
            let up = format!("{} is up, and prints to {}", visible(&name), visible(&output));
            // A reader that went away, or a full disk, is no reason to fail: the run is up.
            let _ = writeln!(io::stderr(), "{up}");
        }
        return Ok(Completion::Success);
    }
    // The terminal of whoever has started a detached run is none of its own.
    let _ = args.is_detached.then(rustix::process::setsid);
    let mut plan = apply::plan(&applied, &topology, args.live.quiet || args.record.json);
    args.ports.add_to(&mut plan, None)?;
    let mut network = Network::build(&topology.with_simulated_hosts(), seed)?;
    let recorder = args.record.recorder(&topology, &mut network, seed, epoch())?;
    let control = control::of_run(&name, "up", &loaded, &topology)?;
    let mut watcher =
        Watcher::new(recorder, args.live.quiet, &topology.flows, (control, args.live.late_limit()));
    let network = args.live.with_faults(network, &topology, seed)?;
    let ports = args.ports.open(&topology, &mut plan)?;
    ControlSocket::plan(&name, &mut plan);
    let signals = Signals::take_over()?;
    let mut stations = Stations::build(plan, None, Vec::new())?;
    lifelines.into_iter().try_for_each(Lifeline::watch)?;
    // The stations' processes must not hold it open when this one is gone.
    let control_socket = ControlSocket::open(&name, &mut stations)?;
    let helpers = relay::serve(ports, &mut stations)?;
    if !args.live.quiet {
        let announced = announce(&name, &topology);
        // A standard error that is closed is ignored, unless it was made for this run.
        announced
            .or_else(|error| if args.is_detached { Err(args.unwritten(&error)) } else { Ok(()) })?;
    }
    let ending = RunEnd::OnSignal;
    let (outcome, network) =
        session::run(stations, &signals, Some(&control_socket), ending, network, &mut watcher)?;
    let carried = relay::totals(&helpers);
    let lost = helpers.end();
    drop(control_socket);
    let mut summary = applied.noted(watcher.finish(&topology, seed, &outcome, &network));
    summary.ports = carried;
    args.live.publish_alone(&summary, args.record.json)?;
    args.live.check_outcome(&outcome, lost)?;
    args.record.check_acted(&summary)?;
    Ok(Completion::Success)
}

impl Args {
    /// Takes what says when whoever has started the run is gone. No other descriptor is open yet.
    fn lifelines(&self) -> Result<Vec<Lifeline>> {
        let mut lifelines = Vec::new();
        if self.is_detached {
            lifelines.push(Lifeline::standard_input()?);
        }
        if let Some(descriptor) = self.lifeline {
            let refused = |why: String| CliError::usage(format!("--lifeline {descriptor}: {why}"));
            lifelines.push(Lifeline::at(descriptor).map_err(refused)?);
        }
        Ok(lifelines)
    }

    /// The error of a detached run that cannot write what it prints.
    fn unwritten(&self, error: &io::Error) -> CliError {
        let output = self.output.as_ref().map(|output| output.display().to_string());
        let output = output.unwrap_or_else(|| "its output".to_owned());
        CliError::usage(format!("cannot write what the run prints to {output}: {error}"))
    }
}

/// Says what is there and how to get in.
fn announce(name: &str, topology: &windfall_scenario::Topology) -> io::Result<()> {
    let mut err = std::io::stderr().lock();
    for station in &topology.stations {
        let addresses = station.interfaces.iter().flat_map(|interface| &interface.addresses);
        let addresses: Vec<_> = addresses.map(|prefix| prefix.address.to_string()).collect();
        writeln!(err, "{}: {}", visible(&station.name), addresses.join(" "))?;
    }
    writeln!(err, "{name} is up: windfall exec STATION -- COMMAND; end with Ctrl-C")
}
