//! Advice for an application over a measured channel (S1.52): which mode of the link, which
//! transport, which size of datagrams.
//!
//! - [`MeasuredChannel`]: the errors of a channel, from an error trace, a list of radio blocks, an
//!   event log, or the name of an environment.
//! - [`TrafficNeeds`]: what the application sends, and what it bears; [`ApplicationClass`] has
//!   those of the classes of paper 001.
//! - [`Advice`]: every mode tried over that channel in simulated time, by the code that runs the
//!   link in real time too, and the mode that serves the application best.
//! - [`CalibratedModel`]: an energy model fitted to two measured lifetimes.
//! - [`EnergyTuning`]: the settings of TCP and of the radio with which a scenario takes the least
//!   energy, found by simulation; [`EnergyAdvice`] has them for Windfall and for Linux;
//!   [`AppliedSettings`] are those that a run uses.

mod advice;
mod channel;
mod energy;
mod lifetimes;
mod log;
mod mode;
mod needs;
mod trial;

pub use advice::{Advice, PaperChoice};
pub use channel::{ChannelError, MeasuredChannel, TunedLink};
pub use energy::{
    AppliedSettings, BuildScenario, EnergyAdvice, EnergyGoal, EnergySaving, EnergyTuneError,
    EnergyTuning, KernelSetting, LinuxAdvice, SettingAdvice, SettingChoice, TunedSetting,
};
pub use lifetimes::{CalibratedModel, MeasuredLifetimes};
pub use mode::{LinkMode, ModeSetting};
pub use needs::{ApplicationClass, TrafficNeeds};
pub use trial::{Trial, TuneError};
