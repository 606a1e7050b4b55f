//! The papers' experiments: what they say, what is measured here, and the verdict.
//!
//! Each figure has a file of its own, named after paper and figure; [`FIGURES`] lists them.
//! What needs no TCP runs in simulated time. What needs one runs over the kernel's, in real time:
//! `transfer` starts this program again as `windfall run`, so that every measurement is a command
//! that anybody can give.

pub mod bulk;
mod counters;
pub mod demo;
mod paper_002;
mod paper_003;
mod paper_004;
mod registry;
mod scenario;
mod scratch;
mod sequence;
mod simulated;
mod transfer;
mod wire;

pub use registry::FIGURES;
use windfall_report::{error, figure};
