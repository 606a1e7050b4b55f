//! The ranges that are found in a file, in memory that its bytes do not choose.

use core::ops::Range;

use super::join_closest;

/// The ranges that are kept however few are asked for.
const KEPT: usize = 1 << 16;

/// Ranges in order. Those that touch are one, and where there are too many the closest are joined.
#[derive(Debug)]
pub(super) struct Ranges {
    found: Vec<Range<usize>>,
    /// The number that was asked for.
    most: usize,
}

impl Ranges {
    pub(super) const fn new(most: usize) -> Self {
        Self { found: Vec::new(), most }
    }

    /// Adds a range that begins before none of the others.
    pub(super) fn push(&mut self, range: Range<usize>) {
        if range.is_empty() {
            return;
        }
        if let Some(last) = self.found.last_mut()
            && range.start <= last.end
        {
            last.end = last.end.max(range.end);
            return;
        }
        let kept = self.most.max(KEPT);
        if self.found.len() >= kept.saturating_mul(2) {
            self.found = join_closest(core::mem::take(&mut self.found), kept);
        }
        self.found.push(range);
    }

    /// Tells whether there are more than were asked for.
    pub(super) const fn is_exceeded(&self) -> bool {
        self.found.len() > self.most
    }

    pub(super) fn clear(&mut self) {
        self.found.clear();
    }

    /// Returns as many as were asked for at most.
    pub(super) fn into_closest(self) -> Vec<Range<usize>> {
        join_closest(self.found, self.most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_take_no_more_memory_however_many_are_found() {
        let mut ranges = Ranges::new(10);
        for at in 0..10 * KEPT {
            ranges.push(9 * at..9 * at + 4);
            ranges.push(9 * at + 4..9 * at + 4);
            ranges.push(9 * at + 4..9 * at + 8);
            assert!(ranges.found.len() <= 2 * KEPT && ranges.found.capacity() <= 4 * KEPT);
        }
        let exact = ranges.into_closest();
        assert!(exact.len() <= 10 && exact[0].start == 0, "{exact:?}");
        assert_eq!(exact.last().map(|it| it.end), Some(9 * 10 * KEPT - 1));
    }

    #[test]
    fn those_that_were_asked_for_are_all_there() {
        let most = 3 * KEPT;
        let mut ranges = Ranges::new(most);
        (0..most).for_each(|at| ranges.push(2 * at..2 * at + 1));
        assert_eq!(ranges.into_closest().len(), most);
    }
}
