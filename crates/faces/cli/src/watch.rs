//! Runs in real time: their options, their display, and their summary.

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;

use windfall_base::text::visible;
use windfall_base::{Duration, Instant, Seed};
use windfall_control::fault_injection::{Faulty, PortFaults};
use windfall_control::{LateLimit, RunControl};
use windfall_live::{KEEPER_LOST, Lateness, Observer, Reply, RunOutcome};
use windfall_network::{Network, Recording};
use windfall_output::recorder::RunRecorder;
use windfall_output::summary::Summary;
use windfall_scenario::{RunSettings, Topology};
use windfall_system::files::UsedFiles;
use windfall_view::terminal::Status;

use crate::apply::ApplyOptions;
use crate::exit::{CliError, Result, tell};
use crate::face::Options;
use crate::options::KernelGroup;
use crate::record::command_line;
use crate::summary_text;

/// The longest time that records wait before programs that follow the files can read them.
const FLUSH: Duration = Duration::from_millis(10);

/// Options of runs in real time.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Stations")]
pub(crate) struct LiveOptions {
    #[command(flatten)]
    kernels: Options<KernelGroup>,
    #[command(flatten)]
    pub(crate) apply: ApplyOptions,
    /// Write the summary to this file, as JSON with --json or if the name ends in .json
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    summary: Option<PathBuf>,
    /// Fail if a larger share of packets is later than this, as on a busy machine: 1ms:1%
    #[arg(long, value_name = "TIME:SHARE", help_heading = "Output")]
    max_late: Option<LateLimit>,
    /// Fault of connections to a port of a station: "far:80 reset 1s" or "far:80 delay 100ms, rate
    /// 1Mbps". The faults are down, reset, timeout, slow-close, slice, limit, delay and rate
    #[arg(
        long = "fault",
        value_name = "FAULT",
        help_heading = "Changes",
        conflicts_with = "generate"
    )]
    faults: Vec<PortFaults>,
    /// Print errors only
    #[arg(long, short, help_heading = "Output")]
    pub(crate) quiet: bool,
}

impl LiveOptions {
    /// The network of a run with the faults of its connections.
    pub(crate) fn with_faults(
        &self,
        network: Network,
        topology: &Topology,
        seed: Seed,
    ) -> Result<Faulty<Network>> {
        let mut run = Faulty::new(network, seed);
        for (number, fault) in self.faults.iter().enumerate() {
            let station = &fault.station;
            let port = fault.port;
            if self.faults[..number].iter().any(|it| (&it.station, it.port) == (station, port)) {
                let fix = "separate several faults by commas";
                let message = format!("--fault {fault}: {station}:{port} has faults already");
                return Err(CliError::usage(format!("{message}: {fix}")));
            }
            let set = windfall_control::faults::set(topology, &mut run, fault.clone());
            set.map_err(CliError::usage)?;
        }
        Ok(run)
    }

    /// Notes the file of the summary among those of the run.
    pub(crate) fn check_files(&self, used: &mut UsedFiles) -> Result<()> {
        let write = |path| used.write_at_end("--summary", path);
        self.summary.as_deref().map_or(Ok(()), write).map_err(CliError::usage)
    }

    /// Returns the settings of the run among the options.
    pub(crate) fn settings(&self) -> &RunSettings {
        &self.kernels.0
    }

    /// Tells whether the standard error carries no summary.
    pub(crate) fn spares_stderr(&self) -> bool {
        self.quiet || self.summary.is_some()
    }

    /// Publishes the summary, on the standard output if it is asked for in JSON:
    /// no program of the user's writes there.
    pub(crate) fn publish_alone(&self, summary: &Summary, json: bool) -> Result<()> {
        if json && self.summary.is_none() {
            return Ok(writeln!(io::stdout(), "{}", summary.to_json())?);
        }
        self.publish(summary, json)
    }

    /// Publishes the summary of a run whose standard output is a program's. A file whose name ends
    /// in .json gets it in JSON.
    pub(crate) fn publish(&self, summary: &Summary, json: bool) -> Result<()> {
        let is_json = |path: &PathBuf| path.extension().is_some_and(|it| it == "json");
        let json = json || self.summary.as_ref().is_some_and(is_json);
        let text = if json {
            format!("{}\n", summary.to_json())
        } else if self.summary.is_some() {
            visible(&summary.to_text()).into_owned()
        } else {
            summary_text::to_text(summary, &io::stderr())
        };
        // A standard error that is closed is ignored.
        let write = |line: &str| drop(io::stderr().write_all(line.as_bytes()));
        match &self.summary {
            Some(path) => {
                if let Err(error) = windfall_system::files::write(path, text.as_bytes()) {
                    // The result must not be lost with the file.
                    write(&text);
                    let message = format!("cannot write {}: {error}", path.display());
                    return Err(CliError::new(message));
                } else if let Some(note) = summary.lateness.and_then(|it| it.disturbance())
                    && !self.quiet
                {
                    write(&format!("windfall: {note}\n"));
                }
            }
            None if self.quiet => {}
            None => write(&text),
        }
        Ok(())
    }
}

impl LiveOptions {
    /// The limit of the lateness, if there is one.
    pub(crate) fn late_limit(&self) -> Option<Duration> {
        self.max_late.map(LateLimit::delay)
    }

    /// Refuses a run of which too many packets were late, whose keeper was killed, or that has lost
    /// what the text says.
    pub(crate) fn check_outcome(&self, outcome: &RunOutcome, lost: Option<&str>) -> Result<()> {
        if let Some(message) = outcome.has_lost_keeper.then_some(KEEPER_LOST).or(lost) {
            return Err(CliError::new(message));
        }
        let limit = self.max_late.map_or(Ok(()), |limit| limit.check(&outcome.lateness));
        limit.map_err(CliError::new)
    }
}

