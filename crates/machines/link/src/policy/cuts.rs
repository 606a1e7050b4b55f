//! Estimates of truncation: how often frames are cut short, and where.
//!
//! There are two models. Either each block is truncated with a probability that depends on its
//! position, so shorter frames are truncated less often. Or each frame is truncated with the same
//! probability at a random place, whatever its length. Frames of different lengths show which model
//! fits better.

use windfall_wire_link::coded::{BLOCK_CHECK, Fate, Level, MAX_BLOCKS};

use super::estimate::Estimate;

/// The weight of the earlier evidence after a new frame.
const EVIDENCE_MEMORY: f64 = 0.98;
/// The maximum evidence for one model, as the logarithm of the odds.
const CERTAIN: f64 = 6.0;
/// The maximum number of truncations that an observed one represents. Truncations that parity
/// repairs are not observed.
const MOST_UNSEEN: f64 = 3.0;

/// The statistics of truncation, separate for frames after an intact frame and after a truncated
/// one.
#[derive(Clone, Debug, Default)]
pub(super) struct Cuts {
    /// For each position, the probability that a block is truncated although the previous block is
    /// complete.
    block: [[Estimate; MAX_BLOCKS]; 2],
    /// The probability that a frame is truncated.
    frame: [Estimate; 2],
    was_cut: bool,
    /// The evidence for the model of frames, as the logarithm of the odds.
    evidence: f64,
}

