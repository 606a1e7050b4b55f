//! Packet queues, active queue management and schedulers of one station.
//!
//! The flow below a queue is a pull: a link with air time asks a [`Scheduler`] whose turn it is,
//! and takes the head of that flow's queue.
//!
//! - [`PacketQueue`]: the packets of one flow or of all, and what keeps it short ([`Management`]).
//! - [`Discipline`]: the schedulers by name, and one machine each.
//! - [`expected`]: what flows could expect of a link without errors.
//! - [`share`], [`admission`]: what the last of them promises, and what may be promised.

pub mod account;
pub mod admission;
mod backlog;
mod codel;
pub mod discipline;
pub mod expected;
mod fair;
mod levels;
mod limits;
pub mod management;
mod packet_queue;
mod pie;
pub mod scheduler;
pub mod share;
mod single;
mod waiting;

pub use account::Account;
pub use discipline::{Discipline, Measure, Sharing};
pub use limits::Limits;
pub use management::Management;
pub use packet_queue::PacketQueue;
pub use scheduler::{FlowConfig, FlowError, Scheduler, Service};
pub use waiting::{Inspect, Inspection, Join, QueueVerdict, Waiting};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(test)]
mod tests;
