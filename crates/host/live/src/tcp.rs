//! Our own TCP under real programs: an engine on a device of its own beside the station's kernel.
//!
//! - [`EngineSite`]: the addresses and the device of an engine, and the routes to it.
//! - [`Engine`]: the engine, and what it is spliced to: sockets of the kernel, or a bulk source and
//!   sink.
//! - [`kernel`]: the same bulk source and sink on the kernel's TCP, to compare with.

pub mod bulk;
pub mod engine;
pub mod kernel;
pub mod record;
pub mod site;

mod end;
mod kernel_table;
mod splice;

pub use bulk::{Amount, Job};
pub use engine::{Engine, ListenService};
pub use record::ConnectionRecord;
pub use site::EngineSite;
