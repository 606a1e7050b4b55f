//! Runs under control: the requests of the control socket, from both of its sides.
//!
//! - [`RunControl`]: what a run answers, and how it changes its links.
//! - [`faults`]: faults of connections at ports of its stations.
//! - [`protocol`]: the requests and the replies, as lines.
//! - [`ControlClient`]: asks a run.
//! - [`request`]: what clients say, made of words of the command line.
//! - [`detach`], [`lifeline`]: runs that go on by themselves, and runs that do not.
//! - [`station_summaries`], [`failed_programs`]: what its kernels and programs came to.
//! - [`text`]: replies as text for people, and for Prometheus.
//!
//! The protocol is in `docs/reference/control.md`.

mod client;
pub mod detach;
pub mod fault_injection;
pub mod faults;
mod late;
pub mod lifeline;
mod live_plan;
mod outcome;
pub mod protocol;
pub mod request;
mod server;
mod status;
pub mod text;

pub use client::{ControlClient, ControlError, Heard, RunRow};
pub use late::LateLimit;
pub use live_plan::{live_plan, tell_kernels};
pub use outcome::{failed_programs, station_summaries};
pub use server::{Asked, RunControl, RunDescription};
pub use status::lateness_summary;
