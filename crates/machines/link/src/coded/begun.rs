//! A packet in reassembly, of which some blocks have arrived.

use core::ops::Range;

use arrayvec::ArrayVec;
use windfall_base::{Check, Damage, Frame, Instant, PacketEventKind, RangeSet, Tag};
use windfall_fec::copies::Copies;
use windfall_wire_link::check::{FCS_LEN, frame_check};
use windfall_wire_link::coded::{Fate, Head, Level, MAX_BLOCKS};

use super::blocks::{self, Blocks};
use super::stream::inverted;
use crate::output::Output;

/// The maximum number of failed blocks of a packet whose copies are kept; the oldest are dropped.
const MOST_FAILED: usize = 16;

/// The outcome of each block of a frame.
pub(super) type Fates = ArrayVec<Fate, MAX_BLOCKS>;

/// The blocks received so far, at their offsets.
#[derive(Debug)]
pub(super) struct Begun {
    length: u16,
    stream: Vec<u8>,
    missing: RangeSet<usize>,
    /// Ranges that were accepted although the checks of their blocks failed.
    suspect: RangeSet<usize>,
    corrected: u32,
    /// The result of the frame check, once the packet is complete.
    check: Check,
    tag: Option<Tag>,
    expires: Option<Instant>,
    /// The copies of failed blocks; `None` if copies are not combined.
    failed: Option<Vec<FailedBlock>>,
    /// The maximum number of copies from which a block was restored.
    combined: u32,
}

/// The copies of a failed block.
#[derive(Debug)]
struct FailedBlock {
    range: Range<usize>,
    level: Level,
    copies: Copies,
}

impl Begun {
    pub(super) fn new(head: &Head, frame: &Frame, combine: bool) -> Self {
        Self {
            length: head.length,
            stream: vec![0; head.stream()],
            missing: RangeSet::from(0..head.stream()),
            suspect: RangeSet::default(),
            corrected: 0,
            check: Check::Unchecked,
            tag: frame.tag,
            expires: frame.expires,
            failed: combine.then(Vec::new),
            combined: 0,
        }
    }

    /// Takes the good blocks of a frame, and the damaged ones if damage is accepted (`welcome`).
    pub(super) fn take(&mut self, head: &Head, unit: &Frame, welcome: bool) -> Fates {
        if let (true, [stretch]) = (head.uncoded, &head.stretches[..]) {
            let range = stretch.range();
            let (found, data) = blocks::read_uncoded(range.len(), &unit.payload);
            return [self.put(found, true, range, &data, welcome)].into_iter().collect();
        }
        let read = Blocks::read(head, &unit.payload);
        let all_good = read.fates().all(|fate| matches!(fate, Fate::Good(_)));
        let mut fates = ArrayVec::new();
        for (index, found) in read.fates().enumerate() {
            let range = head.stretches[index].range();
            if let (Fate::Failed | Fate::Missing, Some(_)) = (found, &self.failed) {
                let block = read.received(index, head.block_len(index));
                if let Some(fate) = self.combine(found, head.level, range.clone(), block) {
                    fates.push(fate);
                    continue;
                }
            }
            let data = read.data(index, range.len());
            // Blocks of a frame that is retransmitted as a whole are useless, unless copies are
            // combined.
            let kept = all_good || !head.whole || self.failed.is_some();
            fates.push(self.put(found, kept, range, data, welcome));
        }
        fates
    }

