//! A precise message in parts, put together as they arrive.

use std::collections::BTreeMap;

use bytes::{Bytes, BytesMut};
use windfall_base::RangeSet;
use windfall_wire_net::sap::Part;

/// The factor by which the memory for a message grows: its sender has only announced its length.
const GROWTH: usize = 16;

/// The bytes of a message that have arrived; parts may overlap, since a sender may cut anew.
#[derive(Clone, Debug)]
pub(crate) struct Pieces {
    total: usize,
    /// The bytes before the first gap.
    front: BytesMut,
    /// Parts behind it, which do not overlap, by their offset.
    later: BTreeMap<usize, Bytes>,
    have: RangeSet<u64>,
    /// The size of the parts as the receive buffer counts it.
    pub(crate) bytes: usize,
}

/// Returns whether a part of `len` bytes lies within its message, of `total` bytes.
pub(crate) fn is_within(part: Part, len: usize, total: usize) -> bool {
    part.total as usize == total && len > 0 && part.offset as usize + len <= total
}

impl Pieces {
    pub(crate) fn new(total: usize) -> Self {
        let (later, have) = (BTreeMap::new(), RangeSet::default());
        Self { total, front: BytesMut::new(), later, have, bytes: 0 }
    }

    /// Returns whether a part belongs to the same message, and is within it.
    pub(crate) fn admits(&self, part: Part, len: usize) -> bool {
        is_within(part, len, self.total)
    }

    /// Adds what is new of a part; `weight` is what the receive buffer counts.
    pub(crate) fn add(&mut self, offset: usize, data: &Bytes, weight: fn(usize) -> usize) {
        let place = offset as u64..(offset + data.len()) as u64;
        if offset == self.front.len() && self.later.is_empty() {
            self.bytes += weight(data.len());
            self.append(data);
            self.have.insert(place);
            return;
        }
        for gap in self.have.gaps(place.clone()) {
            let fresh = data.slice(gap.start as usize - offset..gap.end as usize - offset);
            self.bytes += weight(fresh.len());
            self.later.insert(gap.start as usize, fresh);
        }
        self.have.insert(place);
        while let Some(next) = self.later.remove(&self.front.len()) {
            self.append(&next);
        }
    }

    fn append(&mut self, data: &[u8]) {
        let len = self.front.len();
        if self.front.capacity() - len < data.len() {
            let grown = (len + data.len()) * GROWTH;
            self.front.reserve(grown.min(self.total - len).max(data.len()));
        }
        self.front.extend_from_slice(data);
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
                pieces.add(at, &whole.slice(at..300.min(at + len)), |len| len);
            }
            prop_assert!(pieces.is_complete() && pieces.later.is_empty());
            prop_assert_eq!(pieces.bytes, 300);
            prop_assert_eq!(pieces.finish(), whole);
        }
    }

    #[test]
    fn a_part_belongs_to_one_message_and_lies_within_it() {
        let pieces = Pieces::new(100);
        let admits = |offset, total, len| pieces.admits(Part { offset, total }, len);
        assert!(admits(0, 100, 100) && admits(99, 100, 1));
        assert!(!admits(99, 100, 2) && !admits(0, 101, 5) && !admits(100, 100, 0));
    }
}
