//! Scenario files and option spellings: TOML to stations, links, flows and seed.
//!
//! [`Scenario`] is what a file says, key by key; [`Flags`] is what the options of the command line
//! say, and both have the same text form. [`Topology`] is what a scenario builds, worked out.

mod addresses;
mod applications;
mod check;
mod error;
mod flags;
mod flows;
mod links;
mod model;
mod pace;
mod plan;
mod routes;
mod stations;
mod tcp;
mod text;
mod topology;
mod values;
mod wavelan;
mod wifi;
pub mod wireless;

pub use addresses::{engine_beside, level_inside};
pub use applications::DEFAULT_PORT;
pub use error::{ScenarioError, nearest};
pub use flags::{FAR, Flags, NEAR};
pub use flows::{Flow, FlowProtocol};
pub use model::{
    App, AppKind, AppTransport, ArrivalsWord, DEFAULT_DURATION, DEFAULT_MTU, Direction, Exposed,
    FORMAT, Link, LinkKind, Path, Route, Scenario, Station, StationInterface,
};
pub use plan::{AppPlan, Read, Topology};
pub use stations::{InterfacePlan, StationPlan, StationRoute};
pub use tcp::{TCP_SETTINGS, TcpPreset, TcpSetting, TcpSettings, TcpSettingsError};
pub use toml::Spanned;
pub use values::{Arq, ByteRange, Prefix, Queue, QueueLength, Sysctl, Target};
pub use wavelan::wavelan_cost;
pub use windfall_channel::environment::{Environment, FRAMES as ENVIRONMENT_FRAMES};
pub use windfall_channel::{GilbertElliott, Pattern, Window};
pub use windfall_link::policy::Kind as Policy;
pub use windfall_queue::Discipline;
