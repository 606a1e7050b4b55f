//! Faults of TCP connections: what a proxy in front of a server would do to them, done to the
//! packets of one port of a station.
//!
//! - [`PortFaults`]: faults as users write them, `far:80 reset 1s`.
//! - [`Faulty`]: a network whose stations have such faults, set and cleared while it runs.

mod connection;
mod faulty;
mod port_faults;
mod segment;

pub use faulty::{FaultCounters, Faulty};
pub use port_faults::{ConnectionFault, PortFaults};
