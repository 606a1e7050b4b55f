//! A packet of which blocks have arrived.

use core::ops::Range;

use arrayvec::ArrayVec;
use windfall_base::{Check, Damage, Frame, RangeSet, Tag};
use windfall_wire_link::check::{FCS_LEN, frame_check};
use windfall_wire_link::coded::{Fate, Head, MAX_BLOCKS};

use super::blocks::{self, Blocks};
use super::stream::inverted;

/// The fate of each block of a frame.
pub(super) type Fates = ArrayVec<Fate, MAX_BLOCKS>;

/// The blocks that have arrived, in their places.
#[derive(Debug)]
pub(super) struct Begun {
    length: u16,
    stream: Vec<u8>,
    missing: RangeSet<usize>,
    /// Taken although their checks rejected them.
    suspect: RangeSet<usize>,
    corrected: u32,
    /// The findings of the frame check, once all is there.
    check: Check,
    tag: Option<Tag>,
}

impl Begun {
    pub(super) fn new(head: &Head, tag: Option<Tag>) -> Self {
        Self {
            length: head.length,
            stream: vec![0; head.stream()],
            missing: RangeSet::from(0..head.stream()),
            suspect: RangeSet::default(),
            corrected: 0,
            check: Check::Unchecked,
            tag,
        }
    }

    /// Takes what is good of a frame, and what is not if damage is `welcome`.
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
            let data = read.data(index, range.len());
            // Who repeats whole frames has no use for parts of them.
            fates.push(self.put(found, all_good || !head.whole, range, data, welcome));
        }
        fates
    }

    /// Puts the data of one block where it belongs: if it is good and such are `kept`, or if damage
    /// is `welcome`.
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

    /// Returns `true` if all of it is there, right or not.
    pub(super) fn is_whole(&self) -> bool {
        self.missing.is_empty()
    }

    /// Returns `true` if a frame with this header speaks of the same packet.
    pub(super) fn fits(&self, head: &Head) -> bool {
        self.length == head.length
    }

    /// Returns `true` if the frame check holds or says what the sender knows, or need not.
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
    }

    pub(super) fn into_frame(self) -> Frame {
        let Self { mut stream, length, suspect, corrected, check, tag, .. } = self;
        stream.truncate(stream.len() - FCS_LEN);
        // Suspect bytes of the frame check alone leave the packet unchecked, not damaged.
        let inside = suspect.within(0..usize::from(length));
        let suspect: Vec<_> = inside.map(|range| range.start as u32..range.end as u32).collect();
        let frame =
            if suspect.is_empty() && check != Check::Bad { Check::Good } else { Check::Bad };
        let mut packet = Frame { tag, ..Frame::packet(stream) };
        packet.damage = Damage { frame, header: Check::Good, missing: 0, corrected, suspect };
        packet
    }
}
