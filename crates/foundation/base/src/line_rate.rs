//! The rate of a line as people write it, which may be a pause or none.

use core::fmt;
use core::str::FromStr;

use crate::quantity::ParseUnitError;
use crate::units::Rate;

/// The rate that a line is given: a rate, a pause, or no limit.
///
/// The text form is that of a [`Rate`], `0` with any unit for a pause, or `none` for no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LineRate {
    /// Bits take no time.
    #[default]
    Unlimited,
    /// Nothing leaves until the rate changes.
    Paused,
    /// Bits leave at this rate.
    At(Rate),
}

impl LineRate {
    /// Returns the rate, if bits leave at one.
    #[must_use]
    pub const fn rate(self) -> Option<Rate> {
        match self {
            Self::At(rate) => Some(rate),
            Self::Unlimited | Self::Paused => None,
        }
    }
}

impl From<Rate> for LineRate {
    fn from(rate: Rate) -> Self {
        Self::At(rate)
    }
}

impl fmt::Display for LineRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unlimited => f.write_str("none"),
            Self::Paused => f.write_str("0"),
            Self::At(rate) => rate.fmt(f),
        }
    }
}

impl FromStr for LineRate {
    type Err = ParseUnitError;

    fn from_str(text: &str) -> Result<Self, ParseUnitError> {
        let trimmed = text.trim();
        if trimmed == "none" {
            return Ok(Self::Unlimited);
        }
        let split = trimmed.find(|c: char| c.is_alphabetic() || c.is_whitespace());
        let (number, unit) = trimmed.split_at(split.unwrap_or(trimmed.len()));
        let is_zero = number.replace('_', "").parse() == Ok(0.0);
        if is_zero && format!("1{unit}").parse::<Rate>().is_ok() {
            return Ok(Self::Paused);
        }
        text.parse().map(Self::At)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_may_be_a_pause_or_without_a_limit() {
        let at = |text: &str| LineRate::At(text.parse().expect(text));
        for (text, rate) in [
            ("none", LineRate::Unlimited),
            ("0", LineRate::Paused),
            ("0kbps", LineRate::Paused),
            ("0.0 Mbps", LineRate::Paused),
            ("0bit", LineRate::Paused),
            ("10", at("10Mbps")),
            ("5kbps", at("5kbps")),
        ] {
            assert_eq!(text.parse(), Ok(rate), "{text}");
            assert_eq!(rate.to_string().parse(), Ok(rate), "{text}");
        }
        for text in ["", "0x", "nothing", "-1Mbps", "0.2bps", "Mbps"] {
            assert!(text.parse::<LineRate>().is_err(), "{text}");
        }
    }
}