/// The time of day, in nanoseconds since 1970.
#[expect(clippy::disallowed_methods, reason = "captures carry the time of day")]
pub(crate) fn epoch() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos() as u64)
}

/// Records a run, shows its progress, and sums it up at its end.
#[derive(Debug)]
pub(crate) struct Watcher {
    recorder: RunRecorder,
    /// True if something was recorded since the last flush, and the time of that flush.
    unflushed: bool,
    flushed_at: Instant,
    status: Option<Status>,
    control: RunControl,
    late_limit: Option<Duration>,
}

impl Watcher {
    /// A watcher that writes to the files of `recorder`, shows how `flows` fare, and serves the
    /// clients of `control`; it shows nothing if it is `quiet` or standard error is no terminal.
    pub(crate) fn new(
        recorder: RunRecorder,
        quiet: bool,
        flows: &[String],
        (control, late_limit): (RunControl, Option<Duration>),
    ) -> Self {
        let visible = !quiet && io::stderr().is_terminal();
        let unflushed = true;
        let flushed_at = Instant::START;
        let status = visible.then(|| Status::new(flows));
        Self { recorder, unflushed, flushed_at, status, control, late_limit }
    }

    /// Writes the rest of the files, and sums up.
    pub(crate) fn finish(
        mut self,
        topology: &Topology,
        seed: Seed,
        outcome: &RunOutcome,
        run: &Faulty<Network>,
    ) -> Summary {
        let network = run.node();
        if let Some(status) = &mut self.status {
            status.clear();
        }
        // Each file that cannot be written has said so itself, and the result counts without it.
        let _ = self.recorder.finish_series(Instant::START + outcome.duration, network);
        let _ = self.recorder.finish();
        let command = command_line();
        let mut summary =
            windfall_output::totals::of_network(network, topology, seed, command, outcome.duration);
        summary.stations = windfall_control::station_summaries(topology, outcome);
        summary.failed = windfall_control::failed_programs(topology, outcome);
        let ended = Instant::START + outcome.duration;
        windfall_output::totals::add_energy(&mut summary, network, topology, ended);
        summary.lateness = Some(windfall_control::lateness_summary(&outcome.lateness));
        let scenario = self.control.whole_scenario();
        let began = self.control.schedule_began();
        windfall_output::totals::add_idle_changes(
            &mut summary,
            &scenario,
            began,
            ended,
            network,
            topology,
        );
        summary.never_acted.extend(run.idle_faults().map(|fault| format!("fault {fault}")));
        summary
    }
}

impl Watcher {
    /// When what was recorded is handed on, so that others can follow: with each packet of a slow
    /// run, every [`FLUSH`] of a fast one.
    fn flush_at(&self) -> Option<Instant> {
        self.unflushed.then(|| self.flushed_at + FLUSH)
    }

    /// Asks the network for what files and clients need.
    fn choose_events(&self, network: &mut Network) {
        network.record(Recording {
            events: self.recorder.wants_events() || self.control.wants_events(),
            packets: self.recorder.wants_packets(),
        });
    }
}

impl Observer<Faulty<Network>> for Watcher {
    fn observe(&mut self, now: Instant, run: &mut Faulty<Network>) {
        let network = run.node_mut();
        while let Some(event) = network.poll_event() {
            // A file that fails says so itself, and the others go on.
            let _ = self.recorder.record(&event);
            self.control.record(&event);
            self.unflushed = true;
        }
        if self.recorder.next_sample().is_some_and(|at| at <= now) {
            let _ = self.recorder.advance(now, network);
            self.unflushed = true;
        }
        if self.control.wakeup().is_some_and(|at| at <= now) {
            self.control.advance(now, network);
            self.choose_events(network);
        }
        if self.flush_at().is_some_and(|at| at <= now) {
            let _ = self.recorder.flush();
            (self.unflushed, self.flushed_at) = (false, now);
        }
        if let Some(status) = &mut self.status {
            status.show(now, network);
        }
    }

    fn command_began(&mut self, now: Instant, run: &mut Faulty<Network>) {
        if let Err(why) = self.control.start_schedule(now, run.node_mut()) {
            self.warn(&format!("the changes of the link are not made: {why}"));
        }
    }

    fn lost(&mut self, station: &str, device: &str) {
        self.warn(&format!(
            "the device {device} of station {station} is gone; the run goes on without it, and \
             drops what comes for it"
        ));
    }

    fn warn(&mut self, text: &str) {
        if let Some(status) = &mut self.status {
            status.clear();
        }
        tell(text);
    }

    fn suspend(&mut self) {
        if let Some(status) = &mut self.status {
            status.clear();
        }
    }

    fn late_limit(&self) -> Option<Duration> {
        self.late_limit
    }

    fn request(
        &mut self,
        now: Instant,
        run: &mut Faulty<Network>,
        lateness: &Lateness,
        line: &[u8],
    ) -> Reply {
        let asked = self.control.handle(now, run, lateness, line);
        if let Some((link, change)) = &asked.change {
            let _ = self.recorder.note_change(now, link, change);
            self.unflushed = true;
        }
        self.choose_events(run.node_mut());
        asked.reply
    }

    fn wakeup(&self) -> Option<Instant> {
        let status = self.status.as_ref().map(Status::wakeup);
        let samples = self.recorder.next_sample().into_iter().chain(self.control.wakeup());
        status.into_iter().chain(self.flush_at()).chain(samples).min()
    }
}
