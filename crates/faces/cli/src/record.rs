//! The options for the records of a run, the same for every command that runs a network.

use std::path::{Path, PathBuf};

use windfall_base::{Duration, Instant, Port, Seed};
use windfall_network::{ElementId, Network, Recording};
use windfall_output::recorder::{Out, Run, RunRecorder};
use windfall_output::series::{Monitor, SeriesFile, SeriesFormat};
use windfall_output::summary::Summary;
use windfall_scenario::{Side, Topology};
use windfall_system::files::{Evidence, UsedFiles, make_folder};

use crate::exit::{CliError, Result, tell};
use crate::options::LinkOptions;
use crate::times::with_unit;
use crate::usage::shell_quoted;

/// Options for the files to write, and for the form of the summary.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct RecordOptions {
    /// Print the summary as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Fail if a change or a fault never took effect, or no packet belonged to a flow
    #[arg(long)]
    must_act: bool,
    /// Write every event to this file, as JSON lines
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// Write a packet log of the uplink, in mahimahi's format. The sender is the first station that
    /// is not the base station of a radio
    #[arg(long, value_name = "FILE")]
    uplink_log: Option<PathBuf>,
    /// Write a packet log of the downlink, in mahimahi's format. The sender is the second station
    /// of a pipe, or the base station of a radio
    #[arg(long, value_name = "FILE")]
    downlink_log: Option<PathBuf>,
    /// Write the packets at every device into this directory, as pcapng
    #[arg(long, value_name = "DIR")]
    pcap: Option<PathBuf>,
    /// Write a time series of each direction and flow to this file. It is CSV, JSON lines if the
    /// name ends in .json or .jsonl, or Parquet for .parquet
    #[arg(long, value_name = "FILE")]
    series: Option<PathBuf>,
    /// Length of a window of --series
    #[arg(long, value_name = "TIME", default_value = "100ms", requires = "series",
          value_parser = interval)]
    series_interval: Duration,
    /// Write an error trace of each direction into this directory. --error-trace replays it
    #[arg(long, value_name = "DIR")]
    record_errors: Option<PathBuf>,
}

impl RecordOptions {
    /// Notes the files among those of the run, and refuses one that has another use. Refuses an
    /// option of `link` for which a file is missing.
    pub(crate) fn check(&self, used: &mut UsedFiles, link: &LinkOptions) -> Result<()> {
        if link.observe() && self.log.is_none() {
            let message = "--observe writes into the event log alone: add --log FILE";
            return Err(CliError::usage(message));
        }
        for (option, path) in [
            ("--log", &self.log),
            ("--uplink-log", &self.uplink_log),
            ("--downlink-log", &self.downlink_log),
            ("--series", &self.series),
        ] {
            let written = path.as_ref().map_or(Ok(()), |path| used.write(option, path));
            written.map_err(CliError::usage)?;
        }
        Ok(())
    }

    /// Refuses a run in which a change or a fault never acted or a flow had no packets, if that was
    /// asked for.
    pub(crate) fn check_acted(&self, summary: &Summary) -> Result<()> {
        let flows = summary.unused_flows.iter().map(|name| format!("flow {name}"));
        let all: Vec<String> = summary.never_acted.iter().cloned().chain(flows).collect();
        if !self.must_act || all.is_empty() {
            return Ok(());
        }
        let all = all.join("; ");
        Err(CliError::of_run(format!("never acted, which --must-act does not allow: {all}")))
    }

