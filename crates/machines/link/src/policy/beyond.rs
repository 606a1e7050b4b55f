//! How much more parity a failed block would have needed.
//!
//! A failed block shows only that its parity was too little. A corrected one shows that its parity
//! sufficed, and by how much. So the estimate for each level is how often it saves blocks that the
//! level below does not; only blocks that had at least that much parity count. A failure that no
//! level was seen to save counts for none, and is no reason for parity.
//!
//! A level that is not in use must be probed now and then, because the air may change. If most
//! failures are beyond any code, probes would cost in proportion to them. So each probe that saves
//! nothing delays the next one, and each block saved brings it forward.

use windfall_wire_link::coded::{Fate, Level};

/// The initial share that each level saves of the blocks that the one below does not.
const PRIOR: f64 = 0.6;
/// The number of blocks that weighs as much as that.
const PRIOR_BLOCKS: f64 = 4.0;
/// The least weight of one block.
const MEMORY: f64 = 0.05;
/// By how much what is known of a level fades with each failure that had less than it, so that
/// stronger levels are tried now and then where much fails: at first, and at least.
const FADE: [f64; 2] = [0.004, 0.004 / 64.0];
/// The factor of the fading after a block that a level did not save.
const BACK_OFF: f64 = 0.8;
/// The factor of the fading after a block that it saved: one of ten keeps the balance.
const SAVED: f64 = 8.0;

/// The share that stronger levels must save of failed blocks for a failed frame to count.
const HOPE: f64 = 0.5;

/// The statistics of a level.
#[derive(Clone, Copy, Debug)]
struct Known {
    /// The share that it saves of the blocks that the level below it does not.
    share: f64,
    /// Blocks that this estimate is based on.
    blocks: f64,
    /// The rate at which the counts decay.
    fade: f64,
}

/// The share that each level saves of the blocks that the level below it does not.
#[derive(Clone, Copy, Debug)]
pub(super) struct Beyond([Known; 8]);

impl Default for Beyond {
    fn default() -> Self {
        Self([Known { share: PRIOR, blocks: 0.0, fade: FADE[0] }; 8])
    }
}

impl Beyond {
    /// Learns from one block; `used` is the level that it had.
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

    /// Tells whether a frame was destroyed: all blocks failed, and hardly a level is known to save
    /// such blocks. It teaches nothing about what others need.
    pub(super) fn is_destroyed(&self, used: Level, fates: &[Fate]) -> bool {
        fates.iter().all(|fate| matches!(fate, Fate::Failed | Fate::Damaged))
            && self.spread(used).iter().sum::<f64>() < HOPE
    }

    /// Of blocks that failed at `used`, the share that needed each further level; what no level is
    /// known to save is in none.
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

/// The distribution over levels that one reported block stands for; `None` if it was cut off.
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

/// Moves a distribution over levels towards what a block needed.
///
/// A block that no level saves has no say: the levels are compared by what they bring of the blocks
/// that can be saved.
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
