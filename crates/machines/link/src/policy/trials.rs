//! The schedule of probes with the strongest parity while whole frames fail.
//!
//! If all blocks of a frame fail, its parity was too weak, but the sufficient level is unknown. A
//! probe with the strongest parity reveals that level, if any code suffices. While everything is
//! lost, a probe costs nothing. After the damage has ended it carries little data, and so do the
//! following frames until reports arrive. So probes are single frames, and they are rarer if they
//! are longer than the failing frames. A probe that saves nothing, or does not change the best
//! level, delays the next one.

use windfall_wire_link::coded::{BLOCK_CHECK, Fate, Level, MAX_BLOCKS};

/// The number of failed frames before a probe: initially, and at most.
const PACE: [u32; 2] = [8, 64];

/// Returns the air time of a frame with `bytes` at level `used`, as a share of the air time of a
/// probe. `time` returns the air time of a frame with some bytes.
pub(super) fn of_trial(used: Level, bytes: usize, time: impl Fn(usize) -> f64) -> f64 {
    let sent = |level: Level| {
        let blocks = bytes.div_ceil(level.data()).clamp(1, MAX_BLOCKS);
        time(bytes.min(blocks * level.data()) + blocks * (BLOCK_CHECK + level.parity()))
    };
    (sent(used) / sent(Level::STRONGEST)).min(1.0)
}

/// Decides when a probe is due.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trials {
    /// The air time of frames that failed since the last probe, in units of the probe's air time.
    failed: f64,
    /// The level of the last failed frame.
    level: Level,
    /// The number of failed frames before the next probe.
    pace: u32,
    /// A probe was sent whose outcome is unknown.
    is_open: bool,
}

impl Default for Trials {
    fn default() -> Self {
        Self { failed: 0.0, level: Level::NONE, pace: PACE[0], is_open: false }
    }
}

impl Trials {
    /// Records a reported frame with blocks of level `used`. `share` is its air time as a share of
    /// a probe's. `changes` is set if its report changes the best level.
    pub(super) fn learn(&mut self, used: Level, fates: &[Fate], changes: bool, share: f64) {
        let has_failed = !fates.is_empty() && fates.iter().all(|fate| *fate == Fate::Failed);
        if used < Level::STRONGEST {
            if has_failed {
                self.failed += share;
                self.level = used;
            }
        } else {
            let is_trial = core::mem::take(&mut self.is_open);
            let is_saved = fates.iter().any(|fate| self.is_saved(*fate));
            if is_saved && (changes || !is_trial) {
                self.pace = PACE[0];
            } else if is_saved || has_failed {
                self.pace = (2 * self.pace).min(PACE[1]);
            }
        }
    }

    /// Returns `true` if a block was saved that would have failed at the level of the last failed
    /// frame.
    fn is_saved(&self, fate: Fate) -> bool {
        matches!(fate, Fate::Good(errors) if usize::from(errors) > self.level.correctable())
    }

    /// Returns `true` if the next frame is a probe; if so, the count restarts.
    pub(super) fn is_due(&mut self) -> bool {
        let is_due = self.failed >= f64::from(self.pace);
        if is_due {
            (self.failed, self.is_open) = (0.0, true);
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts the frames that fail before the next trial is due.
    fn wait(trials: &mut Trials) -> u32 {
        let mut failed = 0;
        while !trials.is_due() {
            trials.learn(Level::LIGHT, &[Fate::Failed; 5], false, 1.0);
            failed += 1;
        }
        failed
    }

    #[test]
    fn each_trial_that_saves_nothing_makes_the_next_one_later() {
        let mut trials = Trials::default();
        for expected in [8, 16, 32, 64, 64] {
            assert_eq!(wait(&mut trials), expected);
            trials.learn(Level::STRONGEST, &[Fate::Failed; 5], false, 1.0);
        }
        // Blocks that needed no more than LIGHT say nothing about the failed ones.
        trials.learn(Level::STRONGEST, &[Fate::Good(6); 5], true, 1.0);
        assert_eq!(wait(&mut trials), 64);
        trials.learn(Level::STRONGEST, &[Fate::Good(6), Fate::Good(7)], true, 1.0);
        assert_eq!(wait(&mut trials), 8);
        // What is saved and changes nothing need not be found again so soon.
        trials.learn(Level::STRONGEST, &[Fate::Good(7); 5], false, 1.0);
        assert_eq!(wait(&mut trials), 16);
    }

    #[test]
    fn trials_take_the_same_share_of_the_air_whatever_the_length_of_packets() {
        let time = |bytes: usize| (60 + bytes) as f64;
        // Five blocks have 255 bytes each at every level.
        assert!((of_trial(Level::NONE, 5 * 253, time) - 1.0).abs() < 1e-12);
        // 94 bytes: one block of 96, or two with 199 bytes of parity each.
        let share = of_trial(Level::NONE, 94, time);
        assert!((share - 156.0 / (60.0 + 94.0 + 2.0 * 201.0)).abs() < 1e-12, "{share}");
        let mut trials = Trials::default();
        let mut failed = 0;
        while !trials.is_due() {
            trials.learn(Level::NONE, &[Fate::Failed], false, share);
            failed += 1;
        }
        assert_eq!(failed, 29);
    }

    #[test]
    fn only_frames_of_which_every_block_failed_count() {
        let mut trials = Trials::default();
        for fates in [&[][..], &[Fate::Failed, Fate::Good(0)], &[Fate::Failed, Fate::Missing]] {
            (0..100).for_each(|_| trials.learn(Level::LIGHT, fates, false, 1.0));
            assert!(!trials.is_due(), "{fates:?}");
        }
    }
}
