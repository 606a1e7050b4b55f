//! Runs a network in real time under real programs, in network namespaces.
//!
//! - [`EventLoop`]: drives a node by a [`Clock`] and its ports by [`Device`]s. With faked ones it
//!   prints the same timeline as the simulator.
//! - [`Stations`]: stations that stand, built from a [`LivePlan`]: namespaces, devices, addresses,
//!   programs.
//! - [`session::run`]: carries packets through a node until the programs are done.
//! - [`line`](mod@line): serial devices and datagrams that carry bytes.
//! - [`control_socket`]: the socket at which a running network is entered.
//! - [`tcp`]: our own TCP on a device of its own, spliced to programs.
//! - [`end_with_this_process`]: ties a child process to the life of this one.
//! - [`doctor`]: a check of what this machine allows.
//!
//! A run is two processes and the programs. The run itself stays in the namespaces of its caller
//! and turns the loop on one thread. Its child, the supervisor, is process 1 of a process
//! namespace: it builds the stations, passes their devices to the run, starts the programs and
//! reaps them. It ends with the run, and everything in the stations with it: nothing is left to
//! clean up.
#![expect(
    unsafe_code,
    reason = "devices, namespaces and the start of processes have no safe interface for all of it"
)]

pub mod attach;
pub mod clock;
pub mod control_socket;
pub mod device;
pub mod doctor;
pub mod driver;
pub mod error;
pub mod kernel;
pub mod lifetime;
pub mod line;
pub mod nat;
pub mod plan;
pub mod session;
pub mod stations;
pub mod tcp;

mod congestion;
mod control;
mod grace;
mod hints;
mod keeper;
pub mod kernel_counters;
mod lines;
mod metrics;
mod namespace;
mod obstacle;
mod program;
mod requests;
pub mod setup;
mod supervisor;
mod system;
mod terminal;

pub use crate::kernel_counters::account::StationDrops;
pub use attach::Attachment;
pub use clock::SystemClock;
pub use control_socket::ControlSocket;
pub use device::StationDevice;
pub use device::mtu::MtuSetter;
pub use driver::{Clock, Device, EventLoop, Lateness};
pub use error::{ErrorContext, LiveError, Result};
pub use lifetime::{end_with_this_process, notice_children};
pub use line::LineAddress;
pub use nat::NatGateway;
pub use plan::{
    DeviceKind, DevicePlan, Listening, LivePlan, LiveStationPlan, Program, ProgramOutput,
    RoutePlan, neighbour_variables,
};
pub use requests::{LONGEST_REQUEST, Reply};
pub use session::{KEEPER_LOST, Observer, ProgramFailure, RunEnd, RunOutcome, Signals};
pub use stations::Stations;