impl Cuts {
    /// Records the blocks of a frame, whose last block holds `last` bytes of data.
    pub(super) fn learn(&mut self, used: Level, last: usize, fates: &[Fate]) {
        let Some(longest) = fates.len().checked_sub(1) else { return };
        let state = usize::from(self.was_cut);
        let is_cut = fates.iter().any(|fate| matches!(fate, Fate::Missing));
        let blocks = &mut self.block[state];
        let mut as_blocks = 1.0;
        let cut = self.frame[state].value;
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

    /// Records that an uncoded frame with the length of `blocks` blocks was truncated at an unknown
    /// place.
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

    /// Returns, for each block of a frame of `blocks`, the probability that all blocks up to it are
    /// complete.
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

/// Returns the number of truncations that an observed one represents, if parity repairs the share
/// `mended`.
pub(super) fn unseen(mended: f64) -> f64 {
    (1.0 / (1.0 - mended)).min(MOST_UNSEEN)
}

/// Returns the bytes of data in the last block of a frame that carried `bytes`.
pub(super) fn last_block(level: Level, bytes: usize, fates: &[Fate]) -> usize {
    bytes.saturating_sub(fates.len().saturating_sub(1) * level.data()).min(level.data())
}

/// Returns the share of truncations in a block with `data` bytes of data that its parity repairs.
pub(super) fn mended(level: Level, data: usize) -> f64 {
    let parity = level.parity() as f64;
    parity / (parity + (data + BLOCK_CHECK) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CUT: Fate = Fate::Missing;
    const GOOD: Fate = Fate::Good(0);

    fn learned(frames: &[&[Fate]]) -> Cuts {
        let mut cuts = Cuts::default();
        for fates in frames {
            cuts.learn(Level::NONE, Level::NONE.data(), fates);
        }
        cuts
    }

    fn assert_reached(cuts: &Cuts, expected: &[f64]) {
        let reached = cuts.reached(expected.len());
        for (place, (reached, expected)) in reached.iter().zip(expected).enumerate() {
            assert!((reached - expected).abs() < 1e-12, "{place}: {reached}, not {expected}");
        }
    }

    /// The odds of the two explanations give the weights of what they say.
    fn weighed(odds: f64, as_frame: f64, as_blocks: f64) -> f64 {
        (odds * as_frame + as_blocks) / (odds + 1.0)
    }

    #[test]
    fn the_last_block_holds_what_the_others_have_no_room_for() {
        let last = |level, bytes, blocks: usize| last_block(level, bytes, &[GOOD; 5][..blocks]);
        assert_eq!(last(Level::NONE, 700, 3), 700 - 2 * 253);
        assert_eq!(last(Level::ROBUST, 700, 4), 700 - 3 * 179);
        assert_eq!(last(Level::NONE, 100, 1), 100);
        // A padded frame, and one that carries a part of a longer packet.
        assert_eq!([last(Level::NONE, 100, 5), last(Level::NONE, 2_000, 5)], [0, 253]);
    }

    #[test]
    fn a_link_is_trusted_until_something_is_cut() {
        assert_reached(&Cuts::default(), &[1.0; 5]);
        assert_reached(&learned(&[&[GOOD; 5], &[GOOD; 3]]), &[1.0; 5]);
    }

    #[test]
    fn a_cut_is_put_down_to_the_frame_and_to_its_place_alike() {
        // After the cut frame a good one, so that the next does not follow a cut.
        let cuts = learned(&[&[GOOD, CUT, CUT], &[GOOD; 3]]);
        // One of three trials, two of which are the prior: a third. Cut anywhere in the frame, a
        // third of that lies before the end of each of three blocks; by place, the second is cut.
        let third = 1.0 / 3.0;
        let frame = [1.0 - third / 3.0, 1.0 - 2.0 * third / 3.0, 1.0 - third];
        let expected = [
            weighed(1.0, frame[0], 1.0),
            weighed(1.0, frame[1], 2.0 * third),
            weighed(1.0, frame[2], 2.0 * third),
        ];
        assert_reached(&cuts, &expected);
    }

    #[test]
    fn frames_that_follow_a_cut_have_estimates_of_their_own() {
        assert_reached(&learned(&[&[GOOD, CUT, CUT]]), &[1.0; 3]);
    }

    #[test]
    fn a_short_frame_that_is_not_cut_speaks_for_the_blocks() {
        // By frame it had a chance of 2/3 to come through, by its only block one of 1.
        let cuts = learned(&[&[GOOD, CUT, CUT], &[GOOD; 3], &[GOOD]]);
        // One cut in four trials of a frame; the second block was not tried again.
        assert_reached(&cuts, &[weighed(2.0 / 3.0, 0.75, 1.0)]);
        // The next one, of 3/4, is added to what fades by a fiftieth.
        let cuts = learned(&[&[GOOD, CUT, CUT], &[GOOD; 3], &[GOOD], &[GOOD]]);
        let odds = f64::powf(2.0 / 3.0, 0.98) * 0.75;
        assert_reached(&cuts, &[weighed(odds, 0.8, 1.0)]);
    }

    #[test]
    fn a_cut_where_none_was_seen_speaks_for_the_frame() {
        // The first block was never cut: the least that counts for it is 1 %. The frame was in one
        // of three, anywhere among two blocks: a sixth. Good frames after cuts say nothing more.
        let cuts = learned(&[&[GOOD, CUT, CUT], &[GOOD; 3], &[CUT, CUT], &[GOOD; 2]]);
        let odds = f64::powf((1.0 / 6.0) / 0.01, 0.98);
        // With the prior two of four trials of the frame were cuts, one of those of its first
        // block, and one of three of its second, which was not tried again.
        let expected = [
            weighed(odds, 1.0 - 0.5 / 2.0, 0.75),
            weighed(odds, 1.0 - 0.5, 0.75 * (1.0 - 1.0 / 3.0)),
        ];
        assert_reached(&cuts, &expected);
    }

    #[test]
    fn the_blocks_of_a_cut_frame_count_up_to_the_cut() {
        // By place, the cut of the second block is as likely as the second block's cut: a third.
        // By frame a third of three places: a ninth. The odds are one to three.
        let cuts = learned(&[&[GOOD, CUT, CUT], &[GOOD; 3], &[GOOD, CUT, CUT], &[GOOD; 3]]);
        let odds = f64::powf((1.0 / 9.0) / (1.0 / 3.0), 0.98);
        // With the prior two of four trials were cuts, of the frame as of the second block.
        let expected = [
            weighed(odds, 1.0 - 0.5 / 3.0, 1.0),
            weighed(odds, 1.0 - 0.5 * 2.0 / 3.0, 0.5),
            weighed(odds, 1.0 - 0.5, 0.5),
        ];
        assert_reached(&cuts, &expected);
    }

    #[test]
    fn an_uncoded_frame_that_was_cut_says_so_of_the_frame() {
        let mut cuts = learned(&[&[GOOD, CUT, CUT], &[GOOD; 3]]);
        cuts.learn_uncoded(3);
        // By frame a chance of 1/3, by blocks of 1/3 as well: nothing is decided.
        cuts.learn(Level::NONE, 253, &[GOOD; 3]);
        let frame = 0.5;
        let third = weighed(1.0, 1.0 - frame, 2.0 / 3.0);
        assert!((cuts.reached(3)[2] - third).abs() < 1e-12);
        // Of one block, which was never cut, it speaks for the frame, as far as 1 % goes.
        let mut cuts = learned(&[&[GOOD, CUT, CUT], &[GOOD; 3]]);
        cuts.learn_uncoded(1);
        cuts.learn(Level::NONE, 253, &[GOOD]);
        let odds = f64::powf((1.0 / 3.0) / 0.01, 0.98);
        assert_reached(&cuts, &[weighed(odds, 1.0 - frame, 1.0)]);
        // The evidence of several such frames fades, and has an end at six.
        let mut cuts = learned(&[&[GOOD, CUT, CUT], &[GOOD; 3]]);
        for _ in 0..4 {
            cuts.learn_uncoded(1);
            cuts.learn(Level::NONE, 253, &[GOOD]);
        }
        let frame = 1.0 - cuts.frame[0].value;
        assert_reached(&cuts, &[weighed(f64::exp(6.0 * 0.98), frame, 1.0)]);
    }

    #[test]
    fn parity_mends_its_share_of_the_cuts_in_its_block() {
        // A whole block of 255 bytes, and one with 100 bytes of data and 2 of check.
        assert_eq!(mended(Level::NONE, 253), 0.0);
        assert_eq!(mended(Level::LIGHT, Level::LIGHT.data()), 13.0 / 255.0);
        assert_eq!(mended(Level::ROBUST, 100), 74.0 / (74.0 + 102.0));
    }

    #[test]
    fn a_cut_that_parity_did_not_mend_stands_for_those_that_it_did() {
        // A frame of one block, of whose cuts three in five are mended: each seen one stands for
        // two and a half. The next frame makes the state the one before.
        let mut cuts = Cuts::default();
        let level = Level::correcting(75);
        assert_eq!(level.parity(), 150);
        cuts.learn(level, 98, &[CUT]);
        cuts.learn(level, 98, &[GOOD]);
        let expected = 1.0 - 2.5 / 3.0;
        assert_reached(&cuts, &[expected]);
        // In a frame of two such blocks it hides three in ten of the frame's, and of those of its
        // first block none.
        let mut cuts = Cuts::default();
        cuts.learn(level, 98, &[CUT, CUT]);
        cuts.learn(level, 98, &[GOOD, GOOD]);
        let frame = 1.0 / 0.7 / 3.0;
        let block = 1.0 / 3.0;
        let expected =
            [weighed(1.0, 1.0 - frame / 2.0, 1.0 - block), weighed(1.0, 1.0 - frame, 1.0 - block)];
        assert_reached(&cuts, &expected);
        // Not even the strongest parity makes one stand for more than three.
        let mut cuts = Cuts::default();
        cuts.learn(Level::STRONGEST, 10, &[CUT]);
        cuts.learn(Level::STRONGEST, 10, &[GOOD]);
        assert_reached(&cuts, &[0.0]);
    }
}
