//! Loss of frames by a chain of four states, as netem's `loss state` has it.

use core::fmt;
use core::str::FromStr;

use std::sync::Arc;

use windfall_base::{Probability, Stream};

use super::chance::probabilities;
use super::error::ParseModelError;
use super::{ErrorModel, ErrorModelKind, ErrorProcess, FrameDamage};

/// Losses by a chain of four states.
pub(super) const LOSS_STATES: ErrorModelKind = ErrorModelKind {
    name: "loss-state",
    help: "Frames lost by a chain of four states as in netem: \"p13 p31 p32 p23 p14\", all but the \
           first of which may be left out",
    detail: "",
    value: "MODEL",
    parameters: "chain of states",
    example: "1% 25% 10% 50% 0.1%",
    only_loses: true,
    parse: |text| Ok(Arc::new(text.parse::<LossStates>()?)),
};

/// A chain of four states that takes a step with each frame: gaps between bursts, with single
/// losses, and bursts, with single frames that arrive.
///
/// The text form is that of netem's `loss state`: `p13 [p31 [p32 [p23 [p14]]]]`. State 1 is a gap,
/// in which frames arrive; 4 a single loss in a gap, after which the gap goes on; 3 a burst, in
/// which frames are lost; 2 frames that arrive within a burst. Without further values p31 is
/// 1 − p13, p32 is 0, p23 is 1 and p14 is 0. The chain starts in state 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LossStates {
    /// From a gap to a burst.
    pub p13: Probability,
    /// From a burst to a gap.
    pub p31: Probability,
    /// From a loss of a burst to frames that arrive within it.
    pub p32: Probability,
    /// From these back to losses.
    pub p23: Probability,
    /// From a gap to a single loss.
    pub p14: Probability,
}

impl LossStates {
    /// Returns the long-run share of lost frames; `None` if it depends on chance.
    #[must_use]
    pub fn loss_rate(&self) -> Option<f64> {
        let [p13, p31, p32, p23, p14] = self.values().map(Probability::get);
        let all = p13 * p23 + p23 * p31 + p14 * p23 * p31 + p13 * p32;
        (all > 0.0).then(|| (p13 * p23 + p14 * p23 * p31) / all)
    }

    const fn values(&self) -> [Probability; 5] {
        [self.p13, self.p31, self.p32, self.p23, self.p14]
    }
}

impl fmt::Display for LossStates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [p13, p31, p32, p23, p14] = self.values();
        write!(f, "{p13} {p31} {p32} {p23} {p14}")
    }
}

impl FromStr for LossStates {
    type Err = ParseModelError;

    fn from_str(text: &str) -> Result<Self, ParseModelError> {
        const KIND: &str = "chain of loss states";
        let fix = "write 1 to 5 probabilities p13 p31 p32 p23 p14, such as 1% 90% 5% 20% 0.1%";
        let values = probabilities(text, KIND, fix)?;
        let (p13, rest) = match values.split_first() {
            Some((p13, rest)) if rest.len() <= 4 => (*p13, rest),
            _ => return Err(ParseModelError::new(KIND, text, fix.to_owned())),
        };
        let or = |at: usize, default| rest.get(at).copied().unwrap_or(default);
        let back = Probability::new(1.0 - p13.get()).unwrap_or(Probability::ZERO);
        let states = Self {
            p13,
            p31: or(0, back),
            p32: or(1, Probability::ZERO),
            p23: or(2, Probability::ONE),
            p14: or(3, Probability::ZERO),
        };
        for (names, a, b) in [("p13 + p14", p13, states.p14), ("p31 + p32", states.p31, states.p32)]
        {
            if a.get() + b.get() > 1.0 {
                let fix = format!("{names} is {}: it must be 1 at most", a.get() + b.get());
                return Err(ParseModelError::new(KIND, text, fix));
            }
        }
        Ok(states)
    }
}

impl ErrorModel for LossStates {
    fn start(&self, _: &mut Stream) -> Box<dyn ErrorProcess> {
        Box::new(LossChain { states: *self, place: Place::Gap })
    }
}

