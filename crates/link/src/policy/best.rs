//! A policy beyond the paper: it estimates the air and takes the frame that promises most.
//!
//! Three estimates, each forgetting slowly: how often a frame is lost whole, how often a block is
//! cut off when the one before it was not, and how many symbols of a block are wrong. Of every size
//! and level the expected bytes gained per air time are computed, and the best is taken. A packet
//! whose time runs out gets the frame that most likely saves it instead.

use windfall_wire_link::coded::{BLOCK_CHECK, Fate, Level, MAX_BLOCKS};

use super::{Cost, Outcome, Plan, Policy, Request};

/// The weight of one frame in the estimate of losses.
const FRAME_MEMORY: f64 = 0.02;
/// The weight of one block in the estimate of truncation.
const CUT_MEMORY: f64 = 0.01;
/// The weight of one block in the two estimates of wrong symbols: the quick and the slow.
const BLOCK_MEMORY: [f64; 2] = [0.08, 0.01];
/// Of each block that failed, the share that is taken to need each further level.
const NEXT_LEVEL: f64 = 0.6;

/// The policy that estimates.
#[derive(Clone, Debug)]
pub struct Best {
    cost: Cost,
    /// The probability that a frame is lost whole.
    loss: f64,
    /// The probability that a block is cut off, given that the one before is there.
    cut: f64,
    /// The probability that a block needs just this level.
    needs: [[f64; 8]; 2],
}

impl Best {
    /// A policy that trusts the air until it learns better.
    #[must_use]
    pub fn new(cost: Cost) -> Self {
        let mut needs = [0.0; 8];
        needs[0] = 1.0;
        Self { cost, loss: 0.0, cut: 0.0, needs: [needs; 2] }
    }

    /// The probability that a block at `level` is put right.
    fn survives(&self, level: Level) -> f64 {
        let [quick, slow] = [0, 1].map(|i| self.needs[i][..=level.index()].iter().sum::<f64>());
        f64::midpoint(quick, slow)
    }

    fn learn_cut(&mut self, fates: &[Fate]) {
        for fate in fates {
            let is_cut = matches!(fate, Fate::Missing);
            self.cut += CUT_MEMORY * (f64::from(u8::from(is_cut)) - self.cut);
            if is_cut {
                break;
            }
        }
    }

    fn learn_block(&mut self, used: Level, fate: Fate) {
        let mut seen = [0.0; 8];
        match fate {
            Fate::Good(corrected) => {
                seen[Level::correcting(usize::from(corrected)).index()] = 1.0;
            }
            Fate::Failed | Fate::Damaged => spread_beyond(used, &mut seen),
            Fate::Missing => return,
        }
        for (needs, memory) in self.needs.iter_mut().zip(BLOCK_MEMORY) {
            for (need, seen) in needs.iter_mut().zip(seen) {
                *need += memory * (seen - *need);
            }
        }
    }

    /// What a frame promises for the rest of a packet: bytes gained, seconds, and the probability
    /// that it brings all of them.
    fn promise(&self, request: &Request, blocks: usize, level: Level) -> (f64, f64, f64) {
        let used = blocks.min(request.bytes.div_ceil(level.data())).max(1);
        let good = self.survives(level);
        let (mut bytes, mut reached, mut all) = (0.0, 1.0 - self.loss, 1.0 - self.loss);
        let mut left = request.bytes;
        for _ in 0..used {
            let data = left.min(level.data());
            left -= data;
            reached *= 1.0 - self.cut;
            all *= (1.0 - self.cut) * good;
            bytes += data as f64 * reached * good;
        }
        let sent = request.bytes - left + used * (BLOCK_CHECK + level.parity());
        (bytes, self.cost.of(sent).as_secs_f64(), if left == 0 { all } else { 0.0 })
    }
}

impl Policy for Best {
    //= S3.16
    //= S3.45
    fn plan(&mut self, request: &Request) -> Plan {
        let time_left = request.time_left.map(windfall_base::Duration::as_secs_f64);
        let mut best = (f64::NEG_INFINITY, Plan { blocks: 1, level: Level::NONE, whole: false });
        for blocks in 1..=MAX_BLOCKS {
            for level in Level::all() {
                let (bytes, seconds, all) = self.promise(request, blocks, level);
                // Air time lost to errors comes on top of what a clean rest would take.
                let urgent = time_left.is_some_and(|left| left < 2.5 * seconds);
                let worth = if urgent && all > 0.0 { 1e9 * all } else { bytes / seconds };
                if worth > best.0 {
                    best = (worth, Plan { blocks: blocks as u8, level, whole: false });
                }
            }
        }
        best.1
    }

    fn learn(&mut self, plan: Plan, outcome: Outcome<'_>) {
        let lost = matches!(outcome, Outcome::Silence);
        self.loss += FRAME_MEMORY * (f64::from(u8::from(lost)) - self.loss);
        if let Outcome::Report(fates) = outcome {
            self.learn_cut(fates);
            for fate in fates {
                self.learn_block(plan.level, *fate);
            }
        }
    }
}

/// Nobody knows how much more a failed block needed: every further level gets its share.
fn spread_beyond(used: Level, seen: &mut [f64; 8]) {
    let mut left = 1.0;
    let mut level = used;
    while level < Level::STRONGEST {
        level = level.stronger();
        seen[level.index()] = left * NEXT_LEVEL;
        left *= 1.0 - NEXT_LEVEL;
    }
    // What no level is known to save needs more than the strongest has, and counts for none.
}
