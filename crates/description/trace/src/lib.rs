//! Error traces at work: synthesize, measure, fit, convert and record them.
//!
//! The traces themselves and their file format are in [`windfall_channel_trace`].

mod bound;
mod bytes;
pub mod convert;
pub mod fit;
pub mod record;
pub mod statistics;
mod synthesis;
pub mod table;

pub use bound::best_rate;
pub use bytes::ByteComparison;
pub use statistics::Statistics;
pub use synthesis::{SynthesisError, synthesize_bits, synthesize_frames};
