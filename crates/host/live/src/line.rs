//! Lines that carry bytes: serial devices, and datagrams of UDP.
//!
//! - [`LineAddress`]: which line.
//! - [`OpenLine`]: one that is open.
//! - [`LinePump`]: carries its bytes while a run goes on, and opens it again when it was gone.

mod address;
mod device;
mod open;
mod pump;

pub use address::LineAddress;
pub use device::LineDevice;
pub use open::OpenLine;
pub use pump::{LineNotice, LinePump, LineRecord};

/// The most bytes that are read from a line at once.
pub const READ: usize = 16_384;

#[cfg(test)]
mod tests;
