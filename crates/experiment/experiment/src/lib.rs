//! The parts that an experiment is made of.
//!
//! - [`Figure`]: one experiment of a paper, and [`Context`]: what it is given.
//! - [`Finding`]: *paper says / we measured / verdict*; [`page`] binds findings together.
//! - [`simulated`] and [`kernel`]: bulk transfers by Windfall's own TCP in simulated time, and by
//!   the kernel's in real time, where this program is started again as `windfall run`, so that
//!   every measurement is a command that a user can give.
//! - [`wire`]: two TCPs and a wire on which a function decides what happens to each packet.
//! - [`sequence`]: what a TCP sent and what was acknowledged, over time.

pub mod bulk;
mod counters;
mod error;
pub mod figure;
mod finding;
pub mod kernel;
pub mod page;
pub mod scenario;
mod scratch;
pub mod sequence;
pub mod simulated;
pub mod wire;

pub use counters::TcpCounters;
pub use error::ExperimentError;
pub use figure::{Basis, Context, Extent, Figure};
pub use finding::{Claim, Finding, Verdict};
pub use scratch::Scratch;
pub use sequence::Sequence;
