//! Whether it is worth looking for a datagram for a while before sleeping.
//!
//! To put a thread to sleep and wake it takes longer than a datagram's way through the system. So
//! who waits looks first, if what it waited for has come soon before; where it looked in vain, it
//! sleeps at once the next times, twice as many each time.

use windfall_base::Duration;

/// How long one looks, at most.
const SOON: Duration = Duration::from_micros(50);
/// Waits in a row that sleep at once, at most.
const MOST: u32 = 1 << 10;

/// What is known of the last waits.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Eager {
    /// Whether the last wait was short.
    soon: bool,
    /// Waits that sleep at once, from now on and after the next look in vain.
    pause: u32,
    penalty: u32,
}

impl Eager {
    /// How long to look before this wait sleeps.
    pub(crate) fn patience(&self) -> Duration {
        if self.soon && self.pause == 0 { SOON } else { Duration::ZERO }
    }

    /// Learns how long the wait took; `None` if nothing was found.
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
    fn one_looks_after_a_short_wait_and_pauses_after_a_look_in_vain() {
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
            // It sleeps, and is woken soon: looking alone is in vain.
            let looked = !eager.patience().is_zero();
            eager.learn(if looked { LONG } else { SHORT });
        }
        assert!(looks < 12, "{looks} looks in vain");
        assert!((0..2 * MOST).any(|_| {
            eager.learn(SHORT);
            eager.patience() == SOON
        }));
    }
}
