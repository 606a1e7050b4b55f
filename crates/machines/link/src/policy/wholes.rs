//! Estimates of the parity that a frame needs so that none of its blocks fails.
//!
//! The blocks of one frame are often damaged together. A frame of five blocks then fails hardly
//! more often than a frame of one, and parity that saves a block at the edge of a burst does not
//! save the frame. So a frame of several blocks is also counted as if it were one block, with the
//! need of its worst block.

use windfall_wire_link::coded::{Fate, Level};

use super::beyond::{Beyond, approach, need};
use super::estimate::Estimate;

/// The minimum weight of a new frame.
const MEMORY: f64 = 0.02;
/// The number of frames at which frames and blocks have equal weight in the estimate.
const PRIOR: f64 = 6.0;
/// The smallest probability that is distinguished from zero.
const LEAST: f64 = 0.001;

/// Estimates for frames of several blocks.
#[derive(Clone, Debug)]
pub(super) struct Wholes {
    /// For each level, the share of frames whose worst block needs exactly that level.
    needs: [f64; 8],
    beyond: Beyond,
    /// The share of frames that no level is known to save.
    hopeless: Estimate,
    /// The mean number of blocks in these frames.
    blocks: f64,
    seen: f64,
}

impl Default for Wholes {
    fn default() -> Self {
        let mut needs = [0.0; 8];
        needs[0] = 1.0;
        let hopeless = Estimate::default();
        Self { needs, beyond: Beyond::default(), hopeless, blocks: 2.0, seen: 0.0 }
    }
}

impl Wholes {
    /// Records a frame whose blocks had level `used`. Frames with one block and truncated frames
    /// are ignored.
    pub(super) fn learn(&mut self, used: Level, fates: &[Fate]) {
        if fates.len() < 2 || fates.iter().any(|fate| matches!(fate, Fate::Missing)) {
            return;
        }
        let worst = fates.iter().try_fold(0, |most: u8, fate| match fate {
            Fate::Good(corrected) => Some(most.max(*corrected)),
            _ => None,
        });
        let fate = worst.map_or(Fate::Failed, Fate::Good);
        self.beyond.learn(used, fate);
        let Some(seen) = need(fate, used, &self.beyond) else { return };
        self.seen += 1.0;
        let weight = (1.0 / (self.seen + 2.0)).max(MEMORY);
        self.blocks += weight * (fates.len() as f64 - self.blocks);
        approach(&mut self.needs, &seen, weight);
        self.hopeless.learn(1.0 - seen.iter().sum::<f64>());
    }

    /// Returns the probability that no block of a frame of `blocks` fails. `good` is the
    /// probability that one block does not fail if any level can save it, and `saved` is the
    /// probability that one can.
    pub(super) fn unharmed(&self, level: Level, blocks: f64, good: f64, saved: f64) -> f64 {
        let single = (saved * good).clamp(LEAST, 1.0);
        let apart = saved * good.powf(blocks);
        let known: f64 = self.needs[..=level.index()].iter().sum();
        let whole = ((1.0 - self.hopeless.value) * known).clamp(LEAST, 1.0);
        if self.seen < 1.0 || self.blocks < 1.5 || single > 1.0 - LEAST {
            return apart;
        }
        // Each further block adds this share of the failures that an independent block would add.
        let further = (whole.ln() / single.ln() - 1.0) / (self.blocks - 1.0);
        let together = single.powf(1.0 + further.clamp(0.0, 1.0) * (blocks - 1.0));
        let trust = self.seen / (self.seen + PRIOR);
        trust * together + (1.0 - trust) * apart
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_that_fail_together_make_long_frames_fail_no_more_often() {
        // Every third frame is damaged; of it one block lies at the edge, which parity saves.
        let mut wholes = Wholes::default();
        for turn in 0..600 {
            let fates = if turn % 3 == 0 {
                [Fate::Good(40), Fate::Failed, Fate::Failed, Fate::Failed]
            } else {
                [Fate::Good(0); 4]
            };
            wholes.learn(Level::STRONGEST, &fates);
        }
        let found = wholes.unharmed(Level::STRONGEST, 4.0, 1.0, 0.75);
        assert!((found - 2.0 / 3.0).abs() < 0.05, "{found}");
        // As blocks by themselves, without parity: 0.67 to the fourth.
        let found = wholes.unharmed(Level::NONE, 4.0, 0.89, 0.75);
        assert!((found - 2.0 / 3.0).abs() < 0.05, "{found}");
    }

    #[test]
    fn blocks_that_fail_apart_make_long_frames_fail_more_often() {
        let mut wholes = Wholes::default();
        for turn in 0..900 {
            let fate = |at: u32| {
                if (turn + at * 7).is_multiple_of(30) { Fate::Failed } else { Fate::Good(0) }
            };
            wholes.learn(Level::STRONGEST, &[fate(0), fate(1), fate(2)]);
        }
        // Three in thirty frames have one of them.
        let found = wholes.unharmed(Level::STRONGEST, 3.0, 1.0, 1.0 - 1.0 / 30.0);
        assert!((found - 0.9).abs() < 0.03, "{found}");
    }
}
