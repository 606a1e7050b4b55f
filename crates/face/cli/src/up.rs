//! `windfall up`: the stations of a scenario, until they are told to go.

use std::io::Write;
use std::path::PathBuf;

use windfall_base::text::visible;
use windfall_live::{ControlSocket, Ending, LivePlan, Signals, Stations, control_socket, session};
use windfall_network::Network;

use crate::exit::{Completion, Result};
use crate::options::{LinkOptions, Loaded};
use crate::record::RecordOptions;
use crate::watch::{LiveOptions, Watcher, epoch};

/// Bring up the stations of a scenario, until interrupted
///
/// Programs enter them with `windfall exec STATION -- COMMAND`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The scenario file, - for the standard input
    scenario: PathBuf,
    /// The name of the run for `windfall exec` [default: the name of the file]
    #[arg(long, value_name = "NAME", value_parser = run_name)]
    name: Option<String>,
    #[command(flatten)]
    link: LinkOptions,
    #[command(flatten)]
    live: LiveOptions,
    #[command(flatten)]
    record: RecordOptions,
}

impl Args {
    /// The scenario, changed as the options say.
    pub(crate) fn load(&self) -> Result<Loaded> {
        self.link.load(Some(&self.scenario), self.live.settings())
    }
}

/// Reads a name under which a run can be found.
fn run_name(text: &str) -> std::result::Result<String, String> {
    if !control_socket::is_name(text) {
        return Err(format!("use up to {} letters without /", control_socket::LONGEST));
    }
    Ok(text.to_owned())
}

pub(crate) fn run(args: &Args) -> Result {
    let loaded = args.load()?;
    if args.link.generate {
        std::io::stdout().write_all(loaded.generated()?.as_bytes())?;
        return Ok(Completion::Success);
    }
    args.record.check(Some(&args.scenario), &args.link)?;
    let (topology, seed) = (loaded.topology()?, loaded.seed());
    let plan = LivePlan::new(&topology);
    let mut network = Network::build(&topology.with_simulated_hosts(), seed)?;
    let recorder = args.record.recorder(&topology, &mut network, seed, epoch())?;
    let name = match &args.name {
        Some(name) => name.clone(),
        None => args.scenario.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
    };
    control_socket::check_name(&name)?;
    let mut watcher = Watcher::new(recorder, args.live.quiet, &topology.flows);
    let signals = Signals::take_over()?;
    let stations = Stations::build(plan, None, Vec::new())?;
    // The stations' processes must not hold it open when this one is gone.
    let control_socket = ControlSocket::open(&name)?;
    if !args.live.quiet {
        announce(&name, &topology);
    }
    let ending = Ending::OnSignal;
    let (outcome, network) =
        session::run(stations, &signals, Some(&control_socket), ending, network, &mut watcher)?;
    drop(control_socket);
    let summary = watcher.finish(&topology, seed, &outcome, &network);
    args.live.publish_alone(&summary, args.record.json)?;
    Ok(Completion::Success)
}

/// Says what is there and how to get in.
fn announce(name: &str, topology: &windfall_scenario::Topology) {
    let mut err = std::io::stderr().lock();
    for station in &topology.stations {
        let addresses = station.interfaces.iter().flat_map(|interface| &interface.addresses);
        let addresses: Vec<_> = addresses.map(|prefix| prefix.address.to_string()).collect();
        // A standard error that is closed is ignored.
        let _ = writeln!(err, "{}: {}", visible(&station.name), addresses.join(" "));
    }
    let _ = writeln!(err, "{name} is up: windfall exec STATION -- COMMAND; end with Ctrl-C");
}
