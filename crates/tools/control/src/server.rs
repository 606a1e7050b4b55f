//! What a run answers to the clients of its control socket.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::path::PathBuf;

use serde_json::{Map, Value};
use windfall_base::{Duration, Instant, Seed};
use windfall_live::{Lateness, Reply};
use windfall_network::{Network, NetworkEvent};
use windfall_output::series::{Monitor, Sample};
use windfall_scenario::{Change, Get as _, Scenario, Topology, without_span};

use crate::fault_injection::Faulty;
use crate::protocol::{
    Changed, Done, FORMAT, FaultStatus, RunRefusal, RunStatus, Samples, ScenarioText, line,
};
use crate::request::ControlRequest;
use crate::{faults, status};

/// The length of the windows of which clients can read.
const WINDOW: Duration = Duration::from_millis(250);
/// The most windows that are kept: five minutes.
const WINDOWS: usize = 1200;
/// A run that no client has asked for so long takes no samples any more.
const LEASE: Duration = Duration::from_secs(10);
/// The most changes of one run from outside, each of which the scenario keeps.
const MOST_CHANGES: usize = 100_000;

/// The description of a run, by itself.
#[derive(Clone, Debug)]
pub struct RunDescription {
    /// The name of the run.
    pub name: String,
    /// The command line that started it.
    pub command: String,
    /// The kind of the run: `run` with a command, or `up`.
    pub kind: &'static str,
    /// The folder from which the scenario names its files.
    pub directory: PathBuf,
    /// The seed of the run.
    pub seed: Seed,
}

/// The answer to a request, and what is to be noted of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    /// The answer to the client.
    pub reply: Reply,
    /// The link that was changed, and the change as a table of a scenario.
    pub change: Option<(String, Value)>,
}

/// The state of a run that clients read and change.
#[derive(Debug)]
pub struct RunControl {
    about: RunDescription,
    /// The scenario as it began, without its changes.
    scenario: Scenario,
    /// All changes: those of the scenario, and those from outside.
    changes: Vec<Change>,
    /// Changes whose times count from the start of the command, until it starts.
    scheduled: Vec<Change>,
    /// The time from which theirs count.
    began: Duration,
    /// The scenario as it is now, with the changes that go on or are to come.
    present: Scenario,
    topology: Topology,
    /// The files that the scenario names, which are read once.
    files: BTreeMap<String, Vec<u8>>,
    /// The number of changes from outside, and the time of the last.
    changed: (usize, Instant),
    /// The time until which samples are taken.
    until: Instant,
    next: Instant,
    monitor: Option<Monitor>,
    windows: VecDeque<Vec<Sample>>,
}

impl RunControl {
    /// The control of a run of `scenario`, which builds `topology`.
    #[must_use]
    pub fn new(about: RunDescription, mut scenario: Scenario, topology: Topology) -> Self {
        let present = scenario.clone();
        let changes = std::mem::take(&mut scenario.changes);
        Self {
            about,
            scenario,
            changes,
            scheduled: Vec::new(),
            began: Duration::ZERO,
            present,
            topology,
            files: BTreeMap::new(),
            changed: (0, Instant::START),
            until: Instant::START,
            next: Instant::START,
            monitor: None,
            windows: VecDeque::new(),
        }
    }

    /// Lets the times of the changes of the scenario count from
    /// [`start_schedule`](Self::start_schedule) on. The network is to be built without them.
    pub fn hold_schedule(&mut self) {
        self.scheduled = std::mem::take(&mut self.changes);
        self.present.changes.clear();
    }

    /// Makes the changes that were held, as many seconds after `now` as they say.
    ///
    /// # Errors
    /// If a file that one of them names cannot be read any more.
    pub fn start_schedule(&mut self, now: Instant, network: &mut Network) -> Result<(), String> {
        let since = now - Instant::START;
        self.began = since;
        let shifted: Vec<Change> = std::mem::take(&mut self.scheduled)
            .into_iter()
            .map(|change| {
                let at = change.at.get_ref().saturating_add(since);
                Change { at: without_span(at), ..change }
            })
            .collect();
        self.present.changes.extend(shifted.iter().cloned());
        let present = self.present.clone();
        let mut links = BTreeSet::new();
        for change in &shifted {
            // The first change of a link brings all of them.
            if links.insert(change.link.value()) {
                self.change_link(&present, change, now, network)?;
            }
        }
        self.changes.extend(shifted);
        Ok(())
    }

