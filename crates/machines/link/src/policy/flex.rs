//! FLEX: frame size and parity adapt independently, by simple rules.
//!
//! According to the paper, the rules are simple, size and parity are independent, and both respond
//! within tens of milliseconds. The rules themselves are ours:
//!
//! - *Size.* If two consecutive reported frames lose at least half of their blocks to truncation,
//!   the number of blocks is halved, unless frames of one block fare no better. After four frames
//!   without truncation, or if the length is not the cause, it grows by one.
//! - *Parity.* The level with the highest throughput for recently reported blocks, retransmissions
//!   included. A failed block counts for stronger levels only as far as they were observed to save
//!   such blocks.
//!
//! A frame that is lost completely changes neither: a shorter frame, or one with more parity, would
//! also have been lost.

use windfall_wire_link::coded::{BLOCK, BLOCK_CHECK, Fate, Level, MAX_BLOCKS};

use super::beyond::{Beyond, approach, need};
use super::cuts::{last_block, mended, unseen};
use super::estimate::Estimate;
use super::needs::{Evidence, Told, survival};
use super::trials::{Trials, of_trial};
use super::{Outcome, Plan, Policy, Request};

/// The weight of a new block in the estimates of the needed parity: the fast one, the medium one,
/// and the minimum in the slow one.
const BLOCK_MEMORY: [f64; 3] = [0.05, 0.02, 0.0015];
/// The weight of the prior, in blocks.
const PRIOR_BLOCKS: f64 = 4.0;
/// The factor by which the throughput of another level must exceed that of the current level.
const BETTER: f64 = 1.05;
/// The number of consecutive truncated frames after which frames shrink.
const CUT: u32 = 2;
/// The number of consecutive frames without truncation after which frames grow.
const UNCUT: u32 = 4;
/// The factor by which the received share of short frames must exceed that of long ones, to justify
/// their overhead.
const WORTH: f64 = 4.0 / 3.0;
/// The weight of a new frame in the received shares.
const FRAME_MEMORY: f64 = 0.1;

/// The overhead of a frame in bytes, as far as this policy needs it.
const OVERHEAD: usize = 64;

/// The adaptive policy of the paper.
#[derive(Clone, Debug)]
pub struct Flex {
    blocks: u8,
    level: Level,
    cut: u32,
    uncut: u32,
    was_cut: bool,
    /// The received share of blocks in frames that follow a truncated one: for frames of one block,
    /// and for longer frames.
    kept: [f64; 2],
    /// The share of blocks that need exactly each level, in three estimates from fast to slow.
    /// Blocks that no level saves are in no entry.
    needs: [[f64; 8]; 3],
    evidence: Evidence<3>,
    /// The number of blocks whose need is known.
    seen: f64,
    beyond: Beyond,
    trials: Trials,
    /// The probability that a frame of one block is truncated.
    cut_alone: Estimate,
    /// Failed frames are retransmitted as a whole.
    whole: bool,
}

impl Default for Flex {
    /// Begins without parity, like BOLD, because most links are good.
    fn default() -> Self {
        let mut needs = [0.0; 8];
        needs[0] = 1.0;
        Self {
            blocks: MAX_BLOCKS as u8,
            level: Level::NONE,
            cut: 0,
            uncut: 0,
            was_cut: false,
            kept: [1.0, 0.5],
            needs: [needs; 3],
            evidence: Evidence::default(),
            seen: 0.0,
            beyond: Beyond::default(),
            trials: Trials::default(),
            cut_alone: Estimate::default(),
            whole: false,
        }
    }
}

impl Flex {
    /// Creates a policy that retransmits whole frames, as the fixed policies do.
    #[must_use]
    pub fn repeating_whole() -> Self {
        Self { whole: true, ..Self::default() }
    }
}

impl Policy for Flex {
    //= S3.21
    fn plan(&mut self, request: &Request) -> Option<Plan> {
        let is_alone = self.blocks == 1 || request.bytes <= self.level.data();
        self.level = self.best_level(request.bytes);
        let level = if self.trials.is_due() {
            Level::STRONGEST
        } else if is_alone {
            self.against_cuts(request.bytes)
        } else {
            self.level
        };
        Some(Plan { blocks: self.blocks, level, whole: self.whole, uncoded: false })
    }

