//! Estimates of the parity that blocks need, weighted by their past predictions.
//!
//! A fast estimate follows changes but also noise. A slow estimate follows neither. The evidence of
//! an estimate is the log-likelihood of the outcomes, which shows the better predictor.

use arrayvec::ArrayVec;
use windfall_wire_link::coded::{BLOCK, BLOCK_CHECK, Fate, Level, MAX_BLOCKS};

/// The weight of the earlier evidence after a new frame.
const MEMORY: f64 = 0.99;
/// The maximum difference between the evidence of two estimates, as a logarithm.
const CERTAIN: f64 = 4.0;
/// The minimum probability that an estimate assigns to any outcome.
const LEAST: f64 = 0.02;

/// The evidence of several estimates.
#[derive(Clone, Copy, Debug)]
pub(super) struct Evidence<const N: usize>([f64; N]);

impl<const N: usize> Default for Evidence<N> {
    fn default() -> Self {
        Self([0.0; N])
    }
}

impl<const N: usize> Evidence<N> {
    /// Updates the evidence by the blocks of a frame with level `used`. The blocks of one frame are
    /// damaged together, so they count as one observation.
    pub(super) fn learn(&mut self, estimates: &[[f64; 8]; N], used: Level, fates: &[Fate]) {
        let told = fates.iter().filter(|fate| !matches!(fate, Fate::Missing)).count();
        for (evidence, estimate) in self.0.iter_mut().zip(estimates) {
            let sum: f64 = fates.iter().filter_map(|fate| chance(estimate, used, *fate)).sum();
            *evidence = MEMORY * *evidence + sum / told.max(1) as f64;
        }
        let most = self.0.iter().copied().fold(f64::MIN, f64::max);
        self.0.iter_mut().for_each(|it| *it = (*it - most).max(-CERTAIN));
    }

    /// Returns the mean of the estimates, weighted by their evidence.
    pub(super) fn mean(&self, estimates: &[[f64; 8]; N]) -> [f64; 8] {
        let weights = self.0.map(f64::exp);
        let all: f64 = weights.iter().sum();
        core::array::from_fn(|level| {
            let sum: f64 = weights.iter().zip(estimates).map(|(it, of)| it * of[level]).sum();
            sum / all
        })
    }
}

/// Returns the level that corrects the same share of a whole block as this level does of a block of
/// `len` bytes.
fn of_whole(level: Level, len: usize) -> Level {
    let holds = |it: &Level| it.correctable() * len <= level.correctable() * BLOCK;
    Level::all().rev().find(holds).unwrap_or(Level::NONE)
}

/// The outcomes of a frame's blocks, converted to whole blocks. A short block that is alone in its
/// frame is converted to a whole block with the same share of damage.
#[derive(Clone, Debug)]
pub(super) struct Told {
    /// The parity of these blocks.
    pub(super) level: Level,
    pub(super) fates: ArrayVec<Fate, MAX_BLOCKS>,
    /// The length of a block, as a share of a whole one.
    part: f64,
}

impl Told {
    /// Converts the outcomes of blocks of level `used`, which carried `bytes`.
    pub(super) fn of(used: Level, fates: &[Fate], bytes: usize) -> Self {
        let len = bytes + BLOCK_CHECK + used.parity();
        match fates {
            [fate] if len < BLOCK => {
                let level = of_whole(used, len);
                let fate = match fate {
                    Fate::Good(errors) => {
                        let errors = usize::from(*errors) * BLOCK / len;
                        Fate::Good(errors.min(level.correctable()) as u8)
                    }
                    other => *other,
                };
                let part = len as f64 / BLOCK as f64;
                Self { level, fates: [fate].into_iter().collect(), part }
            }
            _ => Self { level: used, fates: fates.iter().copied().collect(), part: 1.0 },
        }
    }

    /// Returns the weight of a block: an undamaged short block shows less than a whole one.
    pub(super) fn weight(&self, fate: Fate) -> f64 {
        if fate == Fate::Good(0) { self.part } else { 1.0 }
    }
}

/// Returns the probability that a block of `len` bytes can be corrected at a level.
pub(super) fn survival(needs: &[f64; 8], level: Level, len: usize) -> f64 {
    let part = (len as f64 / BLOCK as f64).min(1.0);
    let damaged = 1.0 - needs[0];
    // Longer blocks are damaged more often.
    let clean = needs[0] / (needs[0] + part * damaged).max(LEAST);
    let mended: f64 = needs[1..=of_whole(level, len).index()].iter().sum();
    if damaged < LEAST * LEAST { clean } else { clean + (1.0 - clean) * mended / damaged }
}

/// Returns the logarithm of the probability that an estimate assigns to the outcome of a block.
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
    fn short_blocks_tell_of_whole_ones_by_the_part_that_is_damaged() {
        // Of a block of 94 + 2 + 50 bytes 20 are wrong: as 34 of 255.
        let level = Level::correcting(25);
        let told = Told::of(level, &[Fate::Good(20)], 94);
        assert_eq!(told.fates[..], [Fate::Good(34)]);
        // The 25 that it corrects are as 43 of 255: a whole block has parity for 37.
        assert_eq!(told.level, Level::correcting(37));
        close(told.weight(told.fates[0]), 1.0);
        let clean = Told::of(level, &[Fate::Good(0)], 94);
        close(clean.weight(clean.fates[0]), 146.0 / 255.0);
        // Whole blocks and those of longer frames tell of themselves.
        for (fates, bytes) in [(&[Fate::Good(20)][..], 203), (&[Fate::Good(20); 2][..], 250)] {
            let told = Told::of(level, fates, bytes);
            assert_eq!((told.level, &told.fates[..]), (level, fates));
        }
    }

    #[test]
    fn a_short_block_is_damaged_less_often_and_its_parity_mends_more() {
        let [needs, _, _] = estimates();
        let mut needs = needs;
        (needs[0], needs[3], needs[7]) = (0.5, 0.3, 0.2);
        let level = Level::correcting(13);
        close(survival(&needs, level, BLOCK), 0.5);
        // Half as long: the odds of damage are half of one to one, and 13 errors are as 26 of 255.
        close(survival(&needs, level, 127), 1.0 - 0.4 * (127.0 / 255.0 / (1.0 + 127.0 / 255.0)));
        close(survival(&needs, Level::STRONGEST, BLOCK), 1.0);
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
