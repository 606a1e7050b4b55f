//! Scenario files and option spellings: TOML to stations, links, flows and seed.
//!
//! [`Scenario`] is what a file says, key by key; [`Flags`] is what the options of the command line
//! say, and both have the same text form.

mod check;
mod error;
mod flags;
mod model;
mod text;
mod values;

pub use error::ScenarioError;
pub use flags::{FAR, Flags, NEAR};
pub use model::{
    App, AppKind, AppTransport, Direction, Exposed, FORMAT, Link, LinkKind, Route, Scenario,
    Station, StationInterface,
};
pub use values::{Arq, ByteRange, Prefix, QueueLength, Target};
