//! When to try the strongest parity while whole frames fail.
//!
//! A frame whose blocks all failed shows only that its parity was too weak. One with the strongest
//! parity shows what such blocks need, if any code saves them. While everything is lost it costs
//! nothing. But after the damage has ended it carries little, and so do its followers while reports
//! are in flight. So single frames are trials: the longer they are relative to the failing ones,
//! the rarer. Each trial that saves nothing, or leaves the best level unchanged, delays the next
//! one.

use windfall_wire_link::coded::{BLOCK_CHECK, Fate, Level, MAX_BLOCKS};

/// Frames that fail before a trial: at first, and at most.
const PACE: [u32; 2] = [8, 64];

/// The share that a frame which carried `bytes` took of the air time of a trial in its place, where
/// a frame of some bytes takes `time`.
pub(super) fn of_trial(used: Level, bytes: usize, time: impl Fn(usize) -> f64) -> f64 {
    let sent = |level: Level| {
        let blocks = bytes.div_ceil(level.data()).clamp(1, MAX_BLOCKS);
        time(bytes.min(blocks * level.data()) + blocks * (BLOCK_CHECK + level.parity()))
    };
    (sent(used) / sent(Level::STRONGEST)).min(1.0)
}

/// When a frame with the strongest parity is due.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trials {
    /// Frames that failed since the last trial, in the air time of a trial in their place.
    failed: f64,
    /// The level of the last one.
    level: Level,
    /// Frames that fail before the next trial.
    pace: u32,
    /// A trial was made whose outcome is open.
    is_open: bool,
}

impl Default for Trials {
    fn default() -> Self {
        Self { failed: 0.0, level: Level::NONE, pace: PACE[0], is_open: false }
    }
}

impl Trials {
    /// Learns from a reported frame that had blocks of level `used` and took this share of the air
    /// time of a trial in its place; `changes` says that another level is the best by what it
    /// tells.
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

    /// Tells whether a block was saved that would have failed at the last failed frame's level.
    fn is_saved(&self, fate: Fate) -> bool {
        matches!(fate, Fate::Good(errors) if usize::from(errors) > self.level.correctable())
    }

    /// Tells whether the next frame is a trial; if so, the count restarts.
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
