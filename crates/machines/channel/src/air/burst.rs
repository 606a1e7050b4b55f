//! Damage in one place of a frame: a bounded window of bit errors, and truncation.

use core::fmt;
use core::str::FromStr;

use windfall_base::{ParseUnitError, Probability, Stream};

use super::bits::Gaps;
use super::error::ParseModelError;
use super::{FrameDamage, Target};

/// Localised damage: now and then, bit errors within one bounded window of a frame.
///
/// The window lies with equal probability at every place where it fits. The text form is the three
/// fields in order: `10% 256 5%`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BurstWindow {
    /// The probability that a frame meets such a burst.
    pub probability: Probability,
    /// The length of the window, in bits; a shorter frame is all window.
    pub bits: u32,
    /// The error rate of the bits inside it.
    pub rate: Probability,
}

/// Truncation: now and then, the rest of a frame is missing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Truncation {
    /// The probability that a frame is cut.
    pub probability: Probability,
    /// Bytes that always arrive, from the first that may be hit; the cut lies anywhere after them.
    pub least: u32,
}

impl fmt::Display for BurstWindow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.probability, self.bits, self.rate)
    }
}

impl FromStr for BurstWindow {
    type Err = ParseModelError;

    fn from_str(text: &str) -> Result<Self, ParseModelError> {
        let fail = |fix: &str| ParseModelError::new("burst window", text, fix.to_owned());
        let words: Vec<&str> = text.split([' ', ',']).filter(|word| !word.is_empty()).collect();
        let [probability, bits, rate] = words[..] else {
            return Err(fail("write its probability, its length in bits, its bit error rate"));
        };
        let bits = bits.parse().map_err(|_| fail("the length is a whole number of bits"))?;
        if bits == 0 {
            return Err(fail("no bit lies in a window of 0 bits: write its length, as 10% 256 5%"));
        }
        let share = |word: &str| {
            word.parse::<Probability>().map_err(|error: ParseUnitError| fail(&error.to_string()))
        };
        Ok(Self { probability: share(probability)?, bits, rate: share(rate)? })
    }
}

impl BurstWindow {
    pub(super) fn apply(
        &self,
        gaps: &mut Gaps,
        base: &Stream,
        number: u64,
        target: &Target,
        damage: &mut FrameDamage,
    ) {
        if base.unit_at(number) >= self.probability.get() {
            return;
        }
        let mut stream = base.at(number);
        let width = self.bits.min(target.bits);
        let start = stream.below(u64::from(target.bits - width) + 1) as u32;
        gaps.apply(&mut stream, width, |position| damage.positions.push(start + position));
    }
}

impl Truncation {
    pub(super) fn apply(
        &self,
        base: &Stream,
        number: u64,
        target: &Target,
        damage: &mut FrameDamage,
    ) {
        if base.unit_at(number) >= self.probability.get() || target.bits == 0 {
            return;
        }
        let least = self.least.saturating_mul(8).min(target.bits - 1);
        damage.cut_at(least + base.at(number).below(u64::from(target.bits - least)) as u32);
    }
}
