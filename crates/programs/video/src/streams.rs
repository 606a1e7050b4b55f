//! Transfers of records between two ends: the exchange below `windfall stream`, `track` and
//! `image`.
//!
//! - [`RecordSender`], [`RecordReceiver`]: a plan, then records of one length at their times, over
//!   SAP or TCP.
//! - [`ArrivalTimes`]: how regularly they came.
//! - [`StreamReport`], [`TrackReport`], [`ImageReport`]: what receivers found, as text and JSON.
//! - [`key`]: the files with the keys that both ends share.
//! - [`track`]: the walks that tracks are about.

mod error;
pub mod key;
mod records;
mod report;
pub mod track;

pub use error::TransferError;
pub use key::KeyChoice;
pub use records::{ArrivalTimes, RecordReceiver, RecordSender, check_protected};
pub use report::{ImageReport, StreamReport, TrackReport};