    fn learn(&mut self, plan: Plan, bytes: usize, outcome: Outcome<'_>) {
        let Outcome::Report(fates) = outcome else { return };
        if fates.is_empty() {
            return;
        }
        if let [fate] = fates {
            let mended = mended(plan.level, last_block(plan.level, bytes, fates));
            let is_cut = matches!(fate, Fate::Missing);
            self.cut_alone.learn(if is_cut { unseen(mended) } else { 0.0 });
        }
        self.learn_size(fates);
        self.learn_parity(plan.level, bytes, fates);
    }
}

impl Flex {
    fn learn_size(&mut self, fates: &[Fate]) {
        let missing = fates.iter().filter(|fate| matches!(fate, Fate::Missing)).count();
        if self.was_cut {
            let kept = &mut self.kept[usize::from(fates.len() > 1)];
            *kept += FRAME_MEMORY * (1.0 - missing as f64 / fates.len() as f64 - *kept);
        }
        self.was_cut = missing > 0;
        let length_is_to_blame = self.kept[0] >= WORTH * self.kept[1];
        if missing == 0 {
            (self.cut, self.uncut) = (0, self.uncut + 1);
        } else {
            (self.cut, self.uncut) = (self.cut + u32::from(missing * 2 >= fates.len()), 0);
        }
        if self.cut >= CUT && length_is_to_blame {
            self.blocks = (self.blocks / 2).max(1);
            self.cut = 0;
        } else if self.uncut >= UNCUT || !length_is_to_blame {
            self.blocks = (self.blocks + 1).min(MAX_BLOCKS as u8);
            self.uncut = 0;
        }
    }

    fn learn_parity(&mut self, used: Level, bytes: usize, fates: &[Fate]) {
        let before = self.best_level(bytes);
        let told = Told::of(used, fates, bytes);
        let is_destroyed = self.beyond.is_destroyed(told.level, &told.fates);
        if !is_destroyed {
            self.evidence.learn(&self.needs, told.level, &told.fates);
        }
        for fate in &told.fates {
            self.beyond.learn(told.level, *fate);
            if let Some(seen) = need(*fate, told.level, &self.beyond)
                && !is_destroyed
            {
                self.seen += 1.0;
                let first = 1.0 / (self.seen + PRIOR_BLOCKS);
                let [quick, slow, slower] = BLOCK_MEMORY;
                let memories = [quick, first.max(slow), first.max(slower)];
                for (needs, memory) in self.needs.iter_mut().zip(memories) {
                    approach(needs, &seen, told.weight(*fate) * memory);
                }
            }
        }
        let changes = self.best_level(bytes) != before;
        let share = of_trial(used, bytes, |sent| (OVERHEAD + sent) as f64);
        self.trials.learn(used, fates, changes, share);
    }

    /// Returns the level, at least that of other frames, with the highest yield for a block that is
    /// alone in its frame. Its parity also repairs some truncations.
    fn against_cuts(&self, bytes: usize) -> Level {
        let cut = self.cut_alone.value.min(1.0);
        let worth = |level: Level| {
            let data = bytes.min(level.data());
            let sent = data + BLOCK_CHECK + level.parity() + OVERHEAD;
            (1.0 - cut * (1.0 - mended(level, data))) * data as f64 / sent as f64
        };
        let levels = Level::all().filter(|level| *level >= self.level);
        levels.max_by(|a, b| worth(*a).total_cmp(&worth(*b))).unwrap_or(self.level)
    }

    /// Returns the level with the highest throughput for a frame with some of `bytes`. The current
    /// level is kept unless another one is clearly better.
    fn best_level(&self, bytes: usize) -> Level {
        let needs = self.evidence.mean(&self.needs);
        let worth = Level::all().map(|level| {
            let all = bytes.min(usize::from(self.blocks) * level.data()).max(1);
            let blocks = all.div_ceil(level.data());
            let sent = OVERHEAD + all + blocks * (BLOCK_CHECK + level.parity());
            let alone = all + BLOCK_CHECK + level.parity();
            let saved = survival(&needs, level, if blocks > 1 { BLOCK } else { alone });
            (level, saved * all as f64 / sent as f64)
        });
        let worth: Vec<(Level, f64)> = worth.collect();
        let (_, in_use) = worth[self.level.index()];
        let best = worth.into_iter().max_by(|a, b| a.1.total_cmp(&b.1));
        best.filter(|(_, best)| *best > BETTER * in_use).map_or(self.level, |(level, _)| level)
    }
}
