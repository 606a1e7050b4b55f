//! The live view of a run as a page for browsers: charts that move, controls that set, and an
//! export of what was seen.
//!
//! [`Dashboard`] answers requests, and looks at the run through a [`RunLink`]; whoever holds it
//! supplies the sockets and the clock. [`Guard`] lets in only the browser of whoever has the
//! address, and no other page that is open in it.

mod answer;
mod guard;
mod history;
mod page;

pub use answer::{Dashboard, RunLink, RunLinkError};
pub use guard::{AccessToken, Guard};
