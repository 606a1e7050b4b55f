//! Our own TCP under real programs: an engine on a device of its own beside the station's kernel.
//!
//! - [`Place`]: where an engine stands: its addresses, its device, the way there.
//! - [`Engine`]: the engine, and what it is spliced to: sockets of the kernel, or a bulk source and
//!   sink.
//! - [`kernel`]: the same bulk source and sink on the kernel's TCP, to compare with.

pub mod bulk;
pub mod engine;
pub mod kernel;
pub mod place;
pub mod record;

mod end;
mod splice;

pub use bulk::{Amount, Job};
pub use engine::{Engine, Offer};
pub use place::Place;
pub use record::Record;
