//! How often frames are cut short, and where.
//!
//! Two explanations compete. Either each block is cut off with a probability that its place has, so
//! that short frames are cut less often; or each frame is, anywhere in it, however long it is.
//! Frames of different lengths tell which of them is right.

use windfall_wire_link::coded::{BLOCK_CHECK, Fate, Level, MAX_BLOCKS};

use super::estimate::Estimate;

/// How much of the evidence counts after one more frame.
const EVIDENCE_MEMORY: f64 = 0.98;
/// The most that the evidence may speak for one of them, as the logarithm of the odds.
const CERTAIN: f64 = 6.0;
/// What was mended is not seen as cut; what was not stands for at most so many.
const MOST_UNSEEN: f64 = 3.0;

/// What is known of cuts: each after a frame that was not cut, and after one that was.
#[derive(Clone, Debug, Default)]
pub(super) struct Cuts {
    /// The probability that the block of a place is cut off, given that the one before is there.
    block: [[Estimate; MAX_BLOCKS]; 2],
    /// The probability that a frame is cut.
    frame: [Estimate; 2],
    was_cut: bool,
    /// How much more likely frames as such are cut, as the logarithm of the odds.
    evidence: f64,
}

impl Cuts {
    /// Learns from the blocks of a frame, whose last one holds `last` bytes of data.
    pub(super) fn learn(&mut self, used: Level, last: usize, fates: &[Fate]) {
        let Some(longest) = fates.len().checked_sub(1) else { return };
        let state = usize::from(self.was_cut);
        let is_cut = fates.iter().any(|fate| matches!(fate, Fate::Missing));
        let blocks = &mut self.block[state];
        let (mut as_blocks, cut) = (1.0, self.frame[state].value);
        for (block, fate) in blocks.iter().zip(fates) {
            if matches!(fate, Fate::Missing) {
                as_blocks *= block.value;
                break;
            }
            as_blocks *= 1.0 - block.value;
        }
        let as_frame = if is_cut { cut / fates.len() as f64 } else { 1.0 - cut };
        let ratio = (as_frame.clamp(0.01, 1.0) / as_blocks.clamp(0.01, 1.0)).ln();
        self.evidence = (EVIDENCE_MEMORY * self.evidence + ratio).clamp(-CERTAIN, CERTAIN);
        let unseen = |share: f64| (1.0 / (1.0 - share)).min(MOST_UNSEEN);
        let mended = mended(used, last);
        let frame = unseen(mended / fates.len() as f64);
        self.frame[state].learn(if is_cut { frame } else { 0.0 });
        for (index, (block, fate)) in blocks.iter_mut().zip(fates).enumerate() {
            let cut = matches!(fate, Fate::Missing);
            let weight = if index == longest { unseen(mended) } else { 1.0 };
            block.learn(if cut { weight } else { 0.0 });
            if cut {
                break;
            }
        }
        self.was_cut = is_cut;
    }

    /// Learns that an uncoded frame as long as so many blocks was cut; where is not known.
    pub(super) fn learn_uncoded(&mut self, blocks: usize) {
        let state = usize::from(self.was_cut);
        let whole: f64 =
            self.block[state].iter().take(blocks).map(|block| 1.0 - block.value).product();
        let cut = self.frame[state].value;
        let ratio = (cut.clamp(0.01, 1.0) / (1.0 - whole).clamp(0.01, 1.0)).ln();
        self.evidence = (EVIDENCE_MEMORY * self.evidence + ratio).clamp(-CERTAIN, CERTAIN);
        self.frame[state].learn(1.0);
        self.was_cut = true;
    }

    /// The probability that each of the first blocks of a frame of `blocks` is there with all
    /// before it.
    pub(super) fn reached(&self, blocks: usize) -> [f64; MAX_BLOCKS] {
        let state = usize::from(self.was_cut);
        let as_frame = 1.0 / (1.0 + (-self.evidence).exp());
        let cut = self.frame[state].value.clamp(0.0, 1.0);
        let mut there = 1.0;
        core::array::from_fn(|index| {
            there *= 1.0 - self.block[state][index].value.clamp(0.0, 1.0);
            let place = (index + 1) as f64 / blocks as f64;
            as_frame * (1.0 - cut * place) + (1.0 - as_frame) * there
        })
    }
}

/// The share of cuts in a block with so many bytes of data that its parity mends.
pub(super) fn mended(level: Level, data: usize) -> f64 {
    let parity = level.parity() as f64;
    parity / (parity + (data + BLOCK_CHECK) as f64)
}
