//! The two-state channel of Gilbert and Elliott, for frames and for bits.

use core::fmt;
use core::str::FromStr;

use windfall_base::{ParseUnitError, Probability, Stream};

use super::bits::Gaps;
use super::error::ParseModelError;
use super::{FrameDamage, Target};

/// A chain of two states, good and bad, each with its own error rate per frame or per bit.
///
/// The text form is that of netem's `gemodel`: `p [r [1-h [1-k]]]`. The chain starts in its
/// stationary distribution; each step first decides on the error, then on the change of state. At
/// bit level it takes a step with each exposed bit and stands still between frames.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GilbertElliott {
    /// `p`: the probability of going from good to bad.
    pub p: Probability,
    /// `r`: the probability of going from bad to good.
    pub r: Probability,
    /// `1-h`: the error rate in the bad state.
    pub bad: Probability,
    /// `1-k`: the error rate in the good state.
    pub good: Probability,
}

impl GilbertElliott {
    /// The share of steps that the chain spends in the bad state.
    #[must_use]
    pub fn bad_share(&self) -> f64 {
        let sum = self.p.get() + self.r.get();
        if sum == 0.0 { 0.0 } else { self.p.get() / sum }
    }

    /// The long-run error rate.
    #[must_use]
    pub fn error_rate(&self) -> f64 {
        let bad = self.bad_share();
        bad * self.bad.get() + (1.0 - bad) * self.good.get()
    }

    /// Returns the mean steps of a visit to the bad state; infinite if `r` is 0.
    #[must_use]
    pub fn mean_burst(&self) -> f64 {
        1.0 / self.r.get()
    }
}

impl fmt::Display for GilbertElliott {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {} {}", self.p, self.r, self.bad, self.good)
    }
}

impl FromStr for GilbertElliott {
    type Err = ParseModelError;

    fn from_str(text: &str) -> Result<Self, ParseModelError> {
        let fail = |fix: String| ParseModelError::new("Gilbert-Elliott model", text, fix);
        let values: Vec<Probability> = text
            .split([' ', ',', '\t'])
            .filter(|word| !word.is_empty())
            .map(str::parse::<Probability>)
            .collect::<Result<_, ParseUnitError>>()
            .map_err(|error| fail(error.to_string()))?;
        let (p, rest) = match values.split_first() {
            Some((p, rest)) if rest.len() <= 3 => (*p, rest),
            _ => return Err(fail("write 1 to 4 probabilities p r 1-h 1-k, such as 1% 10%".into())),
        };
        let reverse = Probability::new(1.0 - p.get()).unwrap_or(Probability::ZERO);
        Ok(Self {
            p,
            r: rest.first().copied().unwrap_or(reverse),
            bad: rest.get(1).copied().unwrap_or(Probability::ONE),
            good: rest.get(2).copied().unwrap_or(Probability::ZERO),
        })
    }
}

/// A chain at work.
#[derive(Clone, Debug)]
pub(super) struct Chain {
    model: GilbertElliott,
    is_bad: bool,
    /// Errors in the good and in the bad state.
    errors: [Gaps; 2],
    /// The durations of the good and the bad state, less the first step.
    stays: [Gaps; 2],
}

impl Chain {
    pub(super) fn new(model: GilbertElliott, stream: &mut Stream) -> Self {
        let start = Probability::new(model.bad_share()).unwrap_or(Probability::ZERO);
        Self {
            is_bad: stream.chance(start),
            errors: [Gaps::new(model.good), Gaps::new(model.bad)],
            stays: [Gaps::new(model.p), Gaps::new(model.r)],
            model,
        }
    }

    /// Continues in the state that a chain with other probabilities was in.
    pub(super) fn continue_from(&mut self, before: &Self) {
        self.is_bad = before.is_bad;
    }

    /// One step per frame; an error loses it.
    pub(super) fn strike_frame(&mut self, stream: &mut Stream, damage: &mut FrameDamage) {
        let (error, change) = if self.is_bad {
            (self.model.bad, self.model.r)
        } else {
            (self.model.good, self.model.p)
        };
        damage.lost |= stream.chance(error);
        self.is_bad ^= stream.chance(change);
    }

    /// One step per exposed bit; an error inverts it.
    pub(super) fn strike_bits(
        &mut self,
        stream: &mut Stream,
        target: &Target,
        damage: &mut FrameDamage,
    ) {
        let mut start = 0;
        while start < target.bits {
            let state = usize::from(self.is_bad);
            // The length of a stay is memoryless, so each frame may draw it again.
            let left = u64::from(target.bits - start);
            let stay = self.stays[state].draw(stream).map_or(u64::MAX, |gap| gap.saturating_add(1));
            let length = stay.min(left) as u32;
            self.errors[state].apply(stream, length, |i| damage.positions.push(start + i));
            // A stay that ends with the frame has changed the state for the next one.
            if stay <= left {
                self.is_bad = !self.is_bad;
            }
            start += length;
        }
    }
}
