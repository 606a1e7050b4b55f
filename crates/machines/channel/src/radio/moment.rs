//! The moments of transmissions that are still to come.

use windfall_base::Instant;

/// The next happening; of those at one instant, ends come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Moment {
    /// The sender's signal ends.
    Done(u32),
    /// It ends at the hearers from one to before another, whose delay is the same.
    Leave(u32, u32, u32),
    /// It arrives at them.
    Arrive(u32, u32, u32),
}

/// The moments to come, the last first.
///
/// There are a few for each transmission on the air, so that a sorted list costs less than a heap.
#[derive(Debug, Default)]
pub(super) struct Moments(Vec<(Instant, Moment)>);

impl Moments {
    /// Enters a moment.
    #[inline]
    pub(super) fn enter(&mut self, at: Instant, moment: Moment) {
        let is_later = |(other, what): &&(Instant, Moment)| (*other, *what) < (at, moment);
        let place = self.0.len() - self.0.iter().rev().take_while(is_later).count();
        self.0.insert(place, (at, moment));
    }

    /// Returns the earliest moment.
    #[inline]
    pub(super) fn next(&self) -> Option<(Instant, Moment)> {
        self.0.last().copied()
    }

    /// Takes the earliest moment if it is due at `now`.
    #[inline]
    pub(super) fn pop_due(&mut self, now: Instant) -> Option<(Instant, Moment)> {
        self.0.pop_if(|(at, _)| *at <= now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_come_in_order_and_ends_before_arrivals() {
        let at = Instant::from_nanos;
        let mut moments = Moments::default();
        moments.enter(at(7), Moment::Arrive(0, 0, 1));
        moments.enter(at(9), Moment::Done(0));
        moments.enter(at(7), Moment::Leave(1, 0, 1));
        moments.enter(at(5), Moment::Arrive(2, 3, 4));
        moments.enter(at(7), Moment::Done(3));
        assert_eq!(moments.pop_due(at(4)), None);
        let due = core::iter::from_fn(|| moments.pop_due(at(7)));
        let expected = [
            (at(5), Moment::Arrive(2, 3, 4)),
            (at(7), Moment::Done(3)),
            (at(7), Moment::Leave(1, 0, 1)),
            (at(7), Moment::Arrive(0, 0, 1)),
        ];
        assert_eq!(due.collect::<Vec<_>>(), expected);
        assert_eq!(moments.next(), Some((at(9), Moment::Done(0))));
    }
}
