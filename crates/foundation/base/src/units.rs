//! Quantities as people write them: rates, probabilities, sizes, powers, distances.

use core::fmt;
use core::num::NonZeroU64;
use core::str::FromStr;

use crate::quantity::{ParseUnitError, parse_quantity, serde_by_text};
use crate::time::Duration;

/// A rate in bits per second, above zero. Text carries a unit (`10Mbps`); a bare number is in Mbps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(NonZeroU64);

impl Rate {
    /// A rate of `bits` per second; `None` for zero, which no link can have.
    #[must_use]
    pub const fn from_bps(bits: u64) -> Option<Self> {
        match NonZeroU64::new(bits) {
            Some(bits) => Some(Self(bits)),
            None => None,
        }
    }

    /// A rate of `mbps` million bits per second; `None` for zero.
    #[must_use]
    pub const fn from_mbps(mbps: u64) -> Option<Self> {
        Self::from_bps(mbps.saturating_mul(1_000_000))
    }

    /// Bits per second.
    #[must_use]
    pub const fn as_bps(self) -> u64 {
        self.0.get()
    }

    /// Returns the time of `bytes` bytes at this rate, rounded up to the nanosecond.
    #[must_use]
    pub const fn time_of(self, bytes: usize) -> Duration {
        self.time_of_bits(bytes as u64 * 8)
    }

    /// Returns the time of `bits` bits at this rate, rounded up to the nanosecond.
    #[must_use]
    pub const fn time_of_bits(self, bits: u64) -> Duration {
        let nanos = match bits.checked_mul(1_000_000_000) {
            Some(product) => product.div_ceil(self.as_bps()),
            None => (bits as u128 * 1_000_000_000).div_ceil(self.as_bps() as u128) as u64,
        };
        Duration::from_nanos(nanos)
    }

    /// Returns the whole bits that leave at this rate within a time; at most `u64::MAX`.
    #[must_use]
    pub const fn bits_in(self, time: Duration) -> u64 {
        let bits = time.as_nanos() as u128 * self.as_bps() as u128 / 1_000_000_000;
        if bits > u64::MAX as u128 { u64::MAX } else { bits as u64 }
    }

    /// Returns what to write instead of a rate in bytes, such as `10MB/s`; `None` if `text` is no
    /// such rate. The case of a unit's other letters does not matter.
    #[must_use]
    pub fn fix_of_bytes(text: &str) -> Option<String> {
        let bits = bytes_as_bits(text)?;
        Some(format!("a capital B is for bytes, and rates are in bits: write {bits}"))
    }

    /// Returns what to write for a rate of a serial line that has no unit.
    fn fix_of_baud(text: &str) -> Option<String> {
        let text = text.trim();
        let fix = format!("a bare number is in Mbps: write {text}bps or {text}Mbps");
        BAUD.contains(&text).then_some(fix)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (divisor, unit) = match self.as_bps() {
            n if n % 1_000_000_000 == 0 => (1_000_000_000, "Gbps"),
            n if n % 1_000_000 == 0 => (1_000_000, "Mbps"),
            n if n % 1_000 == 0 => (1_000, "kbps"),
            _ => (1, "bps"),
        };
        write!(f, "{}{unit}", self.as_bps() / divisor)
    }
}

impl FromStr for Rate {
    type Err = ParseUnitError;

    fn from_str(text: &str) -> Result<Self, ParseUnitError> {
        let units = [
            ("bps", 1.0),
            ("kbps", 1e3),
            ("Mbps", 1e6),
            ("Gbps", 1e9),
            ("bit", 1.0),
            ("kbit", 1e3),
            ("Mbit", 1e6),
            ("Gbit", 1e9),
        ];
        if let Some(fix) = Self::fix_of_bytes(text).or_else(|| Self::fix_of_baud(text)) {
            return Err(ParseUnitError::new("rate", text, fix));
        }
        let bps = parse_quantity(text, "rate", &units, 1e6, "10Mbps")?;
        // Fewer than 1 bit per second would round to none.
        let rate = Self::from_bps(bps.round() as u64).filter(|_| (1.0..=FASTEST).contains(&bps));
        rate.ok_or_else(|| {
            let fix = "a rate is between 1bps and 10000Gbps, such as 10Mbps";
            ParseUnitError::new("rate", text, fix)
        })
    }
}

/// The usual rates of serial lines, in bits per second, that no radio or wire has in Mbps.
const BAUD: [&str; 10] =
    ["1200", "2400", "4800", "9600", "19200", "38400", "57600", "115200", "230400", "460800"];

/// The fastest rate of any link, in bits per second.
const FASTEST: f64 = 1e13;

/// A rate in bytes per second, such as `10MBps` or `10 MB/s`, as it is written in bits: `80Mbps`.
fn bytes_as_bits(text: &str) -> Option<String> {
    let (before, after) = text.trim().split_once('B')?;
    let is_rate = ["", "ps", "/s"].iter().any(|it| it.eq_ignore_ascii_case(after));
    let number = before.trim_end_matches(|c: char| c.is_ascii_alphabetic()).trim_end();
    let unit = before.trim_end_matches(|c: char| !c.is_ascii_alphabetic());
    let prefix = &unit[unit.trim_end_matches(|c: char| c.is_ascii_alphabetic()).len()..];
    let (bits, prefix) = match prefix {
        "" => (8.0, ""),
        "k" | "K" => (8.0, "k"),
        "m" | "M" => (8.0, "M"),
        "g" | "G" => (8.0, "G"),
        "t" | "T" => (8e3, "G"),
        _ => return None,
    };
    let bytes: f64 = number.replace('_', "").parse().ok()?;
    is_rate.then(|| format!("{}{prefix}bps", bits * bytes))
}

