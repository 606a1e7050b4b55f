//! The words of a radio: choices by their names.

use core::fmt;
use core::str::FromStr;

use windfall_base::ParseUnitError;
use windfall_channel::radio::{Fading, PathLoss};
use windfall_mac::wifi::Protection;
use windfall_settings::{Choice, by_text};
use windfall_wire_link::ieee80211::Phy;

/// The length of a slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Slot {
    /// The slot of 9 µs.
    #[default]
    Short,
    /// The slot of 20 µs.
    Long,
}

impl Choice for Slot {
    const CHOICES: &'static [(&'static str, Self, &'static str)] =
        &[("short", Self::Short, "9 µs"), ("long", Self::Long, "20 µs")];
}

/// The mode of a station on a link of 802.11g.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StationMode(pub Option<Phy>);

impl Choice for StationMode {
    const CHOICES: &'static [(&'static str, Self, &'static str)] = &[
        ("b", Self(Some(Phy::B)), "802.11b alone: 1 to 11 Mb/s, windows from 31, no OFDM"),
        ("g", Self(Some(Phy::G)), "802.11g"),
    ];
}

/// The protection of frames of OFDM from stations that cannot read them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProtectionWord(pub Option<Protection>);

impl Choice for ProtectionWord {
    const CHOICES: &'static [(&'static str, Self, &'static str)] = &[
        ("cts-to-self", Self(Some(Protection::CtsToSelf)), "A CTS of the sender to itself"),
        ("rts-cts", Self(Some(Protection::RtsCts)), "RTS and CTS"),
        ("none", Self(None), "None"),
    ];
}

/// The loss of a signal with distance: `office`, `home`, `shop` (ITU-R P.1238), `free-space`,
/// `log EXPONENT`, or a number of `dB` at any distance.
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

/// Fading in time: `none`, `rayleigh HERTZ`, `rician K HERTZ`.
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

by_text! {
    FadingWord: "fading",
    PathLossWord: "path loss",
}