    /// Restores a failed block from its copies, or else stores the block as another copy.
    fn combine(
        &mut self,
        found: Fate,
        level: Level,
        range: Range<usize>,
        block: &[u8],
    ) -> Option<Fate> {
        if self.missing.within(range.clone()).next().is_none() {
            // The receiver already has the block, or the block is padding.
            return Some(Fate::Combined);
        }
        let failed = self.failed.as_mut().filter(|_| found == Fate::Failed)?;
        let same = |it: &FailedBlock| it.range == range && it.level == level;
        let Some(earlier) = failed.iter_mut().find(|it| same(it)) else {
            let mut copies = Copies::default();
            copies.keep(block.to_vec());
            failed.truncate(MOST_FAILED - 1);
            failed.insert(0, FailedBlock { range, level, copies });
            return None;
        };
        let Some(made) = blocks::combine(&earlier.copies, block, level) else {
            earlier.copies.keep(block.to_vec());
            return None;
        };
        self.combined = self.combined.max(earlier.copies.len() as u32 + 1);
        self.put(Fate::Good(0), true, range.clone(), &made[..range.len()], false);
        Some(Fate::Combined)
    }

    /// Stores the data of one block: if the block is good and `kept` is set, or if damage is
    /// accepted.
    fn put(
        &mut self,
        found: Fate,
        kept: bool,
        range: Range<usize>,
        data: &[u8],
        welcome: bool,
    ) -> Fate {
        match found {
            Fate::Good(corrected) if kept => {
                self.stream[range.clone()].copy_from_slice(data);
                self.missing.remove(range.clone());
                self.suspect.remove(range.clone());
                self.corrected += u32::from(corrected);
                found
            }
            //= S0.63
            _ if welcome => {
                for gap in self.missing.within(range.clone()) {
                    let inside = gap.start - range.start..gap.end - range.start;
                    self.stream[gap.clone()].copy_from_slice(&data[inside]);
                    self.suspect.insert(gap);
                }
                self.missing.remove(range.clone());
                if matches!(found, Fate::Good(_)) { found } else { Fate::Damaged }
            }
            fate => fate,
        }
    }

    /// Returns `true` if the packet is complete, damaged or not.
    pub(super) fn is_whole(&self) -> bool {
        self.missing.is_empty()
    }

    /// Returns `true` if a frame with this header belongs to the same packet.
    pub(super) fn fits(&self, head: &Head) -> bool {
        self.length == head.length
    }

    /// Returns `true` if the frame check confirms the packet, or the packet has accepted damage.
    pub(super) fn is_consistent(&mut self) -> bool {
        self.check = self.read_check();
        !self.suspect.is_empty() || self.check != Check::Unchecked
    }

    /// Reads what the frame check says: that the packet is whole, that it was damaged when its
    /// sender got it, or nothing, since it does not belong to these bytes.
    fn read_check(&self) -> Check {
        let (packet, check) = self.stream.split_at(usize::from(self.length));
        let right = frame_check(&[packet]);
        if check == right {
            Check::Good
        } else if check == inverted(right) {
            Check::Bad
        } else {
            Check::Unchecked
        }
    }

    pub(super) fn restart(&mut self) {
        self.missing = RangeSet::from(0..self.stream.len());
        self.corrected = 0;
        if let Some(failed) = &mut self.failed {
            failed.clear();
        }
    }

    /// Reports a packet of which a block was made from failed copies.
    pub(super) fn report(&self, out: &mut Output<'_>) {
        if self.combined > 0 {
            let combined = PacketEventKind::Combined { copies: self.combined };
            out.events.push_back(combined.of_packet(self.tag));
        }
    }

    pub(super) fn into_frame(self) -> Frame {
        let Self { mut stream, length, suspect, corrected, check, tag, expires, .. } = self;
        stream.truncate(stream.len() - FCS_LEN);
        // Suspect bytes of the frame check alone leave the packet unchecked, not damaged.
        let inside = suspect.within(0..usize::from(length));
        let suspect: Vec<_> = inside.map(|range| range.start as u32..range.end as u32).collect();
        let frame =
            if suspect.is_empty() && check != Check::Bad { Check::Good } else { Check::Bad };
        let mut packet = Frame { tag, ..Frame::packet(stream) };
        packet.set_expiry(expires);
        let header = Check::Good;
        packet.damage = Damage {
            frame,
            header,
            missing: 0,
            lost_before: 0,
            corrected,
            suspect,
            reliability: None,
        };
        packet
    }
}
