//! What can be wrong with an energy model.

use crate::presets::names;

/// An energy model that makes no sense.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum EnergyError {
    /// A current, a power or a cost below zero, or not a number.
    #[error("{key} is {value}: what is drawn is a number from 0 on")]
    Negative {
        /// The key, such as `radio.transmit`.
        key: &'static str,
        /// The value of the key.
        value: f64,
    },
    /// A supply without voltage.
    #[error("radio.volts is {value}: give the supply voltage, above 0")]
    NoVoltage {
        /// The voltage that was given.
        value: f64,
    },
    /// A battery that holds nothing.
    #[error(
        "battery.watt-hours is {value}: an empty battery lasts for no time; give its capacity, \
         above 0, or leave it out"
    )]
    EmptyBattery {
        /// The capacity, in watt-hours.
        value: f64,
    },
    /// A cut-off at which the battery gives nothing.
    #[error("battery.cut-off is {value}: the share that is left lies from 0 to below 1")]
    CutOff {
        /// The share that was given.
        value: f64,
    },
    /// An interrupt for no packet.
    #[error("system.packets-per-interrupt is 0: an interrupt is for 1 packet or more")]
    NoPackets,
    /// A name that is no preset.
    #[error("there is no energy model \"{name}\"; there are {}, or a file NAME.toml", names())]
    NoSuchModel {
        /// The name that was given.
        name: String,
    },
    /// A file that is not understood.
    #[error("{message}")]
    Toml {
        /// The place in the file, and what is wrong there.
        message: String,
    },
}
