//! Losses by collision with the peer's reports. On a shared medium, the datagram after one that
//! requests an immediate report may collide with the report.
//!
//! Such a loss is no sign of congestion. Statistics separate both causes: a full queue drops any
//! datagram, but a report collides only with the datagram right after the reported one.

/// The number of datagrams with which the report of the one before may collide: the first, if the
/// peer answers at once, or the second.
const BEHIND: u32 = 2;
/// The losses after reported datagrams that suffice to compare the two rates.
const ENOUGH: f64 = 3.0;
/// The ratio of the two rates from which the losses count as collisions.
const RATIO: f64 = 3.0;
/// Added to the losses of other datagrams as a prior, because a few datagrams without loss prove
/// little.
const PRIOR: f64 = 0.5;
/// The number of datagrams after which the counts are halved, so that they follow the path.
const MEMORY: f64 = 2048.0;

/// The datagrams of one kind whose outcome is known.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    all: f64,
    lost: f64,
}

/// The losses after datagrams that are reported at once, and elsewhere.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Collisions {
    /// The number of datagrams sent since one that asked for a report.
    since: u32,
    behind: Tally,
    elsewhere: Tally,
}

impl Default for Collisions {
    fn default() -> Self {
        Self { since: BEHIND, behind: Tally::default(), elsewhere: Tally::default() }
    }
}

impl Collisions {
    /// Notes that a datagram is sent, which is `urgent` if it asks for a report; returns whether it
    /// follows right after one that did.
    pub(crate) fn on_send(&mut self, urgent: bool) -> bool {
        let is_behind = self.since < BEHIND;
        self.since = if urgent { 0 } else { self.since.saturating_add(1) };
        is_behind
    }

    /// Notes that a datagram arrived.
    pub(crate) fn on_arrival(&mut self, is_behind: bool) {
        self.count(is_behind, 0.0);
    }

    /// Counts a lost datagram; returns whether the loss is attributed to a collision.
    pub(crate) fn on_loss(&mut self, is_behind: bool) -> bool {
        self.count(is_behind, 1.0);
        let Self { behind, elsewhere, .. } = *self;
        let expected = RATIO * (elsewhere.lost + PRIOR) * behind.all / elsewhere.all.max(1.0);
        is_behind && behind.lost >= ENOUGH && behind.lost > expected
    }

    /// Notes that a datagram that counted as lost arrived.
    pub(crate) fn on_late(&mut self, is_behind: bool) {
        let tally = if is_behind { &mut self.behind } else { &mut self.elsewhere };
        tally.lost = (tally.lost - 1.0).max(0.0);
    }

    fn count(&mut self, is_behind: bool, lost: f64) {
        let tally = if is_behind { &mut self.behind } else { &mut self.elsewhere };
        tally.all += 1.0;
        tally.lost += lost;
        if self.behind.all + self.elsewhere.all >= MEMORY {
            for tally in [&mut self.behind, &mut self.elsewhere] {
                *tally = Tally { all: tally.all / 2.0, lost: tally.lost / 2.0 };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends `count` datagrams of which each fifth asks for a report; `lost` tells by the place
    /// behind it and the number which of them are lost. Returns the losses that count.
    fn counted(count: usize, lost: impl Fn(usize, usize) -> bool) -> usize {
        let mut collisions = Collisions::default();
        let mut counted = 0;
        for number in 0..count {
            let place = number % 5;
            let is_behind = collisions.on_send(place == 0);
            assert_eq!(is_behind, number > 0 && [1, 2].contains(&place), "{number}");
            if !lost(place, number) {
                collisions.on_arrival(is_behind);
            } else if !collisions.on_loss(is_behind) {
                counted += 1;
            }
        }
        counted
    }

    #[test]
    fn losses_behind_reported_datagrams_are_collisions_after_the_first_ones() {
        assert_eq!(counted(1000, |place, number| place == 1 && number % 50 == 1), 2);
    }

    #[test]
    fn losses_anywhere_count_all() {
        assert_eq!(counted(1000, |_, number| number % 20 == 7 * (number / 20) % 20), 50);
    }

    #[test]
    fn losses_anywhere_count_once_collisions_have_ended() {
        let all = |_: usize, number: usize| number % 20 == 7 * (number / 20) % 20;
        let early = |place: usize, number: usize| place == 1 && number % 50 == 1;
        let counted =
            counted(
                12_000,
                |place, number| {
                    if number < 2000 { early(place, number) } else { all(place, number) }
                },
            );
        assert!((400..=502).contains(&counted), "{counted}");
    }

    #[test]
    fn a_loss_that_was_none_does_not_count() {
        let mut collisions = Collisions::default();
        let lose = |collisions: &mut Collisions| (0..3).map(|_| collisions.on_loss(true)).last();
        (0..30).for_each(|_| collisions.on_arrival(false));
        assert_eq!(lose(&mut collisions), Some(true));
        (0..3).for_each(|_| collisions.on_late(true));
        assert!(!collisions.on_loss(true), "it is the first one");
        collisions.on_late(false);
        assert_eq!(collisions.elsewhere.lost, 0.0);
        assert_eq!((collisions.behind.lost, collisions.behind.all), (1.0, 4.0));
    }

    #[test]
    fn losses_behind_reports_must_be_three_times_as_frequent_as_others() {
        // Of 100 datagrams elsewhere `others` are lost; behind reports `lost` of 100.
        let is_collision = |others: usize, lost: usize| {
            let mut collisions = Collisions::default();
            for number in 0..100 {
                if number < others {
                    assert!(!collisions.on_loss(false));
                } else {
                    collisions.on_arrival(false);
                }
            }
            (0..100 - lost).for_each(|_| collisions.on_arrival(true));
            (0..lost).map(|_| collisions.on_loss(true)).last().unwrap()
        };
        // One half is added to the losses elsewhere: 10.5 of 100, three times 31.5.
        assert!(!is_collision(10, 31) && is_collision(10, 32));
        assert!(!is_collision(0, 2) && is_collision(0, 3), "three at least");
    }

    #[test]
    fn old_datagrams_weigh_half_after_two_thousand() {
        let mut collisions = Collisions::default();
        (0..1_000).for_each(|_| collisions.on_arrival(false));
        (0..24).for_each(|_| _ = collisions.on_loss(false));
        (0..1_023).for_each(|_| collisions.on_arrival(true));
        assert_eq!((collisions.elsewhere.all, collisions.behind.all), (1_024.0, 1_023.0));
        collisions.on_arrival(true);
        assert_eq!((collisions.elsewhere.all, collisions.behind.all), (512.0, 512.0));
        assert_eq!(collisions.elsewhere.lost, 12.0);
    }
}
