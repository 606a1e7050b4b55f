//! The text form of TCP settings, the same in scenarios and on the command line: the name of a set
//! of knobs, then the knobs that differ from it, such as `new-reno, min-rto=500ms, nagle=off`.

use core::fmt;
use core::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use windfall_base::Duration;
use windfall_tcp::{LossRecovery, TcpConfig};

use crate::error::nearest;
use crate::values::by_text;

pub use knobs::{KNOBS, Knob};

mod knobs;

/// The window that a shift of 14 can express, in bytes (RFC 7323, section 2.3).
const LARGEST_WINDOW: usize = 65_535 << 14;
/// The least segment size that is taken, in bytes; the longest options leave little of it.
const LEAST_MSS: u16 = 88;

/// A set of knobs that has a name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TcpPreset {
    /// What today's systems do: CUBIC with SACK and timestamps.
    #[default]
    Cubic,
    /// Reno's law with SACK (RFC 5681, 6675).
    Sack,
    /// Reno's law without SACK: a partial acknowledgment names the next loss (RFC 5681, 6582).
    NewReno,
    /// Reno's law whose fast recovery ends with the first new acknowledgment (RFC 5681).
    Reno,
    /// NetBSD 1.2, on which paper 003 measured (RFC 2001).
    Net3Reno,
    /// What paper 002 recommends to save energy.
    EnergySaving,
}

impl TcpPreset {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Cubic, Self::Sack, Self::NewReno, Self::Reno, Self::Net3Reno, Self::EnergySaving];

    /// The name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cubic => "cubic",
            Self::Sack => "sack",
            Self::NewReno => "new-reno",
            Self::Reno => "reno",
            Self::Net3Reno => "net3-reno",
            Self::EnergySaving => "energy-saving",
        }
    }

    /// The knobs.
    #[must_use]
    pub fn config(self) -> TcpConfig {
        match self {
            Self::Cubic => TcpConfig::default(),
            Self::Sack => TcpConfig::new_reno(),
            Self::NewReno => TcpConfig { sack: false, ..TcpConfig::new_reno() },
            Self::Reno => TcpConfig {
                sack: false,
                repair: LossRecovery::Net3,
                limited_transmit: false,
                ..TcpConfig::new_reno()
            },
            Self::Net3Reno => TcpConfig::net3_reno(),
            Self::EnergySaving => TcpConfig::energy_saving(),
        }
    }

    fn of_name(name: &str) -> Option<Self> {
        let name = if name == "newreno" { "new-reno" } else { name };
        Self::ALL.into_iter().find(|preset| preset.name() == name)
    }
}

/// How a TCP behaves: a named set of knobs, and those that differ from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TcpSettings {
    preset: TcpPreset,
    config: TcpConfig,
}

impl TcpSettings {
    /// The knobs.
    #[must_use]
    pub const fn config(&self) -> &TcpConfig {
        &self.config
    }

    /// The text of the value of each knob, with the knob's description.
    pub fn values(&self) -> impl Iterator<Item = (&'static Knob, String)> + '_ {
        KNOBS.iter().map(|knob| (knob, knob.text_of(&self.config)))
    }
}

impl Default for TcpSettings {
    fn default() -> Self {
        TcpPreset::default().into()
    }
}

impl From<TcpPreset> for TcpSettings {
    fn from(preset: TcpPreset) -> Self {
        Self { preset, config: preset.config() }
    }
}

/// A setting that does not exist or has no such value: names it, and lists what there is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TcpSettingsError {
    /// A word without `=` that is no set of knobs.
    #[error("\"{word}\" is no set of TCP settings: {fix}")]
    Preset {
        /// The word.
        word: String,
        /// What to write.
        fix: String,
    },
    /// The name of a set stands behind something else.
    #[error("\"{0}\" names a whole set of TCP settings: write it first, and only one")]
    LatePreset(String),
    /// A name before `=` that is no knob.
    #[error("there is no TCP setting \"{name}\": {fix}")]
    Unknown {
        /// The name.
        name: String,
        /// What to write.
        fix: String,
    },
    /// A value that the knob does not take.
    #[error("\"{value}\" is no value of the TCP setting {name}: write {legal}")]
    Value {
        /// The knob.
        name: &'static str,
        /// The value.
        value: String,
        /// What the knob takes.
        legal: &'static str,
    },
    /// Values that do not go together.
    #[error("{0}")]
    Together(&'static str),
}

impl FromStr for TcpSettings {
    type Err = TcpSettingsError;

    fn from_str(text: &str) -> Result<Self, TcpSettingsError> {
        let mut settings = Self::default();
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
        for (place, part) in parts.enumerate() {
            let Some((name, value)) = part.split_once('=') else {
                settings = preset(part)?.into();
                if place > 0 {
                    return Err(TcpSettingsError::LatePreset(part.to_owned()));
                }
                continue;
            };
            let (name, value) = (name.trim(), value.trim());
            let knob = knob(name)?;
            if !knob.set(&mut settings.config, value) {
                let (name, value, legal) = (knob.name, value.to_owned(), knob.legal);
                return Err(TcpSettingsError::Value { name, value, legal });
            }
        }
        check(&settings.config).map_err(TcpSettingsError::Together)?;
        Ok(settings)
    }
}

impl fmt::Display for TcpSettings {
    /// The set, and what differs from it; reads back as the same settings.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.preset.name())?;
        let mut config = self.preset.config();
        for knob in &KNOBS {
            let value = knob.text_of(&self.config);
            // One knob may turn others that stand behind it, so the state is carried along.
            if knob.text_of(&config) != value {
                knob.set(&mut config, &value);
                write!(f, ", {}={value}", knob.name)?;
            }
        }
        Ok(())
    }
}

impl Serialize for TcpSettings {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for TcpSettings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        by_text::parse(deserializer)
    }
}

fn preset(word: &str) -> Result<TcpPreset, TcpSettingsError> {
    TcpPreset::of_name(word).ok_or_else(|| {
        let names = TcpPreset::ALL.map(TcpPreset::name);
        let fix = match KNOBS.iter().find(|knob| knob.name == word) {
            Some(knob) => format!("write {word}={}", knob.legal),
            None => format!("write one of {}, or NAME=VALUE", names.join(", ")),
        };
        TcpSettingsError::Preset { word: word.to_owned(), fix }
    })
}

fn knob(name: &str) -> Result<&'static Knob, TcpSettingsError> {
    KNOBS.iter().find(|knob| knob.name == name).ok_or_else(|| {
        let names = || KNOBS.iter().map(|knob| knob.name);
        let fix = match nearest(name, names()) {
            Some(name) => format!("did you mean \"{name}\"?"),
            None => format!("there are {}", names().collect::<Vec<_>>().join(", ")),
        };
        TcpSettingsError::Unknown { name: name.to_owned(), fix }
    })
}

/// What is wrong with knobs that are each legal.
fn check(config: &TcpConfig) -> Result<(), &'static str> {
    let timeout = &config.timeout;
    if timeout.in_ticks && timeout.tick == Duration::ZERO {
        return Err("rto-in-ticks=on needs a clock that ticks: add tick=500ms");
    }
    if timeout.minimum > timeout.maximum {
        return Err("min-rto is longer than max-rto: the timeout would have no length");
    }
    Ok(())
}

#[cfg(test)]
mod tests;
