//! Selective acknowledgment: the scoreboard, the lost ranges, and the data in the network (RFC
//! 2018, 2883, 6675).

use core::ops::Range;

use windfall_base::seq::Seq32;
use windfall_wire_net::tcp::SackBlock;

use super::{DUPLICATES, Echo, Recovery, SendSequence};
use crate::config::LossRecovery;

/// Ranges that are remembered: more than a window of segments with every second one lost makes.
const RANGES: usize = 4096;

/// The content of the SACK blocks of an acknowledgment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reported {
    /// Bytes that they report for the first time.
    pub added: u64,
    /// The range that the first block reports as a duplicate (RFC 2883).
    pub duplicate: Option<Range<u64>>,
    /// Blocks that cannot be (turned around, empty, of data never sent), or one too many.
    pub refused: u64,
}

/// Returns the range of a block; `None` if it is turned around, empty, or of data never sent.
fn range_of(
    block: &SackBlock,
    flow: &SendSequence,
    locate: &impl Fn(Seq32) -> Option<u64>,
) -> Option<Range<u64>> {
    let left = locate(block.left)?;
    let right = locate(block.right)?;
    (left < right && right <= flow.max).then_some(left..right)
}

/// Returns the range that the first of the blocks reports as a duplicate: it is acknowledged, or
/// lies inside the second one (RFC 2883, section 4).
pub(crate) fn reported_duplicate(
    blocks: &[SackBlock],
    flow: &SendSequence,
    locate: &impl Fn(Seq32) -> Option<u64>,
) -> Option<Range<u64>> {
    let mut ranges = blocks.iter().map(|block| range_of(block, flow, locate));
    let first = ranges.next().flatten()?;
    let second = ranges.next().flatten();
    let lies_inside = |outer: Range<u64>| outer.start <= first.start && first.end <= outer.end;
    (first.end <= flow.una || second.is_some_and(lies_inside)).then_some(first)
}

impl Recovery {
    /// Takes the SACK blocks of an acknowledgment; impossible blocks are ignored.
    pub(crate) fn on_sack(
        &mut self,
        blocks: &[SackBlock],
        flow: &SendSequence,
        locate: impl Fn(Seq32) -> Option<u64>,
        echo: &Echo,
    ) -> Reported {
        let duplicate = reported_duplicate(blocks, flow, &locate);
        let mut reported = Reported { duplicate, ..Reported::default() };
        for block in blocks {
            match range_of(block, flow, &locate) {
                Some(range) if range.start < flow.una => {}
                Some(range) if self.sacked.len() < RANGES => {
                    self.note_arrival(range.clone(), flow, echo);
                    reported.added += self.sacked.insert(range);
                }
                _ => reported.refused += 1,
            }
        }
        reported
    }

    /// Returns whether the window allows a retransmission.
    fn has_room(&self, flow: &SendSequence, window: u64) -> bool {
        self.repair == LossRecovery::Sack && self.active && self.pipe + flow.mss <= window
    }

    /// Returns the next range that is lost (RFC 6675, section 4, NextSeg 1).
    pub(super) fn next_lost(&self, flow: &SendSequence, window: u64) -> Option<Range<u64>> {
        if !self.has_room(flow, window) {
            return None;
        }
        let from = self.repaired.max(flow.una);
        let gap = self.sacked.gaps(from..self.sacked.end()?).next()?;
        (gap.start < self.lost_below(flow)).then(|| self.whole(gap.start, flow))
    }

    /// Returns the data to retransmit when no new data may be sent (RFC 6675, NextSeg 3 and 4).
    pub(crate) fn next_doubtful(&mut self, flow: &SendSequence, window: u64) -> Option<Range<u64>> {
        if self.is_timed() || !self.has_room(flow, window) {
            return None;
        }
        let from = self.repaired.max(flow.una);
        let end = self.sacked.end()?;
        if let Some(gap) = self.sacked.gaps(from..end).next() {
            return Some(self.whole(gap.start, flow));
        }
        if self.rescued || end >= flow.max {
            return None;
        }
        self.rescued = true;
        Some(flow.max.saturating_sub(flow.mss).max(end)..flow.max)
    }

    /// Returns the next position to send at or after `position` that the peer does not have.
    #[must_use]
    pub(crate) fn skip(&self, position: u64) -> u64 {
        self.sacked.containing(position).map_or(position, |range| range.end)
    }

    /// Returns the end of the hole that begins at `position`.
    #[must_use]
    pub(crate) fn hole_end(&self, position: u64) -> Option<u64> {
        self.sacked.following(position).map(|range| range.start)
    }

    /// Returns the position below which everything not reported as arrived is lost (RFC 6675,
    /// `IsLost`).
    pub(super) fn lost_below(&self, flow: &SendSequence) -> u64 {
        let mut ranges = 0;
        let mut bytes = 0;
        for range in self.sacked.iter().rev() {
            ranges += 1;
            bytes += range.end - range.start;
            if ranges >= DUPLICATES || bytes > (DUPLICATES - 1) * flow.mss {
                return range.start;
            }
        }
        flow.una
    }

    /// Measures the bytes in the network: not reported and not lost, and retransmitted (RFC 6675,
    /// `SetPipe`).
    pub(super) fn measure_pipe(&self, flow: &SendSequence) -> u64 {
        if self.repair != LossRecovery::Sack {
            return 0;
        }
        let count_missing = |range: Range<u64>| {
            let len = range.end.saturating_sub(range.start);
            len - self.sacked.count_within(range)
        };
        let lost = self.lost_below(flow).max(flow.una);
        count_missing(lost..flow.max) + count_missing(flow.una..self.repaired.max(flow.una))
    }
}

#[cfg(test)]
mod tests;
