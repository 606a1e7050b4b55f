//! Estimates of the additional parity that a failed block would have needed.
//!
//! The data are censored. A failed block shows only that its parity was too weak, while a corrected
//! block shows the level that it needed. So each level has an estimate of the share of blocks that
//! it saves among those that the next lower level does not. Only blocks with at least that much
//! parity count. Failures that no level is known to save do not count, and are no reason for
//! parity.
//!
//! A level that is not in use must be probed now and then, because the channel may change. If most
//! failures are beyond any code, probes would waste air time. So each probe that saves nothing
//! delays the next one, and each saved block brings it forward.

use windfall_wire_link::coded::{Fate, Level};

/// The prior share of blocks that each level saves among those that the next lower level does not.
const PRIOR: f64 = 0.6;
/// The weight of the prior, in blocks.
const PRIOR_BLOCKS: f64 = 4.0;
/// The minimum weight of a new block.
const MEMORY: f64 = 0.05;
/// The decay of the observations of a level after each failure with less parity, initially and at
/// least. The decay lets stronger levels be probed now and then if many blocks fail.
const FADE: [f64; 2] = [0.004, 0.004 / 64.0];
/// The factor of the decay after a block that the level did not save.
const BACK_OFF: f64 = 0.8;
/// The factor of the decay after a block that the level saved. One saved block in ten keeps the
/// balance.
const SAVED: f64 = 8.0;

/// The minimum share of failed blocks that stronger levels must save, for a failed frame to count.
const HOPE: f64 = 0.5;

/// The statistics of one level.
#[derive(Clone, Copy, Debug)]
struct Known {
    /// The share of blocks that the level saves among those that the next lower level does not.
    share: f64,
    /// The number of blocks on which this estimate is based.
    blocks: f64,
    /// The decay of the observations.
    fade: f64,
}

/// For each level, the share of blocks that it saves among those that the next lower level does
/// not.
#[derive(Clone, Copy, Debug)]
pub(super) struct Beyond([Known; 8]);

impl Default for Beyond {
    fn default() -> Self {
        Self([Known { share: PRIOR, blocks: 0.0, fade: FADE[0] }; 8])
    }
}

impl Beyond {
    /// Records one block; `used` is its level.
    pub(super) fn learn(&mut self, used: Level, fate: Fate) {
        let (enough, tried) = match fate {
            Fate::Good(corrected) => {
                let needed = Level::correcting(usize::from(corrected));
                (Some(needed), needed)
            }
            Fate::Failed | Fate::Combined | Fate::Damaged => (None, used),
            Fate::Missing => return,
        };
        for level in Level::all().skip(1) {
            let known = &mut self.0[level.index()];
            if level <= tried {
                let saved = enough == Some(level);
                known.blocks += 1.0;
                let weight = (1.0 / (known.blocks + PRIOR_BLOCKS)).max(MEMORY);
                known.share += weight * (f64::from(u8::from(saved)) - known.share);
                if saved {
                    known.fade = (SAVED * known.fade).min(FADE[0]);
                } else if enough.is_none() {
                    known.fade = (BACK_OFF * known.fade).max(FADE[1]);
                }
            } else if enough.is_none() {
                known.share += known.fade * (PRIOR - known.share);
            }
        }
    }

    /// Returns `true` if a frame was destroyed: all blocks failed, and almost no level is known to
    /// save such blocks. Such a frame is not used for the estimates.
    pub(super) fn is_destroyed(&self, used: Level, fates: &[Fate]) -> bool {
        fates.iter().all(|fate| matches!(fate, Fate::Failed | Fate::Damaged))
            && self.spread(used).iter().sum::<f64>() < HOPE
    }

    /// Returns the distribution of the levels that blocks needed which failed at `used`. Blocks
    /// that no level saves are in no entry, so the sum may be less than 1.
    pub(super) fn spread(&self, used: Level) -> [f64; 8] {
        let mut needed = [0.0; 8];
        let mut left = 1.0;
        for level in Level::all().filter(|level| *level > used) {
            needed[level.index()] = left * self.0[level.index()].share;
            left -= needed[level.index()];
        }
        needed
    }
}

