//! Error traces at work: synthesize, measure, fit, convert and record them.
//!
//! The traces themselves and their file format are in [`windfall_files::traces`].

mod bound;
mod bytes;
pub mod convert;
pub mod fit;
mod netem_changes;
pub mod record;
pub mod statistics;
mod synthesis;
pub mod table;

pub use bound::best_rate;
pub use bytes::ByteComparison;
pub use netem_changes::{changes_of_netem, is_netem_model};
pub use statistics::Statistics;
pub use synthesis::{SynthesisError, synthesize_bits, synthesize_frames};
