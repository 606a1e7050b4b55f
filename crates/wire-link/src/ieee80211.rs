//! IEEE 802.11b/g: rates and the time that frames take, the gaps between them, and the frames.
//!
//! - [`rate`]: the twelve rates of 2.4 GHz, and how long a frame lasts at each.
//! - [`timing`]: slots, inter-frame spaces and contention windows.

pub mod rate;
pub mod timing;

pub use rate::{Modulation, PhyRate};
pub use timing::{Phy, Timing};