/// Returns the distribution of the levels that one reported block needed; `None` if the block was
/// truncated.
pub(super) fn need(fate: Fate, used: Level, beyond: &Beyond) -> Option<[f64; 8]> {
    match fate {
        Fate::Good(corrected) => {
            let mut needed = [0.0; 8];
            needed[Level::correcting(usize::from(corrected)).index()] = 1.0;
            Some(needed)
        }
        Fate::Failed | Fate::Combined | Fate::Damaged => Some(beyond.spread(used)),
        Fate::Missing => None,
    }
}

/// Moves a distribution over levels towards the need of a block.
///
/// A block that no level saves is ignored: the levels are compared by the blocks that can be saved.
pub(super) fn approach(distribution: &mut [f64; 8], seen: &[f64; 8], weight: f64) {
    let mass: f64 = seen.iter().sum();
    for (known, seen) in distribution.iter_mut().zip(seen) {
        *known += weight * (seen - mass * *known);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(beyond: &Beyond, expected: [f64; 3]) {
        let mut left = 1.0;
        let spread = beyond.spread(Level::NONE);
        for (level, expected) in (1..).zip(expected) {
            assert!((spread[level] - left * expected).abs() < 1e-12, "{level}: {spread:?}");
            left -= spread[level];
        }
    }

    #[test]
    fn what_a_level_saves_is_learned_from_blocks_that_had_as_much_parity() {
        // Of what the level below does not save, each saves 0.6 at first, as if of four blocks.
        let mut beyond = Beyond::default();
        shares(&beyond, [0.6, 0.6, 0.6]);
        beyond.learn(Level::STRONGEST, Fate::Good(9));
        assert_eq!(Level::correcting(9).index(), 2);
        shares(&beyond, [0.48, 0.68, 0.6]);
        beyond.learn(Level::LIGHT, Fate::Failed);
        // What had less parity lets the stronger levels return to 0.6, by one in 250.
        shares(&beyond, [0.4, 0.68 - 0.004 * 0.08, 0.6]);
        beyond.learn(Level::STRONGEST, Fate::Missing);
        shares(&beyond, [0.4, 0.68 - 0.004 * 0.08, 0.6]);
    }

    #[test]
    fn what_a_level_saves_follows_about_the_last_twenty_blocks() {
        let mut beyond = Beyond::default();
        (0..200).for_each(|_| beyond.learn(Level::LIGHT, Fate::Failed));
        let before = beyond.spread(Level::NONE)[1];
        beyond.learn(Level::LIGHT, Fate::Good(1));
        let after = beyond.spread(Level::NONE)[1];
        assert!((after - (before + 0.05 * (1.0 - before))).abs() < 1e-12, "{before} {after}");
    }

    #[test]
    fn a_block_that_no_level_saves_does_not_change_how_levels_compare() {
        let mut needs = [0.5, 0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
        approach(&mut needs, &[0.0; 8], 0.1);
        assert_eq!(needs[..3], [0.5, 0.5, 0.0]);
        let mut seen = [0.0; 8];
        seen[2] = 0.5;
        approach(&mut needs, &seen, 0.1);
        let expected = [0.475, 0.475, 0.05];
        assert!(needs.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{needs:?}");
    }

    /// Counts the failures without parity until a tenth is expected of LIGHT.
    fn patience(beyond: &mut Beyond) -> usize {
        let mut failures = 0;
        while beyond.spread(Level::NONE)[Level::LIGHT.index()] < 0.1 {
            beyond.learn(Level::NONE, Fate::Failed);
            failures += 1;
        }
        failures
    }

    #[test]
    fn a_level_that_saves_nothing_is_tried_again_later_and_later() {
        let mut beyond = Beyond::default();
        let mut waits = Vec::new();
        for _ in 0..8 {
            (0..10).for_each(|_| beyond.learn(Level::LIGHT, Fate::Failed));
            waits.push(patience(&mut beyond));
        }
        assert!(waits[..3].is_sorted(), "{waits:?}");
        assert!(waits[2..].iter().all(|wait| (1_000..3_000).contains(wait)), "{waits:?}");
        // Where it does save blocks again it is tried as often as at first.
        (0..3).for_each(|_| beyond.learn(Level::LIGHT, Fate::Good(4)));
        (0..20).for_each(|_| beyond.learn(Level::STRONGEST, Fate::Good(99)));
        assert!(patience(&mut beyond) < 20);
    }
}
