//! Bodies of HTTP as messages of SAP: a plan, exact bytes, and pieces that may be damaged.
//!
//! The messages are specified in `docs/reference/web.md`. Whoever reads offers and writes replies
//! sends with this crate: `windfall serve`, and libsap for web servers in C.

mod messages;
mod sending;

pub use messages::{
    BodyMessageError, BodyPlan, CONTROL_STREAM, Control, LONGEST_BODY, TransferToken,
};
pub use sending::{Content, FilePart, Parcel, STALL, refuse, send, send_file, zeros};
