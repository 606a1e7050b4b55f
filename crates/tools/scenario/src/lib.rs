//! Scenario files and option spellings: TOML to stations, links, flows and seed.
//!
//! [`Scenario`] is what a file says, key by key; [`ScenarioOptions`] is what the options of the
//! command line say, and both have the same text form. [`Topology`] is what a scenario builds,
//! worked out.

mod addresses;
mod app;
mod applications;
mod change;
mod check;
mod departures;
mod direction;
mod effect;
mod energy;
mod error;
mod flags;
mod flows;
mod idle;
mod link;
mod links;
mod model;
mod named_links;
mod pace;
mod plan;
mod queue;
mod routes;
mod sap;
mod side;
pub mod sim;
mod station;
mod stations;
#[cfg(test)]
mod tests;
mod text;
mod topology;
mod values;
pub mod wifi;

pub use app::{App, AppArrivals, AppKind, AppMode, AppTransport};
pub use applications::DEFAULT_PORT;
pub use change::Change;
pub use direction::{AppliesTo, Checksums, Direction, FramePart, ListedModels};
pub use error::ScenarioError;
pub use flags::{FAR, NEAR, ScenarioOptions, without_span};
pub use flows::{Flow, FlowProtocol, Impairments};
pub use link::{DEFAULT_MTU, Link, LinkKind, Modem, Path};
pub use links::wavelan::wavelan_cost;
pub use model::{DEFAULT_DURATION, DEFAULT_SEED, FORMAT, RunKind, RunSettings, Scenario};
pub use named_links::{LinkFigures, NamedLink, named_link, named_links};
pub use plan::{AppPlan, Read, Topology};
pub use queue::{Queue, QueueLength};
pub use side::Side;
pub use station::{Route, Station, StationInterface};
pub use stations::{InterfacePlan, StationPlan, StationRoute, group_members};
pub use values::{Prefix, Sysctl, Sysctls, Target};
pub use windfall_channel::environment::{Arrangement, ENVIRONMENT_FRAMES, Environment};
pub use windfall_channel::{
    BurstWindow, GilbertElliott, GsmEnvironment, LossPattern, Surroundings,
};
pub use windfall_ip::is_group;
pub use windfall_link::Arq;
pub use windfall_link::policy::PolicyKind;
pub use windfall_network::addresses::{engine_beside, level_inside};
pub use windfall_queue::Discipline;
pub use windfall_settings::policy::PolicyName;
pub use windfall_settings::tcp::{
    TCP_SETTINGS, TcpPreset, TcpSetting, TcpSettings, TcpSettingsError,
};
pub use windfall_settings::{
    Choice, Get, Requirement, RowMetadata, Setting, Settings, Spanned, Value, check_unit,
};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
