//! The protocol of the control socket: its requests and replies, as `docs/reference/control.md`
//! says.
//!
//! Each is a line of JSON, which [`line()`] makes. A reply is a [`RunRefusal`], or what the request
//! asks for. A member that a reply lacks has its default, and one that this version does not know
//! is ignored, so that versions of one [`FORMAT`] understand each other.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use windfall_output::series::Sample;
use windfall_output::summary::{FlowSummary, LatenessSummary, LinkSummary};

/// The version of the protocol; grows when a name changes its meaning or goes.
pub const FORMAT: &str = "windfall-control/1";

/// A request, as it stands in its line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case", deny_unknown_fields)]
pub enum RunRequest {
    /// Asks how the run fares: [`RunStatus`].
    Status,
    /// Asks for windows: [`Samples`].
    Samples {
        /// The time after which they ended, in seconds.
        #[serde(default)]
        since: f64,
    },
    /// Asks for the scenario with its changes: [`ScenarioText`].
    Scenario,
    /// Changes a link: [`Changed`].
    Set {
        /// The settings, in `uplink` and `downlink` those of one direction.
        change: Map<String, Value>,
    },
    /// Sets the faults of a port: [`Changed`].
    Fault {
        /// The faults, such as `far:80 reset 1s`.
        fault: String,
    },
    /// Lets a program enter a station: [`Done`], with a descriptor.
    Enter,
    /// Ends the run: [`Done`].
    End,
}

/// The reply to a request that the run refuses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunRefusal {
    /// The reason, and the fix.
    pub error: String,
}

/// The reply to a request that asks for nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Done {
    /// True: it is no refusal.
    pub ok: bool,
}

/// The reply to a change of a link, or of the faults of a port.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Changed {
    /// True: it is no refusal.
    pub ok: bool,
    /// The time of the change, in seconds since the start of the run.
    pub at: f64,
    /// The change as a scenario would say it, or the faults as `fault`.
    pub change: Map<String, Value>,
}

/// The reply with the scenario that repeats the run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ScenarioText {
    /// True: it is no refusal.
    pub ok: bool,
    /// The text of the file.
    pub scenario: String,
}

/// The reply with windows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Samples {
    /// True: it is no refusal.
    pub ok: bool,
    /// Seconds since the start of the run.
    pub t: f64,
    /// The windows, each with its directions and flows.
    pub samples: Vec<Sample>,
}

/// The reply that says how a run fares.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunStatus {
    /// True: it is no refusal.
    pub ok: bool,
    /// The version of the protocol: [`FORMAT`].
    pub format: String,
    /// The name of the run.
    pub name: String,
    /// The kind of the run: `run` or `up`.
    pub kind: String,
    /// The command line that started it.
    pub command: String,
    /// The process of the run.
    pub pid: u32,
    /// The seed of the run.
    pub seed: u64,
    /// Seconds since its start.
    pub t: f64,
    /// The number of changes from outside.
    pub changes: usize,
    /// The stations of the run.
    pub stations: Vec<StationStatus>,
    /// Each direction of each link.
    pub links: Vec<LinkStatus>,
    /// Each flow at each interface to which packets of it came.
    pub flows: Vec<FlowStatus>,
    /// The faults of ports.
    pub faults: Vec<FaultStatus>,
    /// The delays of the machine.
    pub lateness: LatenessSummary,
}

/// A station of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StationStatus {
    /// The name of the station.
    pub name: String,
    /// The addresses of the station.
    pub addresses: Vec<String>,
}

/// A direction of a link.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LinkStatus {
    /// The counts that the summary has of it.
    #[serde(flatten)]
    pub summary: LinkSummary,
    /// The name of the link.
    pub link: String,
    /// The direction: `uplink` or `downlink`.
    pub direction: String,
    /// True if the link can change while it runs.
    pub can_change: bool,
    /// The settings that are not left out, as text.
    pub settings: BTreeMap<String, String>,
    /// The queue of the link.
    pub queue: QueueStatus,
    /// Bytes of the packets that were delivered.
    pub delivered_bytes: u64,
    /// The last window; `None` until one has been measured.
    pub recent: Option<Sample>,
}

/// The queue of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct QueueStatus {
    /// The packets that wait.
    pub packets: usize,
    /// The bytes of these packets.
    pub bytes: usize,
}

/// A flow on a link.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FlowStatus {
    /// The counts that the summary has of it.
    #[serde(flatten)]
    pub summary: FlowSummary,
    /// The last window; `None` until one has been measured.
    pub recent: Option<Sample>,
}

/// The faults of a port, and what they did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FaultStatus {
    /// The faults as text.
    pub fault: String,
    /// The connections that had them.
    pub connections: u64,
    /// Packets that were held back.
    pub withheld: u64,
    /// Packets that were made.
    pub made: u64,
}

/// Returns a request or a reply as its line, without the end: the members stand by name.
#[must_use]
pub fn line(said: &impl Serialize) -> String {
    // Texts, numbers and lists of them: there is nothing in it that JSON cannot say.
    serde_json::to_value(said).unwrap_or_default().to_string()
}

#[cfg(test)]
mod tests;
