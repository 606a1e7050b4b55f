//! Sets of positions as ordered ranges that neither touch nor overlap.

use std::collections::BTreeMap;

use core::ops::{Add, Range, Sub};

/// An integer that numbers positions, such as `u64` or `usize`.
pub trait Ordinal: Copy + Ord + Default + Add<Output = Self> + Sub<Output = Self> {}

impl<T: Copy + Ord + Default + Add<Output = T> + Sub<Output = T>> Ordinal for T {}

/// A set of positions; every operation costs the ranges that it touches, not those that it holds.
///
/// Most sets are one range, which needs no memory of its own, and most positions are added at the
/// end, which looks at the last range only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RangeSet<T = u64> {
    /// The last range; empty if the set is.
    last: Range<T>,
    /// The end of each range before it, by its start.
    rest: BTreeMap<T, T>,
    total: T,
}

impl<T: Ordinal> RangeSet<T> {
    /// Adds `range` and joins what touches it; returns the number of new positions.
    pub fn insert(&mut self, range: Range<T>) -> T {
        if range.is_empty() {
            return T::default();
        }
        let before = self.total;
        let (mut start, mut end, mut from) = (range.start, range.end, range.start);
        if let Some(known) = self.preceding(start)
            && known.end >= start
        {
            if known.end >= end {
                return T::default();
            }
            (start, from) = (known.start, known.end);
            self.total = self.total - (known.end - known.start);
        }
        while let Some(known) = self.following(from)
            && known.start <= end
        {
            self.take(known.start);
            self.total = self.total - (known.end - known.start);
            from = known.end;
            end = end.max(known.end);
        }
        self.put(start..end);
        self.total = self.total + (end - start);
        self.total - before
    }

    /// Removes the positions of `range`.
    pub fn remove(&mut self, range: Range<T>) {
        if range.is_empty() {
            return;
        }
        if let Some(known) = self.preceding(range.start)
            && known.start < range.start
            && known.end > range.start
        {
            self.put(known.start..range.start);
            self.total = self.total - (known.end.min(range.end) - range.start);
            if known.end > range.end {
                self.put(range.end..known.end);
                return;
            }
        }
        while let Some(known) = self.following(range.start)
            && known.start < range.end
        {
            self.total = self.total - (known.end.min(range.end) - known.start);
            if known.end > range.end {
                self.shorten(known, range.end);
                return;
            }
            self.take(known.start);
        }
    }

    /// Puts a range in, or in the place of the one with the same start.
    fn put(&mut self, range: Range<T>) {
        if self.last.is_empty() || self.last.start == range.start {
            self.last = range;
        } else if self.last.start < range.start {
            self.rest.insert(self.last.start, self.last.end);
            self.last = range;
        } else {
            self.rest.insert(range.start, range.end);
        }
    }

    /// Takes the range out that begins at `start`.
    fn take(&mut self, start: T) {
        if self.last.start == start {
            let before = self.rest.pop_last();
            self.last = before.map_or(T::default()..T::default(), |(start, end)| start..end);
        } else {
            self.rest.remove(&start);
        }
    }

    /// Moves the start of `known` to `start`.
    fn shorten(&mut self, known: Range<T>, start: T) {
        if self.last.start == known.start {
            self.last.start = start;
        } else {
            self.rest.remove(&known.start);
            self.rest.insert(start, known.end);
        }
    }

    /// Empties the set.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Returns the last range.
    fn last(&self) -> Option<Range<T>> {
        (!self.last.is_empty()).then(|| self.last.clone())
    }

    /// Returns the last range that begins at or before `position`.
    fn preceding(&self, position: T) -> Option<Range<T>> {
        let last = self.last().filter(|last| last.start <= position);
        let rest = || self.rest.range(..=position).next_back();
        last.or_else(|| rest().map(|(&start, &end)| start..end))
    }

    /// Returns the range that holds `position`.
    #[must_use]
    pub fn containing(&self, position: T) -> Option<Range<T>> {
        self.preceding(position).filter(|range| position < range.end)
    }

    /// Returns whether `position` is in the set.
    #[must_use]
    pub fn contains(&self, position: T) -> bool {
        self.containing(position).is_some()
    }

    /// Returns the first range that begins at or after `position`.
    #[must_use]
    pub fn following(&self, position: T) -> Option<Range<T>> {
        let last = self.last().filter(|last| last.start >= position)?;
        let rest = self.rest.range(position..).next().map(|(&start, &end)| start..end);
        rest.or(Some(last))
    }

    /// Returns the first range of what is in the set at or after `position`.
    #[must_use]
    pub fn next_from(&self, position: T) -> Option<Range<T>> {
        let rest = self.containing(position).map(|range| position..range.end);
        rest.or_else(|| self.following(position))
    }

    /// Returns the parts of `range` that are missing, in order.
    pub fn gaps(&self, range: Range<T>) -> impl Iterator<Item = Range<T>> + '_ {
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

    /// Returns the parts of `range` that are in the set, in order.
    pub fn within(&self, range: Range<T>) -> impl Iterator<Item = Range<T>> + '_ {
        let mut at = range.start;
        core::iter::from_fn(move || {
            let part = self.next_from(at).filter(|part| part.start < range.end)?;
            at = part.end;
            (part.start < range.end).then_some(part.start..part.end.min(range.end))
        })
    }

    /// Returns the number of positions of the set within `range`; costs the ranges in it.
    #[must_use]
    pub fn count_within(&self, range: Range<T>) -> T {
        self.within(range).fold(T::default(), |sum, part| sum + (part.end - part.start))
    }

    /// Returns the ranges in order; reversible.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Range<T>> + '_ {
        self.rest.iter().map(|(&start, &end)| start..end).chain(self.last())
    }

    /// Returns the number of ranges.
    #[must_use]
    pub fn len(&self) -> usize {
        usize::from(!self.is_empty()) + self.rest.len()
    }

    /// Returns whether the set is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.last.is_empty()
    }

    /// Returns the number of positions in the set.
    #[must_use]
    pub fn total(&self) -> T {
        self.total
    }

    /// Returns the end of the last range.
    #[must_use]
    pub fn end(&self) -> Option<T> {
        self.last().map(|last| last.end)
    }
}

impl<T: Ordinal> Default for RangeSet<T> {
    fn default() -> Self {
        Self { last: T::default()..T::default(), rest: BTreeMap::new(), total: T::default() }
    }
}

impl<T: Ordinal> From<Range<T>> for RangeSet<T> {
    fn from(range: Range<T>) -> Self {
        let mut set = Self::default();
        set.insert(range);
        set
    }
}

#[cfg(test)]
mod tests;
