//! How much more parity a failed block would have needed.
//!
//! A block that failed says only that what it had was too little. One that was corrected says that
//! what it had sufficed, and by how much. So of each level is learned how often it saves what the
//! level below does not; only blocks that had at least that much parity tell. A failure that no
//! level was seen to save counts for none, and is no reason for parity.

use windfall_wire_link::coded::{Fate, Level};

/// What each level is taken to save before anything was seen, of what the one below does not.
const PRIOR: f64 = 0.6;
/// The weight of one block.
const MEMORY: f64 = 0.2;
/// By how much what is known of a level fades with each failure that had less than it, so that
/// stronger levels are tried now and then where much fails.
const FADE: f64 = 0.02;

/// What each level saves of what the level below it does not.
#[derive(Clone, Copy, Debug)]
pub(super) struct Beyond([f64; 8]);

impl Default for Beyond {
    fn default() -> Self {
        Self([PRIOR; 8])
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
            Fate::Failed | Fate::Damaged => (None, used),
            Fate::Missing => return,
        };
        for level in Level::all().skip(1) {
            let share = &mut self.0[level.index()];
            if level <= tried {
                let saved = f64::from(u8::from(enough == Some(level)));
                *share += MEMORY * (saved - *share);
            } else if enough.is_none() {
                *share += FADE * (PRIOR - *share);
            }
        }
    }

    /// Of blocks that failed at `used`, the share that needed each further level; what no level is
    /// known to save is in none.
    pub(super) fn spread(&self, used: Level) -> [f64; 8] {
        let mut needed = [0.0; 8];
        let mut left = 1.0;
        for level in Level::all().filter(|level| *level > used) {
            needed[level.index()] = left * self.0[level.index()];
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
        Fate::Failed | Fate::Damaged => Some(beyond.spread(used)),
        Fate::Missing => None,
    }
}

/// Moves a distribution towards another.
pub(super) fn approach(distribution: &mut [f64; 8], seen: &[f64; 8], weight: f64) {
    for (known, seen) in distribution.iter_mut().zip(seen) {
        *known += weight * (seen - *known);
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
        // Of what the level below does not save, each saves 0.6 at first; a block weighs a fifth.
        let mut beyond = Beyond::default();
        shares(&beyond, [0.6, 0.6, 0.6]);
        beyond.learn(Level::STRONGEST, Fate::Good(9));
        assert_eq!(Level::correcting(9).index(), 2);
        shares(&beyond, [0.48, 0.68, 0.6]);
        beyond.learn(Level::LIGHT, Fate::Failed);
        // What had less parity lets the stronger levels return to 0.6, by a fiftieth.
        shares(&beyond, [0.384, 0.68 - 0.02 * 0.08, 0.6]);
        beyond.learn(Level::STRONGEST, Fate::Missing);
        shares(&beyond, [0.384, 0.68 - 0.02 * 0.08, 0.6]);
    }
}