    /// Returns the time from which those of the scenario's changes count, since the start.
    #[must_use]
    pub fn schedule_began(&self) -> Duration {
        self.began
    }

    /// Returns the scenario as it began, with all changes up to now and those that are to come.
    #[must_use]
    pub fn whole_scenario(&self) -> Scenario {
        let changes = self.changes.iter().chain(&self.scheduled).cloned().collect();
        Scenario { changes, ..self.scenario.clone() }
    }

    /// Makes the changes of `scenario` from `now` on those of the link of a change; returns the
    /// link.
    fn change_link(
        &mut self,
        scenario: &Scenario,
        change: &Change,
        now: Instant,
        network: &mut Network,
    ) -> Result<usize, String> {
        let Self { files, about, .. } = self;
        let mut read = |name: &str| match files.get(name) {
            Some(bytes) => Ok(bytes.clone()),
            None => {
                let bytes = read_whole(&about.directory.join(name))?;
                files.insert(name.to_owned(), bytes.clone());
                Ok(bytes)
            }
        };
        let medium = scenario.changed_medium(change, &mut read);
        let (link, medium) = medium.map_err(|error| error.message().to_owned())?;
        if !network.change_link(now, link, &medium) {
            return Err("this link cannot change while it runs".to_owned());
        }
        Ok(link)
    }

    /// Tells whether the network is to report its events.
    #[must_use]
    pub fn wants_events(&self) -> bool {
        self.monitor.is_some()
    }

    /// Takes an event of the network.
    #[inline]
    pub fn record(&mut self, event: &NetworkEvent) {
        if let Some(monitor) = &mut self.monitor {
            monitor.record(event);
        }
    }

    /// When it wants to be advanced at the latest.
    #[must_use]
    pub fn wakeup(&self) -> Option<Instant> {
        self.monitor.as_ref().map(|_| self.next)
    }

    /// Ends a window if it is time.
    #[inline]
    pub fn advance(&mut self, now: Instant, network: &Network) {
        if self.monitor.is_some() && now >= self.next {
            self.end_window(now, network);
        }
    }

    fn end_window(&mut self, now: Instant, network: &Network) {
        let Some(monitor) = &mut self.monitor else { return };
        if self.windows.len() >= WINDOWS {
            self.windows.pop_front();
        }
        self.windows.push_back(monitor.sample(now, network));
        self.next = now + WINDOW;
        if now >= self.until {
            self.monitor = None;
        }
    }

    /// Serves a request.
    pub fn handle(
        &mut self,
        now: Instant,
        run: &mut Faulty<Network>,
        lateness: &Lateness,
        request: &[u8],
    ) -> Asked {
        let request = ControlRequest::parse(request);
        let Ok(ControlRequest::Fault(faults)) = request else {
            let faults = faults::list(run);
            return self.serve(now, run.node_mut(), lateness, faults, request);
        };
        let text = faults.to_string();
        let place = format!("{}:{}", faults.station, faults.port);
        match faults::set(&self.topology, run, faults) {
            Ok(()) => {
                let change = Map::from_iter([("fault".to_owned(), text.into())]);
                changed(now, place, change)
            }
            Err(error) => refused(error),
        }
    }

    fn serve(
        &mut self,
        now: Instant,
        network: &mut Network,
        lateness: &Lateness,
        faults: Vec<FaultStatus>,
        request: Result<ControlRequest, String>,
    ) -> Asked {
        let asked = |reply| Asked { reply, change: None };
        let done = || line(&Done { ok: true });
        match request {
            Err(error) => refused(error),
            Ok(ControlRequest::Fault(_)) => refused("it is no network of a run".to_owned()),
            Ok(ControlRequest::Status) => {
                self.watch(now, network);
                let status = RunStatus { faults, ..self.status(now, network, lateness) };
                asked(Reply::Line(line(&status)))
            }
            Ok(ControlRequest::Samples(since)) => {
                self.watch(now, network);
                let samples = self
                    .windows
                    .iter()
                    .filter(|samples| samples.first().is_some_and(|it| it.t > since))
                    .flatten()
                    .cloned()
                    .collect();
                let samples = Samples { ok: true, t: now.as_secs_f64(), samples };
                asked(Reply::Line(line(&samples)))
            }
            Ok(ControlRequest::Scenario) => {
                let scenario = ScenarioText { ok: true, scenario: self.replay(now) };
                asked(Reply::Line(line(&scenario)))
            }
            Ok(ControlRequest::Set(change)) => match self.set(now, network, *change) {
                Ok((at, link, change)) => changed(at, link, change),
                Err(error) => refused(error),
            },
            Ok(ControlRequest::Enter) => asked(Reply::Enter(done())),
            Ok(ControlRequest::End) => asked(Reply::End(done())),
        }
    }

