//! The errors of energy models.

use crate::presets::names;

/// The most volts, amperes, watts or joules that a key takes.
pub(crate) const MOST_DRAWN: f64 = 1e6;
/// The most watt-hours that a battery holds.
pub(crate) const MOST_WATT_HOURS: f64 = 1e9;

/// An energy model that makes no sense.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum EnergyError {
    /// A current, a power or a cost below zero, beyond what anything draws, or not a number.
    #[error("{key} is {value}: what is drawn is a number from 0 to {MOST_DRAWN}")]
    Drawn {
        /// The key, such as `radio.transmit`.
        key: &'static str,
        /// The value of the key.
        value: f64,
    },
    /// A supply without voltage.
    #[error("radio.volts is {value}: give the supply voltage, above 0 and up to {MOST_DRAWN}")]
    NoVoltage {
        /// The voltage that was given.
        value: f64,
    },
    /// A current at no voltage.
    #[error(
        "{key} is given without radio.volts: add the voltage at which the radio draws it, or a \
         base that has one"
    )]
    MissingVolts {
        /// The key of the current.
        key: &'static str,
    },
    /// A share of more than the whole.
    #[error("{key} is {value}: a share of a full segment lies from 0 to 1")]
    Share {
        /// The key, such as `processor.predicted-share`.
        key: &'static str,
        /// The share that was given.
        value: f64,
    },
    /// A table of a battery without its capacity.
    #[error(
        "battery.watt-hours is missing: give the capacity, or leave the table [battery] out where \
         there is none or that of the base is meant"
    )]
    NoCapacity,
    /// More than any battery holds.
    #[error("battery.watt-hours is {value}: a battery holds at most {MOST_WATT_HOURS}")]
    Capacity {
        /// The capacity, in watt-hours.
        value: f64,
    },
    /// A battery that holds nothing.
    #[error(
        "battery.watt-hours is {value}: a capacity lies above 0, since an empty battery lasts for \
         no time; give it, or leave the table [battery] out"
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
    /// A base that is no preset.
    #[error("base is \"{name}\": a base is one of the presets {}; leave it out for none", names())]
    NoSuchBase {
        /// The name that was given.
        name: String,
    },
    /// A file that is not understood.
    #[error("{message}")]
    Toml {
        /// The place in the file, and the problem there.
        message: String,
    },
}
