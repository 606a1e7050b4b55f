//! The way from the end of a line to the receiver: delay, jitter, reordering, duplication.

use windfall_base::{Duration, Instant, Seed, SlotTiming, Stream};

use super::PathConfig;
use super::jitter::{Jitter, Jitters};
use super::reorder::Overtaking;
use super::slot::Slots;
use crate::air::Chances;

/// Frames on their way; each draws from its own number, whatever happens to the others.
#[derive(Debug)]
pub(super) struct Transit {
    delay: Duration,
    /// The delay beyond it that jitter adds at most, or hardly ever exceeds.
    allowance: Duration,
    jitters: Option<Jitters>,
    /// The jitter of copies.
    copies: Option<Jitters>,
    overtaking: Option<Overtaking>,
    duplicates: Option<(Chances, Stream)>,
    slots: Option<Slots>,
    /// The number of the next frame.
    number: u64,
    /// The latest departure so far, out of a slot where there are any, before which none may leave
    /// that keeps its place.
    latest: Option<Instant>,
}

impl Transit {
    pub(super) fn new(config: &PathConfig, seed: Seed, name: &str) -> Self {
        let stream = |of: &str| Stream::new(seed, &format!("{name}/{of}"));
        let jitters = |of: &str| config.jitter.clone().map(|it| Jitters::new(it, stream(of)));
        Self {
            delay: config.delay,
            allowance: config.jitter.as_ref().map_or(Duration::ZERO, Jitter::allowance),
            jitters: jitters("jitter"),
            copies: jitters("copies"),
            overtaking: config.reorder.map(|it| Overtaking::new(it, stream("reorder"))),
            duplicates: config.duplicate.map(|it| (Chances::new(it), stream("duplicate"))),
            slots: config.slot.clone().map(|it| Slots::new(it, seed, name)),
            number: 0,
            latest: None,
        }
    }

    /// The delay that frames have at most, or hardly ever exceed, without slots.
    pub(super) const fn usual_delay(&self) -> Duration {
        self.delay.saturating_add(self.allowance)
    }

    /// Returns the time that slots may add to that of frames, if there are any.
    pub(super) fn slots(&self) -> Option<SlotTiming> {
        self.slots.as_ref().map(Slots::timing)
    }

    /// Continues behind the frames that another has let through.
    pub(super) fn behind(self, before: &Self) -> Self {
        let slots = self.slots.map(|slots| slots.behind(before.slots.as_ref()));
        Self { number: before.number, latest: before.latest, slots, ..self }
    }

    /// Returns when the last bit of the next frame arrives, whose `length` bytes left from `began`
    /// to `ended`, and that of its copy, if it has one.
    pub(super) fn next(
        &mut self,
        began: Instant,
        ended: Instant,
        length: usize,
    ) -> (Instant, Option<Instant>) {
        let number = self.number;
        self.number += 1;
        let overtakes = self.overtaking.as_mut().is_some_and(|it| it.next(number));
        let way = delay(self.jitters.as_mut(), self.delay, number);
        let way = if overtakes { Duration::ZERO } else { way };
        let at = self.leave(began, ended + way, length);
        let duplicates = self.duplicates.as_mut();
        let is_duplicated =
            duplicates.is_some_and(|(chances, stream)| chances.next(stream, number));
        let way = delay(self.copies.as_mut(), self.delay, number);
        let copied = is_duplicated.then(|| {
            // A copy keeps behind what left before it, and holds up nothing that comes later.
            let latest = self.latest;
            let copied = self.leave(began, ended + way, length);
            self.latest = latest;
            copied
        });
        (at, copied)
    }

    /// Returns when what came at `came` and is due at `due` leaves: in the order of sending unless
    /// frames may overtake, and in a slot if there are any.
    fn leave(&mut self, came: Instant, due: Instant, length: usize) -> Instant {
        let before = self.latest.filter(|_| self.overtaking.is_none());
        let due = before.map_or(due, |before| before.max(due));
        let at = self.slots.as_mut().map_or(due, |slots| slots.leave(came, due, length));
        // Noted in any case: after a change there may be neither slots nor overtaking.
        self.latest = self.latest.max(Some(at));
        at
    }
}

fn delay(jitters: Option<&mut Jitters>, mean: Duration, number: u64) -> Duration {
    jitters.map_or(mean, |jitters| jitters.delay(mean, number))
}

#[cfg(test)]
mod tests;
