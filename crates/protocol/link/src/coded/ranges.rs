//! A set of bytes as few stretches in order.

use core::ops::Range;

/// Stretches of a stream: disjoint, not touching, ascending.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Ranges(Vec<Range<usize>>);

impl Ranges {
    /// All bytes before `end`.
    pub(super) fn until(end: usize) -> Self {
        let mut ranges = Self::default();
        ranges.insert(0..end);
        ranges
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns `true` if the set is one stretch.
    pub(super) fn is_contiguous(&self) -> bool {
        self.0.len() == 1
    }

    /// Returns the number of bytes.
    pub(super) fn bytes(&self) -> usize {
        self.0.iter().map(Range::len).sum()
    }

    /// The first stretch of the set from `at` on.
    pub(super) fn next_from(&self, at: usize) -> Option<Range<usize>> {
        self.0.iter().find(|range| range.end > at).map(|range| range.start.max(at)..range.end)
    }

    pub(super) fn insert(&mut self, new: Range<usize>) {
        if new.is_empty() {
            return;
        }
        let (mut start, mut end) = (new.start, new.end);
        self.0.retain(|range| {
            let touches = range.start <= end && start <= range.end;
            if touches {
                (start, end) = (start.min(range.start), end.max(range.end));
            }
            !touches
        });
        let at = self.0.partition_point(|range| range.start < start);
        self.0.insert(at, start..end);
    }

    pub(super) fn remove(&mut self, old: &Range<usize>) {
        if old.is_empty() {
            return;
        }
        // What is sent and what arrives is mostly the beginning of the only stretch.
        if let [only] = &mut self.0[..]
            && old.start <= only.start
            && old.end < only.end
        {
            only.start = only.start.max(old.end);
            return;
        }
        let parts = |range: &Range<usize>| {
            [range.start..range.end.min(old.start), range.start.max(old.end)..range.end]
        };
        self.0 = self.0.iter().flat_map(parts).filter(|range| !range.is_empty()).collect();
    }

    /// Returns the intersection of the set and `range`.
    pub(super) fn within(&self, range: &Range<usize>) -> Vec<Range<usize>> {
        let cut = |own: &Range<usize>| own.start.max(range.start)..own.end.min(range.end);
        self.0.iter().map(cut).filter(|range| !range.is_empty()).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_a_set(
            steps in prop::collection::vec((any::<bool>(), 0_usize..60, 0_usize..20), 0..30),
            probe in 0_usize..70,
            len in 0_usize..30,
        ) {
            let mut ranges = Ranges::default();
            let mut model = std::collections::BTreeSet::new();
            for (insert, start, len) in steps {
                let range = start..start + len;
                if insert {
                    model.extend(range.clone());
                    ranges.insert(range);
                } else {
                    model.retain(|byte| !range.contains(byte));
                    ranges.remove(&range);
                }
            }
            prop_assert_eq!(ranges.bytes(), model.len());
            let begins = model.iter().filter(|byte| **byte == 0 || !model.contains(&(*byte - 1)));
            prop_assert_eq!(ranges.is_contiguous(), begins.count() == 1);
            let next = ranges.next_from(probe).map(|range| range.start);
            prop_assert_eq!(next, model.range(probe..).next().copied());
            let all: Vec<usize> = ranges.0.iter().cloned().flatten().collect();
            prop_assert_eq!(&all, &model.iter().copied().collect::<Vec<_>>());
            let common: Vec<usize> = ranges.within(&(probe..probe + len)).into_iter().flatten()
                .collect();
            prop_assert_eq!(common, model.range(probe..probe + len).copied().collect::<Vec<_>>());
        }
    }
}