    /// Takes samples for a while.
    fn watch(&mut self, now: Instant, network: &Network) {
        self.until = now + LEASE;
        if self.monitor.is_none() {
            self.next = now + WINDOW;
            self.monitor = Some(Monitor::new(now, network, &self.topology.flows));
        }
    }

    fn status(&self, now: Instant, network: &Network, lateness: &Lateness) -> RunStatus {
        let Self { about, present, topology, .. } = self;
        let RunDescription { name, command, kind, seed, .. } = about;
        let window = self.windows.back().filter(|_| self.monitor.is_some());
        let window = window.map_or(&[][..], Vec::as_slice);
        let summary = status::summary(now, network, topology, *seed);
        let state = status::RunState { scenario: present, topology, network, now };
        RunStatus {
            ok: true,
            format: FORMAT.to_owned(),
            name: name.clone(),
            kind: (*kind).to_owned(),
            command: command.clone(),
            pid: std::process::id(),
            seed: seed.0,
            t: now.as_secs_f64(),
            changes: self.changed.0,
            stations: status::stations(topology),
            links: status::links(summary.links, &state, window),
            flows: status::flows(summary.flows, window),
            faults: Vec::new(),
            lateness: status::lateness_summary(lateness),
        }
    }

    /// Changes a link now: all of the change, or nothing.
    fn set(
        &mut self,
        now: Instant,
        network: &mut Network,
        change: Change,
    ) -> Result<(Instant, String, Map<String, Value>), String> {
        if self.changed.0 >= MOST_CHANGES {
            return Err(format!("the run was changed {MOST_CHANGES} times: start another one"));
        }
        // Two changes at one instant would not be told apart.
        let at = now.max(self.changed.1 + Duration::from_nanos(1));
        let change = Change { at: without_span(at - Instant::START), ..change };
        // What the change says by itself is checked against the links as they began, as those of
        // the scenario are.
        let alone = Scenario { changes: vec![change.clone()], ..self.scenario.clone() };
        alone.check().map_err(|error| error.message().to_owned())?;
        let mut present = self.present.clone();
        present.settle(*change.at.get_ref());
        present.changes.push(change.clone());
        let link = self.change_link(&present, &change, at, network)?;
        let name = present.links[link].name();
        let table = serde_json::to_value(&change).unwrap_or_default();
        let table = table.as_object().cloned().unwrap_or_default();
        self.present = present;
        self.changes.push(change);
        self.changed = (self.changed.0 + 1, at);
        Ok((at, name, table))
    }

    /// The scenario that repeats the run up to now, as the text of a file.
    fn replay(&self, now: Instant) -> String {
        let mut scenario = self.whole_scenario();
        // Whole milliseconds are easier to read, and nothing of the run is left out.
        let length = Duration::from_millis((now - Instant::START).as_nanos().div_ceil(1_000_000));
        // The length in a file is that of simulations, and a live run goes on behind it.
        let own = scenario.run.duration.as_ref().map_or(Duration::ZERO, |it| *it.get_ref());
        scenario.run.duration = Some(without_span(own.max(length)));
        scenario.to_toml()
    }
}

fn refused(error: String) -> Asked {
    Asked { reply: Reply::Line(line(&RunRefusal { error })), change: None }
}

/// The answer to a change of a link, or of the faults of a port.
fn changed(at: Instant, place: String, change: Map<String, Value>) -> Asked {
    let reply = Changed { ok: true, at: at.as_secs_f64(), change: change.clone() };
    Asked { reply: Reply::Line(line(&reply)), change: Some((place, change.into())) }
}

/// The longest file that a change names.
const LONGEST_FILE: u64 = 64 << 20;

/// Reads a plain file: a pipe would hold up the run.
fn read_whole(path: &std::path::Path) -> io::Result<Vec<u8>> {
    let found = std::fs::metadata(path)?;
    if !found.is_file() || found.len() > LONGEST_FILE {
        return Err(io::Error::other("it is no plain file of 64 MiB at most"));
    }
    windfall_system::as_caller(path, || std::fs::read(path))
}

#[cfg(test)]
mod tests;
