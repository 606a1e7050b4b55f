//! A device for packets at the end of a serial line, a modem's call or a path of datagrams.
//!
//! [`run`] opens the line, calls and negotiates, and carries packets until it is over.

mod modem;
mod serial_link;

pub use modem::{ModemCall, ModemError};
pub use serial_link::{LineFraming, LineOutcome, LinePlan, LineReport, run};