/// A state of the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Gap,
    ArrivalsInBurst,
    Burst,
    LossInGap,
}

/// A chain at work.
#[derive(Clone, Debug)]
struct LossChain {
    states: LossStates,
    place: Place,
}

impl ErrorProcess for LossChain {
    /// One step per frame; a state of losses loses it.
    fn apply(&mut self, _: u32, draw: &mut Stream, damage: &mut FrameDamage) {
        let [p13, p31, p32, p23, p14] = self.states.values().map(Probability::get);
        let drawn = draw.unit();
        self.place = match self.place {
            Place::Gap if drawn < p14 => Place::LossInGap,
            Place::Gap if drawn < p14 + p13 => Place::Burst,
            Place::Gap | Place::LossInGap => Place::Gap,
            Place::ArrivalsInBurst if drawn < p23 => Place::Burst,
            Place::ArrivalsInBurst => Place::ArrivalsInBurst,
            Place::Burst if drawn < p32 => Place::ArrivalsInBurst,
            Place::Burst if drawn < p32 + p31 => Place::Gap,
            Place::Burst => Place::Burst,
        };
        if matches!(self.place, Place::Burst | Place::LossInGap) {
            damage.lose();
        }
    }

    fn continue_from(&mut self, before: &dyn ErrorProcess) {
        if let Some(before) = before.as_any().downcast_ref::<Self>() {
            self.place = before.place;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use windfall_base::Seed;

    fn losses(text: &str, count: u64) -> Vec<bool> {
        let mut stream = Stream::new(Seed(3), "states");
        let mut chain = text.parse::<LossStates>().expect("a chain").start(&mut stream);
        let mut next = || {
            let mut damage = FrameDamage::default();
            chain.apply(0, &mut stream, &mut damage);
            damage.is_lost()
        };
        (0..count).map(|_| next()).collect()
    }

    #[test]
    fn the_loss_rate_is_that_of_the_stationary_distribution() {
        for text in ["1%", "1% 50%", "1% 30% 20% 60%", "2% 30% 20% 60% 3%"] {
            let states: LossStates = text.parse().expect("a chain");
            let count = 1_000_000;
            let lost = losses(text, count).into_iter().filter(|lost| *lost).count();
            let (found, expected) =
                (lost as f64 / count as f64, states.loss_rate().expect("it is fixed"));
            // Losses come in bursts of up to some ten, which widens the deviation fourfold at most.
            let tolerance = 16.0 * (expected / count as f64).sqrt();
            assert!((found - expected).abs() < tolerance, "{text}: {found} {expected}");
        }
    }

    #[test]
    fn a_chain_that_no_step_leaves_has_no_loss_rate() {
        // Which of the states 1 and 3 it stays in depends on where it starts.
        let states: LossStates = "0 0".parse().expect("a chain");
        assert_eq!(states.loss_rate(), None);
        let states: LossStates = "0 1".parse().expect("a chain");
        assert_eq!(states.loss_rate(), Some(0.0));
    }

    #[test]
    fn bursts_have_the_mean_length_of_their_state() {
        let losses = losses("1% 25%", 1_000_000);
        let bursts = losses.windows(2).filter(|it| !it[0] && it[1]).count();
        let mean = losses.iter().filter(|lost| **lost).count() as f64 / bursts as f64;
        assert!((mean - 4.0).abs() < 0.15, "{mean}");
    }

    #[test]
    fn its_text_reads_back_with_the_defaults_of_netem() {
        let text = |text: &str| text.parse::<LossStates>().expect("a chain").to_string();
        assert_eq!(text("1%"), "0.01 0.99 0 1 0");
        assert_eq!(text("0.01 0.5 0.2 0.6 0.03"), "0.01 0.5 0.2 0.6 0.03");
        for wrong in ["", "1% 2% 3% 4% 5% 6%", "2", "60% 10% 0 1 50%", "1% 60% 50%", "x"] {
            let error = wrong.parse::<LossStates>().expect_err(wrong).to_string();
            assert!(error.contains("p13") || error.contains("p31 + p32"), "{error}");
        }
    }
}
