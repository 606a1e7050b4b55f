//! Reassembly of a precise message from its parts.

use std::collections::BTreeMap;

use bytes::{Bytes, BytesMut};
use windfall_base::RangeSet;
use windfall_wire_net::sap::Part;

use crate::budget::{BEGUN, compact, weight};

/// The factor by which the memory for a message grows. The announced length alone must not reserve
/// memory.
const GROWTH: usize = 4;

/// The bytes of a message that have arrived. Parts may overlap, because the sender may segment a
/// message again.
#[derive(Clone, Debug)]
pub(crate) struct Pieces {
    total: usize,
    /// The bytes before the first gap.
    front: BytesMut,
    /// The parts after the first gap, which do not overlap, by their offset.
    later: BTreeMap<usize, Bytes>,
    have: RangeSet<u64>,
    /// The bytes charged for the parts after the gap.
    behind: usize,
}

/// Returns whether a part of `len` bytes lies within its message, of `total` bytes.
pub(crate) fn is_within(part: Part, len: usize, total: usize) -> bool {
    let end = u64::from(part.offset) + len as u64;
    part.total as usize == total && len > 0 && end <= total as u64
}

impl Pieces {
    pub(crate) fn new(total: usize) -> Self {
        let later = BTreeMap::new();
        let have = RangeSet::default();
        Self { total, front: BytesMut::new(), later, have, behind: 0 }
    }

    /// Returns whether a part belongs to the same message, and is within it.
    pub(crate) fn admits(&self, part: Part, len: usize) -> bool {
        is_within(part, len, self.total)
    }

    /// Adds the new bytes of a part, which occupies a buffer of `held` bytes. At most `spare` bytes
    /// of memory are reserved for later parts.
    pub(crate) fn add(&mut self, offset: usize, data: &Bytes, held: usize, spare: usize) {
        let place = offset as u64..(offset + data.len()) as u64;
        if offset == self.front.len() && self.later.is_empty() {
            self.append(data, spare);
            self.have.insert(place);
            return;
        }
        for gap in self.have.gaps(place.clone()) {
            let fresh = data.slice(gap.start as usize - offset..gap.end as usize - offset);
            self.behind += weight(fresh.len());
            self.later.insert(gap.start as usize, compact(fresh, held));
        }
        self.have.insert(place);
        while let Some(next) = self.later.remove(&self.front.len()) {
            self.behind -= weight(next.len());
            self.append(&next, spare);
        }
    }

    fn append(&mut self, data: &[u8], spare: usize) {
        let len = self.front.len();
        if self.front.capacity() - len < data.len() {
            let grown = (len + data.len()).saturating_mul(GROWTH).min(data.len() + spare);
            self.front.reserve(grown.min(self.total - len).max(data.len()));
        }
        self.front.extend_from_slice(data);
    }

    /// Returns the memory that the message takes, as the receive buffer counts it.
    pub(crate) fn charge(&self) -> usize {
        BEGUN + self.front.capacity() + self.behind
    }

    pub(crate) fn is_complete(&self) -> bool {
        self.front.len() == self.total
    }

    /// Returns the message.
    pub(crate) fn finish(self) -> Bytes {
        self.front.freeze()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn overlapping_parts_make_up_their_message(
            cuts in prop::collection::vec((0_usize..300, 1_usize..200), 1..40),
        ) {
            let whole: Bytes = (0..300_u32).map(|byte| byte as u8).collect();
            let mut pieces = Pieces::new(300);
            for (at, len) in cuts.into_iter().chain([(150, 150), (0, 150)]) {
                pieces.add(at, &whole.slice(at..300.min(at + len)), 0, 1000);
                let behind: usize = pieces.later.values().map(|it| weight(it.len())).sum();
                prop_assert_eq!(pieces.charge(), BEGUN + pieces.front.capacity() + behind);
            }
            prop_assert!(pieces.is_complete() && pieces.later.is_empty());
            prop_assert_eq!(pieces.finish(), whole);
        }
    }

    #[test]
    fn what_is_new_of_overlapping_parts_does_not_keep_their_datagrams() {
        let mut pieces = Pieces::new(10_000);
        let datagram = Bytes::from(vec![7; 1400]);
        pieces.add(100, &datagram.slice(..1), 1400, 0);
        pieces.add(101, &datagram.slice(..600), 1400, 0);
        pieces.add(102, &datagram.slice(..600), 1400, 0);
        let kept: Vec<usize> = pieces.later.values().map(Bytes::len).collect();
        assert_eq!(kept, [1, 600, 1]);
        let held =
            pieces.later.values().filter(|it| datagram.as_ptr_range().contains(&it.as_ptr()));
        assert_eq!(held.count(), 0);
        // Nothing is taken ahead where nothing is to spare.
        pieces.add(0, &datagram.slice(..50), 1400, 0);
        assert!(pieces.front.capacity() < 100, "{}", pieces.front.capacity());
    }

    #[test]
    fn a_part_belongs_to_one_message_and_lies_within_it() {
        let pieces = Pieces::new(100);
        let admits = |offset, total, len| pieces.admits(Part { offset, total }, len);
        assert!(admits(0, 100, 100) && admits(99, 100, 1));
        assert!(
            !admits(u32::MAX, 100, 2)
                && !admits(99, 100, 2)
                && !admits(0, 101, 5)
                && !admits(100, 100, 0)
        );
    }

    #[test]
    fn memory_is_taken_ahead_in_steps_and_within_what_is_to_spare() {
        let whole = Bytes::from(vec![5; 100_000]);
        for spare in [0, 3_000, usize::MAX / 2] {
            let mut pieces = Pieces::new(whole.len());
            let mut steps = 0;
            for at in (0..whole.len()).step_by(1_000) {
                let before = pieces.front.capacity();
                let most = pieces.front.len() + 1_000 + spare.min(whole.len());
                pieces.add(at, &whole.slice(at..at + 1_000), 1_000, spare);
                let after = pieces.front.capacity();
                if after != before {
                    steps += 1;
                    // What BytesMut adds of its own is at most as much again.
                    assert!(
                        after <= (2 * before).max(most.min(whole.len())),
                        "{spare} {at} {after}"
                    );
                }
            }
            assert!(pieces.is_complete());
            // Four times as much at each step, if it may.
            assert!(spare < whole.len() || steps <= 5, "{spare}: {steps}");
        }
    }
}
