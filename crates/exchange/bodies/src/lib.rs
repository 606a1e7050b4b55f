//! Bodies of HTTP as messages of SAP: a plan, exact bytes, pieces that may be damaged, and an end.
//!
//! The messages are specified in `docs/web.md`. Whoever reads offers and writes replies sends with
//! this crate: `windfall serve`, and libsap for web servers in C.

mod messages;
mod sending;

pub use messages::{BodyPlan, CONTROL_STREAM, Control, End, LONGEST_BODY, TransferToken};
pub use sending::{Content, Parcel, refuse, send, send_file};
