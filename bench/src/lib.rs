//! What benchmarks share: ratios to a peer, measured in turn in the same run.

pub mod checksum;
mod ratio;
mod simulation;
pub mod veth;

pub use ratio::{Ratio, alternate, compare, is_listed, is_wanted, thread_time};
pub use simulation::{frames, simulation};
