//! The energy of a run: from the states of radios and the steps of TCP to joules.
//!
//! - [`EnergyModel`]: what a station draws — the currents of its [`Card`] by state, the power of
//!   its platform, the costs of [TCP's steps](processor) — and the [`Battery`] that it draws from.
//!   Presets by name, own ones in TOML.
//! - [`StationUsage`], what a station did in a run, gives [`StationEnergy`], joules by part.
//! - [`EnergyModel::calibrated`] fits a model to two measured lifetimes (S2.25).

mod battery;
mod calibrate;
mod card;
mod error;
mod model;
mod presets;
pub mod processor;
mod station;

pub use battery::Battery;
pub use calibrate::{Calibration, CalibrationError};
pub use card::Card;
pub use error::EnergyError;
pub use model::EnergyModel;
pub use presets::PRESETS;
pub use station::{StationEnergy, StationUsage, joules_per_byte};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
