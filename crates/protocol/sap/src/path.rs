//! The search for the greatest datagram that the path carries (in the manner of RFC 8899).

use windfall_base::{Duration, Instant};

/// Sizes that paths are known to have room for: Ethernet, jumbo frames, loopback.
const STEPS: [usize; 6] = [1372, 1444, 4052, 8924, 16_356, 65_400];
/// Trials of one size before it counts as too great.
const TRIALS: u8 = 3;
/// Time between trials of one size, at least.
const BETWEEN: Duration = Duration::from_millis(100);

/// The size of the path, and the search for it. Sizes are bytes of SAP datagrams.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PathSize {
    base: usize,
    now: usize,
    most: usize,
    step: usize,
    trials: u8,
    /// When the next trial is due; `None` while there is nothing to try.
    due: Option<Instant>,
}

impl PathSize {
    /// A path that carries `base`, of whose greater sizes up to `most` nothing is known.
    pub(crate) fn new(base: usize, most: usize) -> Self {
        Self { base, now: base.min(most), most, step: 0, trials: 0, due: None }
    }

    /// The greatest size that is known to arrive.
    pub(crate) fn size(&self) -> usize {
        self.now
    }

    /// Begins the search.
    pub(crate) fn search(&mut self, now: Instant) {
        self.due = self.candidate().map(|_| now);
    }

    /// When the next trial is due.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// The size to try now, if a trial is due.
    pub(crate) fn try_now(&mut self, now: Instant, wait: Duration) -> Option<usize> {
        if self.due.is_none_or(|due| due > now) {
            return None;
        }
        let Some(size) = self.candidate() else {
            self.due = None;
            return None;
        };
        if self.trials == TRIALS {
            // Greater sizes fail too.
            self.due = None;
            return None;
        }
        self.trials += 1;
        self.due = Some(now + wait.max(BETWEEN));
        Some(size)
    }

    /// A trial of `size` arrived.
    pub(crate) fn arrived(&mut self, now: Instant, size: usize) {
        if size > self.now {
            self.now = size;
            self.step = STEPS.iter().position(|step| *step > size).unwrap_or(STEPS.len());
            self.trials = 0;
            self.search(now);
        }
    }

    /// Nothing arrives any more: perhaps the path has become smaller.
    pub(crate) fn fall_back(&mut self) {
        self.now = self.base.min(self.most);
        self.due = None;
    }

    fn candidate(&self) -> Option<usize> {
        let step = *STEPS.get(self.step)?;
        let size = step.min(self.most);
        (size > self.now).then_some(size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The size that is found on a path that carries `real`.
    fn found(real: usize, most: usize) -> (usize, usize) {
        let mut path = PathSize::new(1232, most);
        let (mut now, mut trials) = (Instant::START, 0);
        path.search(now);
        while let Some(due) = path.due() {
            now = now.max(due);
            if let Some(size) = path.try_now(now, Duration::ZERO) {
                trials += 1;
                assert!(size <= most);
                if size <= real {
                    path.arrived(now, size);
                }
            }
        }
        (path.size(), trials)
    }

    #[test]
    fn it_finds_the_greatest_step_that_arrives() {
        assert_eq!(found(1444, 65_400), (1444, 5));
        assert_eq!(found(1231, 65_400), (1232, 3));
        assert_eq!(found(70_000, 65_400), (65_400, 6));
        assert_eq!(found(70_000, 2000), (2000, 3));
        assert_eq!(found(70_000, 1052), (1052, 0));
    }
}
