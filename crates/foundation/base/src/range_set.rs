//! Sets of positions as ordered ranges that neither touch nor overlap.

use std::collections::BTreeMap;

use core::ops::{Add, Range, Sub};

/// An integer that numbers positions, such as `u64` or `usize`.
pub trait Ordinal: Copy + Ord + Default + Add<Output = Self> + Sub<Output = Self> {}

impl<T: Copy + Ord + Default + Add<Output = T> + Sub<Output = T>> Ordinal for T {}

/// A set of positions; every operation costs the ranges that it touches, not those that it holds.
///
/// Most sets are one range, which needs no memory of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RangeSet<T = u64> {
    /// The first range; empty if the set is.
    first: Range<T>,
    /// The end of each further range, by its start.
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
        if self.first.is_empty() || self.first.start == range.start {
            self.first = range;
        } else if self.first.start < range.start {
            self.rest.insert(range.start, range.end);
        } else {
            self.rest.insert(self.first.start, self.first.end);
            self.first = range;
        }
    }

    /// Takes the range out that begins at `start`.
    fn take(&mut self, start: T) {
        if self.first.start == start {
            let next = self.rest.pop_first();
            self.first = next.map_or(T::default()..T::default(), |(start, end)| start..end);
        } else {
            self.rest.remove(&start);
        }
    }

    /// Moves the start of `known` to `start`.
    fn shorten(&mut self, known: Range<T>, start: T) {
        if self.first.start == known.start {
            self.first.start = start;
        } else {
            self.rest.remove(&known.start);
            self.rest.insert(start, known.end);
        }
    }

    /// Empties the set.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Returns the first range.
    fn first(&self) -> Option<Range<T>> {
        (!self.first.is_empty()).then(|| self.first.clone())
    }

    /// Returns the last range that begins at or before `position`.
    fn preceding(&self, position: T) -> Option<Range<T>> {
        let rest = self.rest.range(..=position).next_back().map(|(&start, &end)| start..end);
        rest.or_else(|| self.first().filter(|first| first.start <= position))
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
        let rest = || self.rest.range(position..).next().map(|(&start, &end)| start..end);
        self.first().filter(|first| first.start >= position).or_else(rest)
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
        self.first().into_iter().chain(self.rest.iter().map(|(&start, &end)| start..end))
    }

    /// Returns the number of ranges.
    #[must_use]
    pub fn len(&self) -> usize {
        usize::from(!self.is_empty()) + self.rest.len()
    }

    /// Returns whether the set is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.first.is_empty()
    }

    /// Returns the number of positions in the set.
    #[must_use]
    pub fn total(&self) -> T {
        self.total
    }

    /// Returns the end of the last range.
    #[must_use]
    pub fn end(&self) -> Option<T> {
        let rest = self.rest.last_key_value().map(|(_, &end)| end);
        rest.or_else(|| self.first().map(|first| first.end))
    }
}

impl<T: Ordinal> Default for RangeSet<T> {
    fn default() -> Self {
        Self { first: T::default()..T::default(), rest: BTreeMap::new(), total: T::default() }
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
