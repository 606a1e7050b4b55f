//! Sets of stream positions as ordered ranges that neither touch nor overlap.

use std::collections::BTreeMap;

use core::ops::Range;

/// A set of positions; every operation costs the ranges it touches, not those it holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RangeSet {
    ranges: BTreeMap<u64, u64>,
    total: u64,
}

impl RangeSet {
    /// Adds `range`, joining what touches; returns how many positions are new.
    pub(crate) fn insert(&mut self, range: Range<u64>) -> u64 {
        if range.is_empty() {
            return 0;
        }
        let before = self.total;
        let mut start = range.start;
        let mut end = range.end;
        while let Some((&other, &other_end)) = self.ranges.range(..=end).next_back() {
            if other_end < start {
                break;
            }
            start = start.min(other);
            end = end.max(other_end);
            self.total -= other_end - other;
            self.ranges.remove(&other);
        }
        self.ranges.insert(start, end);
        self.total += end - start;
        self.total - before
    }

    /// Removes every position below `limit`.
    pub(crate) fn remove_below(&mut self, limit: u64) {
        while let Some((&start, &end)) = self.ranges.first_key_value() {
            if start >= limit {
                break;
            }
            self.ranges.remove(&start);
            self.total -= end.min(limit) - start;
            if end > limit {
                self.ranges.insert(limit, end);
                break;
            }
        }
    }

    /// Empties the set.
    pub(crate) fn clear(&mut self) {
        self.ranges.clear();
        self.total = 0;
    }

    /// Returns the range that holds `position`.
    #[must_use]
    pub(crate) fn containing(&self, position: u64) -> Option<Range<u64>> {
        let (&start, &end) = self.ranges.range(..=position).next_back()?;
        (position < end).then_some(start..end)
    }

    /// Returns the first range that begins at or after `position`.
    #[must_use]
    pub(crate) fn following(&self, position: u64) -> Option<Range<u64>> {
        self.ranges.range(position..).next().map(|(&start, &end)| start..end)
    }

    /// Returns the parts of `range` that are missing, in order.
    pub(crate) fn gaps(&self, range: Range<u64>) -> impl Iterator<Item = Range<u64>> + '_ {
        let mut at = range.start;
        core::iter::from_fn(move || {
            if let Some(inside) = self.containing(at) {
                at = inside.end;
            }
            if at >= range.end {
                return None;
            }
            let end = self.following(at).map_or(range.end, |next| next.start.min(range.end));
            let gap = at..end;
            at = end;
            Some(gap)
        })
    }

    /// Positions of the set within `range`; costs the ranges in it.
    #[must_use]
    pub(crate) fn count_within(&self, range: Range<u64>) -> u64 {
        if range.is_empty() {
            return 0;
        }
        let overlap = |(&start, &end): (&u64, &u64)| {
            end.min(range.end).saturating_sub(start.max(range.start))
        };
        let first = self.ranges.range(..range.start).next_back().map_or(0, overlap);
        first + self.ranges.range(range.start..range.end).map(overlap).sum::<u64>()
    }

    /// Returns the ranges in order; reversible.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = Range<u64>> + '_ {
        self.ranges.iter().map(|(&start, &end)| start..end)
    }

    /// Returns the number of ranges.
    #[must_use]
    pub(crate) fn len(&self) -> usize {
        self.ranges.len()
    }

    /// Returns whether the set is empty.
    #[must_use]
    pub(crate) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Returns the number of positions in the set.
    #[must_use]
    pub(crate) const fn total(&self) -> u64 {
        self.total
    }

    /// Returns the end of the last range.
    #[must_use]
    pub(crate) fn end(&self) -> Option<u64> {
        self.ranges.last_key_value().map(|(_, &end)| end)
    }
}

#[cfg(test)]
mod tests;