    /// Opens the files, and asks the network for what they need.
    ///
    /// `epoch` is the start of the run in nanoseconds since 1970, 0 in simulated time.
    pub(crate) fn recorder(
        &self,
        topology: &Topology,
        network: &mut Network,
        seed: Seed,
        epoch: u64,
    ) -> Result<RunRecorder> {
        let create = |path: &Path| create(path, epoch > 0);
        let elements = network.elements().map(|id| network.name(id).to_owned()).collect();
        let mut recorder = RunRecorder::new(Run { seed, command: command_line(), epoch, elements });
        if let Some(path) = &self.log {
            recorder.log_to(create(path)?)?;
        }
        for (path, side) in [&self.uplink_log, &self.downlink_log].into_iter().zip(Side::BOTH) {
            if let Some(path) = path {
                let ends = topology.sides.first();
                let end = ends.and_then(|ends| ends.iter().position(|it| *it == side));
                let end = end.unwrap_or_default();
                let link = topology.network.links.first();
                let line = link.map(|link| link.medium.line(Port(end as u16))).unwrap_or_default();
                let (sender, queue) =
                    (ElementId(end as u32), windfall_output::totals::queue_of(topology, end));
                recorder.packet_log_to(create(path)?, sender, side.name(), &queue, line)?;
            }
        }
        if let Some(directory) = &self.pcap {
            make_folder(directory).map_err(|error| cannot("create", directory, &error))?;
            for interface in network.interfaces() {
                let name = windfall_output::totals::capture_name(topology, network, interface);
                let dropped = Path::new(&name).with_extension("dropped.pcapng");
                let [out, dropped] =
                    [Path::new(&name), &dropped].map(|name| create(&directory.join(name)));
                recorder.capture_to(out?, dropped?, interface)?;
            }
        }
        if let Some(directory) = &self.record_errors {
            make_folder(directory).map_err(|error| cannot("create", directory, &error))?;
            record_errors(directory, topology, network, &mut recorder, &create)?;
        }
        if let Some(path) = &self.series {
            let format = SeriesFormat::of_file(path);
            let monitor = Monitor::new(Instant::START, network, &topology.flows);
            let series = SeriesFile::new(create(path)?, format, self.series_interval, monitor)?;
            recorder.series_to(series);
        }
        network.record(Recording {
            events: recorder.wants_events(),
            packets: recorder.wants_packets(),
        });
        Ok(recorder)
    }
}

/// Reads the length of a window.
fn interval(text: &str) -> std::result::Result<Duration, String> {
    let interval = with_unit(text)?;
    if interval < Duration::from_millis(1) {
        return Err("use 1ms or more".to_owned());
    }
    Ok(interval)
}

/// Opens an error trace for each direction of each link.
fn record_errors(
    directory: &Path,
    topology: &Topology,
    network: &Network,
    recorder: &mut RunRecorder,
    create: &impl Fn(&Path) -> Result<Out>,
) -> Result<()> {
    let links = &topology.network.links;
    // The media are the elements after the interfaces, in the order of the links.
    let first = network.interfaces().count();
    for (i, link) in links.iter().enumerate() {
        let medium = ElementId((first + i) as u32);
        let ports = 0..link.medium.ports();
        let paths = ports.clone().flat_map(|from| ports.clone().map(move |to| (from, to)));
        for (from, to) in paths.filter(|(from, to)| from != to) {
            let station =
                |port: u16| topology.stations[link.ends[usize::from(port)].station].name.as_str();
            let prefix = if links.len() == 1 { String::new() } else { format!("{}.", link.name) };
            let name = format!("{prefix}{}-to-{}.trace", station(from), station(to));
            let out = create(&directory.join(name))?;
            recorder.errors_to(out, (medium, Port(from), Port(to)), &link.medium);
        }
    }
    Ok(())
}

/// Returns the command line that started the run, for the heads of files.
pub(crate) fn command_line() -> String {
    let words = windfall_control::detach::words().map(|word| word.to_string_lossy().into_owned());
    let words = ["windfall".to_owned()].into_iter().chain(words);
    words.map(|word| shell_quoted(&word)).collect::<Vec<_>>().join(" ")
}

/// Opens a file; in real time one whose reader does not stop the run.
fn create(path: &Path, is_live: bool) -> Result<Out> {
    let file = Evidence::open(path, is_live, |text| tell(text))
        .map_err(|error| cannot("write", path, &error))?;
    Ok(Box::new(file))
}

fn cannot(what: &str, path: &Path, error: &std::io::Error) -> CliError {
    CliError::usage(format!("cannot {what} {}: {error}", path.display()))
}
