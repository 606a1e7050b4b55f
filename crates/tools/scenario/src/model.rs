//! What a scenario file says, key by key.

use windfall_base::{Duration, Seed};
use windfall_settings::{Get, RowMetadata, Settings as _, settings};

use crate::app::App;
use crate::change::Change;
use crate::flows::Flow;
use crate::link::Link;
use crate::station::Station;
use crate::values::{DURATIONS, Sysctls};

/// The version of the file format.
pub const FORMAT: u32 = 1;
/// The seed where it is unset: a run is repeatable unless another is given.
pub const DEFAULT_SEED: Seed = Seed(1);
/// The length of a simulation where it is unset.
pub const DEFAULT_DURATION: Duration = Duration::from_secs(10);

/// The runs that a setting of a run is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunKind {
    /// Runs in simulated time.
    Simulated,
    /// Runs in real time, whose stations have kernels.
    RealTime,
}

impl RowMetadata for RunKind {}

settings! {
    /// The settings of a run as a whole.
    pub struct RunSettings with RunKind {
        /// Seed of all random draws
        "seed" seed: Seed {
            value: "NUMBER", example: "42", default: "1", short: "Seed of all random draws",
            detail: "A whole number of 64 bits; those above 9223372036854775807 stand in quotes.",
        }
        /// Length of the run in simulated time. In a file a bare number is in ms
        "duration" duration: Duration [DURATIONS] {
            value: "TIME", example: "2s", default: "10s", metadata: Some(RunKind::Simulated),
            short: "Length of the run, in simulated time",
        }
        /// Admit reservations that the link cannot keep in the worst case
        "overcommit" overcommit: bool { value: "SWITCH", example: "on", default: "off" }
        /// Number of links that an IP packet may cross
        "hop-limit" hop_limit: u8 [1..=255] {
            value: "LINKS", example: "128", default: "64",
            detail: "Stations drop what has crossed as many, under `hop-limit`.",
        }
        /// Energy model of stations without their own: a preset, or a file NAME.toml
        "energy" energy: String {
            value: "MODEL", example: "laptop-2000", unset: "none", requirement: "S2.22",
            detail: "[energy.md](energy.md#models) describes them.",
        }
        /// TCP congestion control in the kernel of every station
        "tcp-congestion" tcp_congestion: String {
            value: "NAME", example: "reno", unset: "the system's own",
            metadata: Some(RunKind::RealTime),
            detail: "[run.md](run.md#tcp) has examples. Simulated hosts have the `tcp` of their \
                     [station](station.md).",
        }
        /// Kernel parameter of every station, such as net.ipv4.tcp_sack=0
        "sysctl" sysctl: Sysctls {
            value: "KEY=VALUE", example: "net.ipv4.tcp_sack=0", unset: "none", is_repeated: true,
            metadata: Some(RunKind::RealTime),
            detail: "All are under `net.`. In a scenario a list, `[\"net.ipv4.tcp_sack=0\"]`; of \
                     several values of one parameter the last wins.",
        }
    }
}

settings! {
    /// A whole scenario: stations, the links between them, applications, seed.
    pub struct Scenario {}
    required {
        /// Version of the format of the file
        "format" format: u32 { value: "NUMBER", example: "1", detail: "It is 1." }
    }
    parts {
        /// The stations of the scenario.
        "station" stations: Vec<Station>
        /// The links between the stations.
        "link" links: Vec<Link>
        /// Flows with a share or impairments of their own, on every link.
        "flow" flows: Vec<Flow>
        /// The changes of links while it runs.
        "change" changes: Vec<Change>
        /// The applications on the stations.
        "app" apps: Vec<App>
    }
    inline {
        /// The settings of the run as a whole.
        run: RunSettings
    }
}

impl Scenario {
    /// Returns the seed of everything that is drawn.
    #[must_use]
    pub fn seed(&self) -> Seed {
        self.run.seed.value().unwrap_or(DEFAULT_SEED)
    }

    /// Returns the length of a simulation.
    #[must_use]
    pub fn duration(&self) -> Duration {
        self.run.duration.value().unwrap_or(DEFAULT_DURATION)
    }
}

impl RunSettings {
    /// Tells whether reservations are admitted that a link cannot keep at worst.
    pub(crate) fn admits_too_much(&self) -> bool {
        self.overcommit.value() == Some(true)
    }

    /// Takes over every setting that `other` has, and adds its kernel parameters to those here.
    pub(crate) fn extend(&mut self, other: &Self) {
        let own = self.sysctl.take();
        self.overlay(other);
        if let Some(mut own) = own {
            if let Some(added) = &mut self.sysctl {
                own.get_mut().0.append(&mut added.get_mut().0);
            }
            self.sysctl = Some(own);
        }
    }
}
