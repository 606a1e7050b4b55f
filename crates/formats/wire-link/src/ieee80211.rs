//! IEEE 802.11b/g: rates and the time that frames take, the gaps between them, and the frames.
//!
//! - [`rate`]: the twelve rates of 2.4 GHz, and how long a frame lasts at each.
//! - [`timing`]: slots, inter-frame spaces and contention windows.
//! - [`header`]: frame control, duration, addresses, sequence control.
//! - [`snap`]: which protocol a data frame carries.
//! - [`management`]: the bodies of beacons, authentication and association.
//! - [`coding`]: data frames with parity, and reports in acknowledgements.
//! - [`radiotap`]: what a capture says of a frame beside its bytes.

pub mod address;
pub mod coding;
pub mod header;
pub mod management;
pub mod radiotap;
pub mod rate;
pub mod snap;
pub mod timing;

pub use address::MacAddress;
pub use coding::{Code, Increment, Report};
pub use header::{Flags, Header, Kind};
pub use radiotap::Radiotap;
pub use rate::{Modulation, PhyRate};
pub use timing::{Phy, Timing};
