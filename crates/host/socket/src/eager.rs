//! Adaptive busy polling: polls for a while before a thread sleeps, if that is likely to succeed.
//!
//! A sleep and a wake-up take longer than a datagram takes through the operating system. A caller
//! therefore polls first if its last wait was short. After each unsuccessful poll it sleeps at once
//! for twice as many waits as before.

use windfall_base::Duration;

/// The longest time of busy polling.
const SOON: Duration = Duration::from_micros(50);
/// The maximum number of consecutive waits without polling.
const MOST: u32 = 1 << 10;

/// The results of the last waits.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Eager {
    /// The last wait was short.
    soon: bool,
    /// The number of waits without polling, now and after the next unsuccessful poll.
    pause: u32,
    penalty: u32,
}

impl Eager {
    /// Returns how long to poll before this wait sleeps.
    pub(crate) fn patience(&self) -> Duration {
        if self.soon && self.pause == 0 { SOON } else { Duration::ZERO }
    }

    /// Records the duration of a wait; `None` if nothing arrived.
    pub(crate) fn learn(&mut self, waited: Option<Duration>) {
        let looked = !self.patience().is_zero();
        self.pause = self.pause.saturating_sub(1);
        self.soon = waited.is_some_and(|waited| waited < SOON);
        if looked && self.soon {
            self.penalty /= 2;
        } else if looked {
            self.penalty = (2 * self.penalty + 1).min(MOST);
            self.pause = self.penalty;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Option<Duration> = Some(Duration::from_micros(5));
    const LONG: Option<Duration> = Some(Duration::from_millis(5));

    #[test]
    fn a_caller_polls_after_a_short_wait_and_pauses_after_an_unsuccessful_poll() {
        let mut eager = Eager::default();
        assert!(eager.patience().is_zero(), "nothing is known");
        eager.learn(SHORT);
        assert_eq!(eager.patience(), SOON);
        eager.learn(LONG);
        eager.learn(SHORT);
        assert_eq!(eager.patience(), SOON, "a pause of one wait is over");
        let mut looks = 0;
        for _ in 0..1000 {
            looks += u32::from(!eager.patience().is_zero());
            // It sleeps and is woken soon: polling alone is unsuccessful.
            let looked = !eager.patience().is_zero();
            eager.learn(if looked { LONG } else { SHORT });
        }
        assert!(looks < 12, "{looks} unsuccessful polls");
        assert!((0..2 * MOST).any(|_| {
            eager.learn(SHORT);
            eager.patience() == SOON
        }));
    }
}
