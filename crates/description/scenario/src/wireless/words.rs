//! The words of a radio: choices by their names.

use core::fmt;
use core::str::FromStr;

use serde::{Deserialize, Serialize};
use windfall_base::ParseUnitError;
use windfall_channel::radio::{Errors, Fading, PathLoss};
use windfall_mac::dcf;

/// The length of a slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Slot {
    /// 9 µs.
    #[default]
    Short,
    /// 20 µs.
    Long,
}

/// The form of a preamble.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PreambleWord {
    /// 192 µs with the header.
    #[default]
    Long,
    /// 96 µs with the header.
    Short,
}

/// Who chooses the rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RateControl {
    /// Nobody: it is what `rate` says.
    #[default]
    Fixed,
    /// Automatic rate fallback.
    Arf,
    /// Measured success, after Minstrel.
    Minstrel,
}

/// How the contention window answers to collisions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Backoff {
    /// As the standard says.
    #[default]
    Binary,
    /// As MACAW says.
    Mild,
    /// Not at all.
    Constant,
}

impl From<Backoff> for dcf::Backoff {
    fn from(word: Backoff) -> Self {
        match word {
            Backoff::Binary => Self::Binary,
            Backoff::Mild => Self::Mild,
            Backoff::Constant => Self::Constant,
        }
    }
}

/// After what the extended gap is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExtendedGap {
    /// Whenever a reception fails.
    Always,
    /// Only when the PHY header could be read, as the standard says.
    #[default]
    ReadableHeader,
    /// Never.
    Never,
}

impl From<ExtendedGap> for dcf::ExtendedGap {
    fn from(word: ExtendedGap) -> Self {
        match word {
            ExtendedGap::Always => Self::Always,
            ExtendedGap::ReadableHeader => Self::ReadableHeader,
            ExtendedGap::Never => Self::Never,
        }
    }
}

/// The model that decides whether bits arrive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorModel {
    /// Error events measured on the chains bit by bit.
    #[default]
    Events,
    /// Formulas for whole frames, as ns-3 has them.
    Formula,
}

impl From<ErrorModel> for Errors {
    fn from(word: ErrorModel) -> Self {
        match word {
            ErrorModel::Events => Self::Pattern,
            ErrorModel::Formula => Self::Formula,
        }
    }
}

/// How a signal fades with distance: `office`, `home`, `shop` (ITU-R P.1238), `free-space`,
/// `log EXPONENT`, or so many `dB` whatever the distance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PathLossWord(pub PathLoss);

/// The coefficients of ITU-R P.1238 at 2.4 GHz, by their names.
const INDOOR: [(&str, f64); 3] = [("office", 30.0), ("home", 28.0), ("shop", 22.0)];

impl fmt::Display for PathLossWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            PathLoss::Fixed(loss) => write!(f, "{loss}dB"),
            PathLoss::FreeSpace => f.write_str("free-space"),
            PathLoss::LogDistance { exponent } => write!(f, "log {exponent}"),
            PathLoss::Indoor { coefficient, .. } => {
                let name = INDOOR.iter().find(|(_, own)| *own == coefficient);
                f.write_str(name.map_or("office", |(name, _)| name))
            }
        }
    }
}

impl FromStr for PathLossWord {
    type Err = ParseUnitError;

    fn from_str(text: &str) -> Result<Self, ParseUnitError> {
        let fix = "write office, home, shop, free-space, log EXPONENT such as log 3, or a loss \
                   such as 60dB";
        let fault = || ParseUnitError::new("path loss", text, fix);
        let text = text.trim();
        if let Some((_, coefficient)) = INDOOR.iter().find(|(name, _)| *name == text) {
            return Ok(Self(PathLoss::Indoor { coefficient: *coefficient, floors: 0.0 }));
        }
        let number = |digits: &str| {
            let value = digits.trim().parse::<f64>().ok();
            value.filter(|value| (0.0..=300.0).contains(value)).ok_or_else(fault)
        };
        if text == "free-space" {
            Ok(Self(PathLoss::FreeSpace))
        } else if let Some(exponent) = text.strip_prefix("log ") {
            Ok(Self(PathLoss::LogDistance { exponent: number(exponent)? }))
        } else {
            Ok(Self(PathLoss::Fixed(number(text.strip_suffix("dB").ok_or_else(fault)?)?)))
        }
    }
}

/// Differences in time: `none`, `rayleigh HERTZ`, `rician K HERTZ`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FadingWord(pub Fading);

impl fmt::Display for FadingWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Fading::None => f.write_str("none"),
            Fading::Rayleigh { doppler } => write!(f, "rayleigh {doppler}"),
            Fading::Rician { k, doppler } => write!(f, "rician {k} {doppler}"),
        }
    }
}

impl FromStr for FadingWord {
    type Err = ParseUnitError;

    fn from_str(text: &str) -> Result<Self, ParseUnitError> {
        let fix = "write none, rayleigh HERTZ such as rayleigh 11 for a walker, or rician K HERTZ";
        let fault = || ParseUnitError::new("fading", text, fix);
        let mut words = text.split_whitespace();
        let name = words.next().ok_or_else(fault)?;
        let numbers: Option<Vec<f64>> = words
            .map(|word| word.parse().ok().filter(|value| (0.0..=1e6).contains(value)))
            .collect();
        match (name, numbers.as_deref()) {
            ("none", Some([])) => Ok(Self(Fading::None)),
            ("rayleigh", Some([doppler])) => Ok(Self(Fading::Rayleigh { doppler: *doppler })),
            ("rician", Some([k, doppler])) => Ok(Self(Fading::Rician { k: *k, doppler: *doppler })),
            _ => Err(fault()),
        }
    }
}
