//! The parts that an experiment is made of.
//!
//! - [`Figure`]: one experiment of a paper, and [`Context`]: what it is given.
//! - [`Claim`]: a statement, its source, and the estimates that it is judged by: each an interval
//!   beside the [`Band`] in which it should lie.
//! - [`Finding`]: *paper says / we measured / verdict*; [`page`] binds findings together.
//! - [`Verdict`], and the [`VerdictRecord`] of verdicts, which a run with other seeds must confirm.
//! - [`unseen`]: how often other seeds come to the verdicts on record.
//! - [`simulated`] and [`kernel`]: bulk transfers by Windfall's own TCP in simulated time, and by
//!   the kernel's in real time, where this program is started again as `windfall run`, so that
//!   every measurement is a command that a user can give.
//! - [`wire`]: two TCPs and a wire on which a function decides what happens to each packet.
//! - [`sequence`]: what a TCP sent and what was acknowledged, over time.

pub mod bulk;
pub mod campaign;
mod claim;
mod comparison;
mod counters;
mod error;
mod extent;
pub mod figure;
mod finding;
pub mod junit;
pub mod kernel;
pub mod page;
pub mod scenario;
mod scratch;
pub mod sequence;
pub mod simulated;
pub mod unseen;
mod verdict;
pub mod wire;

pub use campaign::{Campaign, CampaignResult};
pub use claim::{Claim, ClaimSource};
pub use comparison::{Band, ClaimComparison, Placement};
pub use counters::TcpCounters;
pub use error::ExperimentError;
pub use extent::Extent;
pub use figure::{Basis, Context, Figure};
pub use finding::{ExperimentInput, Finding};
pub use page::ShownFinding;
pub use scratch::Scratch;
pub use sequence::Sequence;
pub use verdict::{Verdict, VerdictRecord};
