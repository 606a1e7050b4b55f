//! What a scenario file says, key by key. `docs/scenario.md` is the reference of every key.

use serde::{Deserialize, Serialize};
use toml::Spanned;
use windfall_base::{Duration, Seed};

use crate::app::App;
use crate::flows::Flow;
use crate::link::Link;
use crate::station::Station;
use crate::values::{Sysctl, seed};

/// The version of the file format.
pub const FORMAT: u32 = 1;
/// The length of a simulation where it is unset.
pub const DEFAULT_DURATION: Duration = Duration::from_secs(10);

/// A whole scenario: stations, the links between them, applications, seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Scenario {
    /// The version of the file format; 1.
    pub format: Spanned<u32>,
    /// The seed of everything that is drawn.
    #[serde(default, with = "seed", skip_serializing_if = "Option::is_none")]
    pub seed: Option<Seed>,
    /// The length of a simulation; 10 s by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<Spanned<Duration>>,
    /// Admit reservations that a link cannot keep at worst.
    #[serde(default, skip_serializing_if = "is_false")]
    pub overcommit: bool,
    /// TCP's congestion control in the kernels of the stations; the system's own if unset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp_congestion: Option<String>,
    /// Parameters of the kernels of the stations, such as `net.ipv4.tcp_sack=0`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sysctl: Vec<Sysctl>,
    /// The stations of the scenario.
    #[serde(default, rename = "station")]
    pub stations: Vec<Station>,
    /// The links between the stations.
    #[serde(default, rename = "link")]
    pub links: Vec<Link>,
    /// Flows with a share of their own, on every link.
    #[serde(default, rename = "flow", skip_serializing_if = "Vec::is_empty")]
    pub flows: Vec<Flow>,
    /// The applications on the stations.
    #[serde(default, rename = "app", skip_serializing_if = "Vec::is_empty")]
    pub apps: Vec<App>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde prescribes the signature")]
fn is_false(value: &bool) -> bool {
    !*value
}
