//! FLEX: size and parity adapt, each by its own simple rule.
//!
//! The paper says that the rules are simple, that size and parity are independent, and that they
//! respond within tens of milliseconds. The rules are ours:
//!
//! - *Size.* When two reported frames in a row lost at least half of their blocks to truncation,
//!   the next has half as many. After four that were not cut, one more.
//! - *Parity.* The level follows the worst block of the last eight reported frames, a failed block
//!   counting as three symbols more than it could bear: up at once, down by one level after every
//!   eighth frame that would have survived the weaker one.
//!
//! A frame that was lost whole says nothing about either: a shorter or better coded one would have
//! been lost as well.

use std::collections::VecDeque;

use windfall_wire_link::coded::{Fate, Level, MAX_BLOCKS};

use super::{Outcome, Plan, Policy, Request};

/// Reported frames that the level follows.
const WINDOW: usize = 8;
/// Frames in a row that are badly cut before frames shrink.
const CUT: u32 = 2;
/// Frames in a row that are not cut before frames grow.
const UNCUT: u32 = 4;
/// What a failed block counts beyond what its parity could correct.
const BEYOND: usize = 3;

/// The adaptive policy of the paper.
#[derive(Clone, Debug)]
pub struct Flex {
    blocks: u8,
    level: Level,
    cut: u32,
    uncut: u32,
    /// The wrong symbols in the worst block of each of the last frames.
    worst: VecDeque<usize>,
    /// Frames since the level changed.
    steady: usize,
}

impl Default for Flex {
    /// Begins like BOLD: most links are good.
    fn default() -> Self {
        Self {
            blocks: MAX_BLOCKS as u8,
            level: Level::NONE,
            cut: 0,
            uncut: 0,
            worst: VecDeque::with_capacity(WINDOW),
            steady: 0,
        }
    }
}

impl Policy for Flex {
    //= S3.21
    fn plan(&mut self, _request: &Request) -> Option<Plan> {
        Some(Plan { blocks: self.blocks, level: self.level, whole: false })
    }

    fn learn(&mut self, plan: Plan, outcome: Outcome<'_>) {
        let Outcome::Report(fates) = outcome else { return };
        if fates.is_empty() {
            return;
        }
        self.learn_size(fates);
        self.learn_parity(plan.level, fates);
    }
}

impl Flex {
    fn learn_size(&mut self, fates: &[Fate]) {
        let missing = fates.iter().filter(|fate| matches!(fate, Fate::Missing)).count();
        if missing == 0 {
            (self.cut, self.uncut) = (0, self.uncut + 1);
        } else {
            (self.cut, self.uncut) = (self.cut + u32::from(missing * 2 >= fates.len()), 0);
        }
        if self.cut >= CUT {
            self.blocks = (self.blocks / 2).max(1);
            self.cut = 0;
        } else if self.uncut >= UNCUT {
            self.blocks = (self.blocks + 1).min(MAX_BLOCKS as u8);
            self.uncut = 0;
        }
    }

    fn learn_parity(&mut self, used: Level, fates: &[Fate]) {
        let wrong = |fate: &Fate| match fate {
            Fate::Good(corrected) => Some(usize::from(*corrected)),
            Fate::Failed | Fate::Damaged => Some(used.correctable() + BEYOND),
            Fate::Missing => None,
        };
        let Some(worst) = fates.iter().filter_map(wrong).max() else { return };
        if self.worst.len() == WINDOW {
            self.worst.pop_front();
        }
        self.worst.push_back(worst);
        self.steady += 1;
        let needed = Level::correcting(self.worst.iter().copied().max().unwrap_or(0));
        if needed > self.level {
            (self.level, self.steady) = (needed, 0);
        } else if needed < self.level && self.steady >= WINDOW {
            (self.level, self.steady) = (self.level.weaker(), 0);
        }
    }
}