serde_by_text!(Rate, "a rate such as \"10Mbps\"");

/// A probability, 0..=1. Text may be a fraction (`0.01`, `1e-5`) or per cent (`1%`).
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Probability(f64);

impl Probability {
    /// The probability of the impossible event.
    pub const ZERO: Self = Self(0.0);
    /// The probability of the certain event.
    pub const ONE: Self = Self(1.0);

    /// The probability `p`, if it lies in 0..=1.
    #[must_use]
    pub fn new(p: f64) -> Option<Self> {
        (0.0..=1.0).contains(&p).then_some(Self(p))
    }

    /// The value, 0..=1.
    #[must_use]
    pub const fn get(self) -> f64 {
        self.0
    }

    /// Returns `true` if the event never happens.
    #[must_use]
    pub fn is_zero(self) -> bool {
        self.0 == 0.0
    }
}

impl fmt::Display for Probability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 != 0.0 && self.0 < 1e-3 {
            write!(f, "{:e}", self.0)
        } else {
            write!(f, "{}", self.0)
        }
    }
}

impl FromStr for Probability {
    type Err = ParseUnitError;

    fn from_str(text: &str) -> Result<Self, ParseUnitError> {
        let refused = |fix: &str| ParseUnitError::new("probability", text, fix);
        let written = text.trim().trim_end_matches('%');
        if let Some(fix) = misspelt_number(written) {
            return Err(refused(&fix));
        }
        let number = parse_quantity(text, "probability", &[("%", 1.0)], 1.0, "0.01 or 1%")?;
        let value = if text.trim_end().ends_with('%') { hundredth(text) } else { Some(number) };
        if value == Some(0.0) && has_other_digit_than_0(written) {
            return Err(refused("it is too small to be told from 0: write 0, or 1e-300 or more"));
        }
        value.and_then(Self::new).ok_or_else(|| {
            let fix = "it must lie in 0..1 or 0%..100%";
            let is_percent = (1.0..=100.0).contains(&number) && !text.contains('%');
            let meant = format!("{fix}: {} of 100 is {0}%", text.trim());
            if is_percent { refused(&meant) } else { refused(fix) }
        })
    }
}

/// Tells whether a number that is written with a power of ten, or without, is another one than 0.
fn has_other_digit_than_0(text: &str) -> bool {
    let mantissa = text.split(['e', 'E']).next().unwrap_or_default();
    mantissa.bytes().any(|byte| (b'1'..=b'9').contains(&byte))
}

/// Guesses the number meant by a decimal comma, or by a power of ten such as `10^-5`.
fn misspelt_number(text: &str) -> Option<String> {
    if let Some((base, power)) = text.split_once('^')
        && base.trim() == "10"
        && power.parse::<i32>().is_ok()
    {
        return Some(format!("write the power of ten as 1e{power}"));
    }
    let with_point = text.replacen(',', ".", 1);
    let is_number = with_point != text && with_point.trim().parse::<f64>().is_ok();
    is_number.then(|| format!("write a point for the comma: {}", with_point.trim()))
}

/// The number before the sign of per cent, divided by 100 as it is written: the nearest to 0.7 is
/// neither 70 * 0.01 nor, of 1e-5, 1e-5 / 100.
fn hundredth(text: &str) -> Option<f64> {
    let number = text.trim().trim_end_matches('%').trim().replace('_', "");
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((&number, "0"));
    format!("{mantissa}e{}", exponent.parse::<i32>().ok()?.checked_sub(2)?).parse().ok()
}

serde_by_text!(Probability, "a probability such as 0.01 or \"1%\"");

/// A number of bytes. Text may carry a unit (`64kB`, `1MB`, `64KiB`); a bare number is in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ByteCount(pub u64);

impl fmt::Display for ByteCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}B", self.0)
    }
}

impl FromStr for ByteCount {
    type Err = ParseUnitError;

    fn from_str(text: &str) -> Result<Self, ParseUnitError> {
        let units = [
            ("B", 1.0),
            ("kB", 1e3),
            ("MB", 1e6),
            ("GB", 1e9),
            ("KiB", 1024.0),
            ("MiB", 1_048_576.0),
            ("GiB", 1_073_741_824.0),
        ];
        let bytes = parse_quantity(text, "size", &units, 1.0, "64kB")?;
        if !(0.0..=1e18).contains(&bytes) {
            return Err(ParseUnitError::new("size", text, "use a size of 0 or more, such as 64kB"));
        }
        Ok(Self(bytes.round() as u64))
    }
}

serde_by_text!(ByteCount, "a size such as \"64kB\"");

/// A power in dBm. Text may end in `dBm`.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Dbm(pub f64);

impl fmt::Display for Dbm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}dBm", self.0)
    }
}

impl FromStr for Dbm {
    type Err = ParseUnitError;

    fn from_str(text: &str) -> Result<Self, ParseUnitError> {
        parse_quantity(text, "power", &[("dBm", 1.0)], 1.0, "15dBm").map(Self)
    }
}

serde_by_text!(Dbm, "a power such as \"15dBm\"");

/// A distance in metres, zero or more. Text may end in `m` or `km`.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Metres(pub f64);

impl fmt::Display for Metres {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}m", self.0)
    }
}

impl FromStr for Metres {
    type Err = ParseUnitError;

    fn from_str(text: &str) -> Result<Self, ParseUnitError> {
        let metres = parse_quantity(text, "distance", &[("m", 1.0), ("km", 1e3)], 1.0, "8m")?;
        if metres < 0.0 {
            return Err(ParseUnitError::new("distance", text, "use 0 or more, such as 8m"));
        }
        Ok(Self(metres))
    }
}

serde_by_text!(Metres, "a distance such as \"8m\"");

#[cfg(test)]
mod tests;
