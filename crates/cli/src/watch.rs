//! Runs in real time: their options, what they show while they go on and say at their end.

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;

use windfall_base::{Instant, Seed};
use windfall_live::Observer;
use windfall_live::driver::PUNCTUAL;
use windfall_network::Network;
use windfall_scenario::Topology;
use windfall_trace::recorder::Recorder;
use windfall_trace::summary::{LateSummary, LinkSummary, StationSummary, Summary};

use crate::exit::{Result, Trouble};
use crate::record::command_line;
use crate::status::Status;
use crate::wifi::radio_summary;

/// Options of runs in real time.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Stations")]
pub(crate) struct LiveOptions {
    /// TCP's congestion control in every station [default: the system's own]
    #[arg(long, value_name = "NAME")]
    tcp_congestion: Option<String>,
    /// Set a kernel parameter in every station: net.ipv4.tcp_sack=0
    #[arg(long, value_name = "KEY=VALUE")]
    sysctl: Vec<String>,
    /// Write the summary to this file instead of the standard error
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    summary: Option<PathBuf>,
    /// Say nothing but errors
    #[arg(long, short, help_heading = "Output")]
    pub(crate) quiet: bool,
}

impl LiveOptions {
    /// Keys and values, in the order of the options.
    pub(crate) fn parameters(&self) -> Result<Vec<(String, String)>> {
        let congestion = self.tcp_congestion.iter();
        let congestion =
            congestion.map(|name| ("net.ipv4.tcp_congestion_control".to_owned(), name.clone()));
        let mut parameters: Vec<_> = congestion.collect();
        for text in &self.sysctl {
            let Some((key, value)) = text.split_once('=') else {
                return Err(Trouble::new(format!(
                    "--sysctl \"{text}\" has no value: write it as net.ipv4.tcp_sack=0"
                )));
            };
            parameters.push((key.trim().to_owned(), value.trim().to_owned()));
        }
        Ok(parameters)
    }

    /// Says what became of the packets.
    pub(crate) fn publish(&self, summary: &Summary, json: bool) -> Result<()> {
        let text = if json { format!("{}\n", summary.to_json()) } else { summary.to_text() };
        match &self.summary {
            Some(path) => std::fs::write(path, text).map_err(|error| {
                Trouble::new(format!("cannot write {}: {error}", path.display()))
            })?,
            None if self.quiet => {}
            None => io::stderr().write_all(text.as_bytes())?,
        }
        Ok(())
    }
}

/// The time of day, in nanoseconds since 1970.
#[expect(clippy::disallowed_methods, reason = "captures carry the time of day")]
pub(crate) fn epoch() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos() as u64)
}

/// Records a run, shows how it goes, and knows at the end what became of every packet.
#[derive(Debug)]
pub(crate) struct Watcher {
    recorder: Recorder,
    /// The first failure to write a file; the run goes on without it.
    trouble: Option<io::Error>,
    status: Option<Status>,
}

impl Watcher {
    /// A watcher that writes to the files of `recorder`, and shows how `flows` fare; it shows
    /// nothing if it is `quiet` or the standard error is no terminal.
    pub(crate) fn new(recorder: Recorder, quiet: bool, flows: &[String]) -> Self {
        let visible = !quiet && io::stderr().is_terminal();
        Self { recorder, trouble: None, status: visible.then(|| Status::new(flows)) }
    }

    /// Writes the rest of the files, and sums up.
    pub(crate) fn finish(
        mut self,
        topology: &Topology,
        seed: Seed,
        outcome: &windfall_live::Outcome,
        network: &Network,
    ) -> Result<Summary> {
        if let Some(status) = &self.status {
            status.clear();
        }
        let written = self.trouble.map_or_else(|| self.recorder.finish(), Err);
        written
            .map_err(|error| Trouble::new(format!("cannot write what was recorded: {error}")))?;
        let mut summary = Summary::new(seed, command_line(), outcome.duration);
        for id in network.interfaces() {
            let mut link = LinkSummary::new(network.name(id), network.ledger(id));
            let end = Instant::START + outcome.duration;
            link.radio = radio_summary(network, id, end);
            summary.links.push(link);
            summary.add_flows(network, id, &topology.flows);
        }
        summary.add_overcommitted(&topology.overcommitted);
        summary.stations = stations(topology, outcome);
        summary.late = Some(LateSummary {
            delivered: outcome.lateness.delivered,
            late: outcome.lateness.late,
            punctual_seconds: PUNCTUAL.as_secs_f64(),
            worst_seconds: outcome.lateness.worst.as_secs_f64(),
        });
        Ok(summary)
    }
}

impl Observer<Network> for Watcher {
    fn observe(&mut self, now: Instant, network: &mut Network) {
        while let Some(event) = network.poll_event() {
            if self.trouble.is_none()
                && let Err(error) = self.recorder.record(&event)
            {
                self.trouble = Some(error);
            }
        }
        if let Some(status) = &mut self.status {
            status.show(now, network);
        }
    }

    fn wakeup(&self) -> Option<Instant> {
        self.status.as_ref().map(Status::wakeup)
    }
}

/// What the kernels and the devices dropped, station by station.
fn stations(topology: &Topology, outcome: &windfall_live::Outcome) -> Vec<StationSummary> {
    let mut summaries: Vec<_> = (topology.stations.iter())
        .map(|station| StationSummary { name: station.name.clone(), ..StationSummary::default() })
        .collect();
    let mut count = |station: usize, reason: windfall_base::DropReason, packets: u64| {
        if let Some(summary) = summaries.get_mut(station) {
            *summary.dropped.entry(reason.name().to_owned()).or_default() += packets;
        }
    };
    for (station, counters) in outcome.counters.iter().enumerate() {
        for (reason, packets) in counters.drops() {
            count(station, reason, packets);
        }
    }
    let ends = topology.network.links.iter().flat_map(|link| &link.ends);
    for (end, drops) in ends.zip(&outcome.devices) {
        for (reason, packets) in drops.iter() {
            count(end.station, reason, packets);
        }
    }
    for (summary, counters) in summaries.iter_mut().zip(&outcome.counters) {
        summary.congestion = counters.congestion().map(str::to_owned);
    }
    summaries
}
