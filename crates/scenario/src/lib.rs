//! Scenario files and option spellings: TOML to stations, links, flows and seed.
//!
//! [`Scenario`] is what a file says, key by key; [`Flags`] is what the options of the command line
//! say, and both have the same text form. [`Topology`] is what a scenario builds, worked out.

mod addresses;
mod applications;
mod check;
mod error;
mod flags;
mod links;
mod model;
mod routes;
mod text;
mod topology;
mod values;

pub use addresses::level_inside;
pub use applications::{AppPlan, DEFAULT_PORT};
pub use error::ScenarioError;
pub use flags::{FAR, Flags, NEAR};
pub use model::{
    App, AppKind, AppTransport, Direction, Exposed, FORMAT, Link, LinkKind, Route, Scenario,
    Station, StationInterface,
};
pub use toml::Spanned;
pub use topology::{
    DEFAULT_DURATION, DEFAULT_MTU, InterfacePlan, Read, StationPlan, StationRoute, Topology,
};
pub use values::{Arq, ByteRange, Prefix, QueueLength, Target};
pub use windfall_channel::{GilbertElliott, Pattern, Window};
