//! Runs a network in real time under real programs, in network namespaces.
//!
//! - [`Loop`]: drives a node by a [`Clock`] and its ports by [`Device`]s. With faked ones it prints
//!   the same timeline as the simulator.
//! - [`Stage`]: stations that stand, built from a [`Plan`]: namespaces, devices, addresses,
//!   programs.
//! - [`session::run`]: carries packets through a node until the programs are done.
//! - [`door`]: the way into a run that goes on.
//! - [`tcp`]: our own TCP on a device of its own, spliced to programs.
//! - [`end_with_this_process`]: runs that other programs of ours start.
//! - [`doctor`]: what this machine allows.
//!
//! A run is two processes and the programs. The run itself stays in the namespaces of its caller
//! and turns the loop on one thread. Its child is process 1 of a process namespace, builds the
//! stations, hands their devices to the run, and starts the programs. It dies with the run, and
//! everything in the stations with it: nothing is left to clean up, and nothing needs to be.
#![expect(
    unsafe_code,
    reason = "devices, namespaces and the birth of processes have no safe interface for all of it"
)]

pub mod account;
pub mod clock;
pub mod device;
pub mod doctor;
pub mod door;
pub mod driver;
pub mod error;
pub mod interrupt;
pub mod kernel;
pub mod outside;
pub mod plan;
pub mod session;
pub mod stage;
pub mod supervise;
pub mod tcp;

mod congestion;
mod control;
mod first;
mod hints;
mod identity;
mod lines;
mod namespace;
mod netlink;
mod patience;
mod program;
mod station;
mod terminal;

pub use account::StationDrops;
pub use clock::SystemClock;
pub use device::StationDevice;
pub use door::Door;
pub use driver::{Clock, Device, Lateness, Loop};
pub use error::Error;
pub use identity::caller;
pub use kernel::Counters;
pub use outside::WayOut;
pub use plan::{DeviceKind, DevicePlan, Plan, Program, ProgramOutput, RoutePlan, StationPlan};
pub use session::{Ending, FailedProgram, Observer, Outcome, Signals};
pub use stage::Stage;
pub use supervise::end_with_this_process;
