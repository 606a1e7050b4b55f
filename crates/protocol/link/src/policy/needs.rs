//! What blocks need, by estimates of which those count most that foretold best.
//!
//! A quick estimate follows spells, and takes chance for a change where there is none; a slow one
//! does neither. Which of them foretells the next blocks better shows: the logarithm of the chance
//! that each gave to what came is its evidence.

use windfall_wire_link::coded::{Fate, Level};

/// The share of the evidence that counts after one more frame.
const MEMORY: f64 = 0.99;
/// The most by which the evidence of one estimate may exceed that of another, as a logarithm.
const CERTAIN: f64 = 4.0;
/// The least chance that an estimate is taken to have given to anything.
const LEAST: f64 = 0.02;

/// The evidence of estimates.
#[derive(Clone, Copy, Debug)]
pub(super) struct Evidence<const N: usize>([f64; N]);

impl<const N: usize> Default for Evidence<N> {
    fn default() -> Self {
        Self([0.0; N])
    }
}

impl<const N: usize> Evidence<N> {
    /// Weighs the estimates by the blocks of a frame that had level `used`. Those of one frame are
    /// damaged together: they count as one.
    pub(super) fn learn(&mut self, estimates: &[[f64; 8]; N], used: Level, fates: &[Fate]) {
        let told = fates.iter().filter(|fate| !matches!(fate, Fate::Missing)).count();
        for (evidence, estimate) in self.0.iter_mut().zip(estimates) {
            let sum: f64 = fates.iter().filter_map(|fate| chance(estimate, used, *fate)).sum();
            *evidence = MEMORY * *evidence + sum / told.max(1) as f64;
        }
        let most = self.0.iter().copied().fold(f64::MIN, f64::max);
        self.0.iter_mut().for_each(|it| *it = (*it - most).max(-CERTAIN));
    }

    /// The mean of the estimates by their evidence.
    pub(super) fn mean(&self, estimates: &[[f64; 8]; N]) -> [f64; 8] {
        let weights = self.0.map(f64::exp);
        let all: f64 = weights.iter().sum();
        core::array::from_fn(|level| {
            let sum: f64 = weights.iter().zip(estimates).map(|(it, of)| it * of[level]).sum();
            sum / all
        })
    }
}

/// The logarithm of the chance that an estimate gives to a block's fate.
fn chance(estimate: &[f64; 8], used: Level, fate: Fate) -> Option<f64> {
    let all: f64 = estimate.iter().sum();
    let chance = match fate {
        Fate::Good(corrected) => estimate[Level::correcting(usize::from(corrected)).index()],
        Fate::Failed | Fate::Combined | Fate::Damaged => estimate[used.index() + 1..].iter().sum(),
        Fate::Missing => return None,
    };
    Some((chance / all.max(LEAST)).clamp(LEAST, 1.0).ln())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Estimates that need no parity of nine in ten, of half and of one in ten blocks, else the
    /// strongest.
    fn estimates() -> [[f64; 8]; 3] {
        [0.9, 0.5, 0.1].map(|none| {
            let mut needs = [0.0; 8];
            (needs[0], needs[7]) = (none, 1.0 - none);
            needs
        })
    }

    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-12, "{found}, not {expected}");
    }

    #[test]
    fn estimates_count_by_the_chance_that_they_gave_to_what_came() {
        let mut evidence = Evidence::default();
        close(evidence.mean(&estimates())[0], 0.5);
        evidence.learn(&estimates(), Level::NONE, &[Fate::Good(0)]);
        close(evidence.mean(&estimates())[0], (0.81 + 0.25 + 0.01) / 1.5);
        // A failure needed more than what it had; five of one frame count as one.
        let mut evidence = Evidence::default();
        evidence.learn(&estimates(), Level::ROBUST, &[Fate::Failed; 5]);
        close(evidence.mean(&estimates())[0], (0.09 + 0.25 + 0.09) / 1.5);
        // What was cut off tells nothing.
        let before = evidence.mean(&estimates());
        evidence.learn(&estimates(), Level::NONE, &[Fate::Missing]);
        assert!((evidence.mean(&estimates())[0] - before[0]).abs() < 0.01);
    }

    #[test]
    fn no_estimate_is_out_of_the_question_for_good() {
        let mut evidence = Evidence::default();
        (0..10_000).for_each(|_| evidence.learn(&estimates(), Level::NONE, &[Fate::Good(0)]));
        assert!(evidence.mean(&estimates())[0] > 0.87);
        // Three frames turn it.
        (0..3).for_each(|_| evidence.learn(&estimates(), Level::NONE, &[Fate::Failed]));
        assert!(evidence.mean(&estimates())[0] < 0.5, "{evidence:?}");
    }
}
