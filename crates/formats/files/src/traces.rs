//! The files that describe a channel.
//!
//! - [`ErrorTrace`]: what an air did, frame by frame or bit by bit; the format is described in
//!   `docs/reference/error-trace.md`.
//! - [`RateTrace`]: how much a line carries at each moment, in the formats of mahimahi and
//!   netem-trace; see `docs/reference/rate-trace.md`.

pub mod error_trace;
mod gzip;
mod line;
pub mod netem_trace;
pub mod rate_trace;

pub use error_trace::{ErrorTrace, ErrorTraceError};
pub use gzip::gunzip_within;
pub use line::LineError;
pub use rate_trace::{RateTrace, RateTraceError};
