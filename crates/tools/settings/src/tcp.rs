//! The text form of TCP settings, the same in scenarios and on the command line: the name of a
//! preset, then the settings that differ from it, such as `new-reno, min-rto=500ms, nagle=off`.

use core::fmt;
use core::str::FromStr;
use std::borrow::Cow;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use windfall_base::{Duration, nearest};
use windfall_tcp::{LossRecovery, TcpConfig, TickEstimation};

pub use kernel::KernelWay;
pub use settings::{TCP_SETTINGS, TcpSetting};

mod buffer;
mod congestion;
mod kernel;
mod parts;
mod settings;

/// The window that a shift of 14 can express, in bytes (RFC 7323, section 2.3).
const LARGEST_WINDOW: usize = 65_535 << 14;
/// The least segment size that is taken, in bytes; the longest options leave little of it.
const LEAST_MSS: u16 = 88;

/// Other words for a setting, which an error message answers with its name.
const SYNONYMS: &[(&str, &str)] =
    &[("law", "congestion"), ("congestion-control", "congestion"), ("repair", "loss-recovery")];

/// Named sets of TCP settings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TcpPreset {
    /// The choice of today's systems: CUBIC with SACK and timestamps.
    #[default]
    Cubic,
    /// Reno with SACK (RFC 5681, 6675).
    Sack,
    /// NewReno, without SACK: a partial acknowledgment names the next loss (RFC 5681, 6582).
    NewReno,
    /// Reno, whose fast recovery ends with the first new acknowledgment (RFC 5681).
    Reno,
    /// 4.4BSD's Net/3 (RFC 2001).
    Net3Reno,
    /// NetBSD 1.2, on which paper 003 measured.
    NetBsd,
    /// The recommendation of paper 002 to save energy.
    EnergySaving,
}

impl TcpPreset {
    /// Lists every preset.
    pub const ALL: [Self; 7] = [
        Self::Cubic,
        Self::Sack,
        Self::NewReno,
        Self::Reno,
        Self::Net3Reno,
        Self::NetBsd,
        Self::EnergySaving,
    ];

    /// Returns the name by which it is chosen.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cubic => "cubic",
            Self::Sack => "sack",
            Self::NewReno => "new-reno",
            Self::Reno => "reno",
            Self::Net3Reno => "net3-reno",
            Self::NetBsd => "netbsd-1.2",
            Self::EnergySaving => "energy-saving",
        }
    }

    /// Returns the configuration that the preset stands for.
    #[must_use]
    pub fn config(self) -> TcpConfig {
        match self {
            Self::Cubic => TcpConfig::default(),
            Self::Sack => TcpConfig::new_reno(),
            Self::NewReno => TcpConfig::new_reno().with(|it| it.sack = false),
            Self::Reno => TcpConfig::new_reno().with(|it| {
                it.sack = false;
                it.loss_recovery = LossRecovery::Net3;
                it.limited_transmit = false;
            }),
            Self::Net3Reno => TcpConfig::net3_reno(),
            Self::NetBsd => TcpConfig::netbsd_1_2(),
            Self::EnergySaving => TcpConfig::energy_saving(),
        }
    }

    fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|preset| preset.name() == name)
    }
}

/// The settings of a TCP: a preset, and what differs from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TcpSettings {
    preset: TcpPreset,
    config: TcpConfig,
}

impl TcpSettings {
    /// Returns the configuration of the engine.
    #[must_use]
    pub const fn config(&self) -> &TcpConfig {
        &self.config
    }

    /// Returns each setting with the text of its value.
    pub fn values(&self) -> impl Iterator<Item = (&'static TcpSetting, String)> + '_ {
        TCP_SETTINGS.iter().map(|setting| (setting, setting.text_of(&self.config)))
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
#[non_exhaustive]
pub enum TcpSettingsError {
    /// A word without `=` that names no preset.
    #[error("\"{word}\" is no preset of TCP settings: {fix}")]
    Preset {
        /// The word that is no preset.
        word: String,
        /// The advice what to write.
        fix: String,
    },
    /// The name of a preset stands behind something else.
    #[error("\"{0}\" is a preset of TCP settings: write it first, and only one")]
    LatePreset(String),
    /// A name before `=` that is no setting.
    #[error("there is no TCP setting \"{name}\": {fix}")]
    Unknown {
        /// The name that is unknown.
        name: String,
        /// The advice what to write.
        fix: String,
    },
    /// A value that the setting does not take.
    #[error("\"{value}\" is no value of the TCP setting {name}: write {legal}")]
    Value {
        /// The name of the setting.
        name: &'static str,
        /// The value that is refused.
        value: String,
        /// The values that the setting takes.
        legal: Cow<'static, str>,
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
            let name = name.trim();
            let value = value.trim();
            TcpSetting::find(name)?.try_set(&mut settings.config, value)?;
        }
        check(&settings.config).map_err(TcpSettingsError::Together)?;
        Ok(settings)
    }
}

impl fmt::Display for TcpSettings {
    /// The preset, and what differs from it; reads back as the same settings.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.preset.name())?;
        let mut config = self.preset.config();
        for setting in TCP_SETTINGS {
            let value = setting.text_of(&self.config);
            // One setting may change others that follow it, so the state is carried along.
            if setting.text_of(&config) != value {
                setting.set(&mut config, &value);
                write!(f, ", {}={value}", setting.name)?;
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
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

crate::by_text! {
    TcpSettings: "TCP settings",
}

fn preset(word: &str) -> Result<TcpPreset, TcpSettingsError> {
    TcpPreset::of_name(word).ok_or_else(|| {
        let names = TcpPreset::ALL.map(TcpPreset::name);
        let fix = match TCP_SETTINGS.iter().find(|setting| setting.name == word) {
            Some(setting) => format!("write {word}={}", setting.legal()),
            None => format!("write one of {}, or NAME=VALUE", names.join(", ")),
        };
        TcpSettingsError::Preset { word: word.to_owned(), fix }
    })
}

impl TcpSetting {
    /// Finds the setting of a name that someone wrote.
    ///
    /// # Errors
    /// Names the setting that may be meant, or lists all.
    pub fn find(name: &str) -> Result<&'static Self, TcpSettingsError> {
        TCP_SETTINGS.iter().find(|setting| setting.name == name).ok_or_else(|| {
            let names = || TCP_SETTINGS.iter().map(|setting| setting.name);
            let synonym = SYNONYMS.iter().find(|(word, _)| *word == name).map(|(_, name)| *name);
            let fix = match synonym.or_else(|| nearest(name, names())) {
                Some(name) => format!("did you mean \"{name}\"?"),
                None => format!("there are {}", names().collect::<Vec<_>>().join(", ")),
            };
            TcpSettingsError::Unknown { name: name.to_owned(), fix }
        })
    }
}

/// Refuses settings that contradict each other although each is legal.
fn check(config: &TcpConfig) -> Result<(), &'static str> {
    let timeout = &config.timeout;
    if timeout.in_ticks != TickEstimation::Off && timeout.tick == Duration::ZERO {
        return Err("rto-in-ticks needs a clock that ticks: add tick=500ms");
    }
    if timeout.minimum > timeout.maximum {
        return Err("min-rto is longer than max-rto: the timeout would have no length");
    }
    Ok(())
}

#[cfg(test)]
mod tests;
