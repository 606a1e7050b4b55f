//! The timers of a connection: a closed set, a table, one place that finds the next.

use windfall_base::Instant;

/// The timers of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timer {
    /// The oldest data sent must be acknowledged (RFC 6298).
    Retransmit,
    /// The peer's window is closed or too small: ask again (RFC 9293, section 3.8.6.1).
    Persist,
    /// The acknowledgment may not be held back any longer.
    DelayedAck,
    /// Nothing was heard for long: is the peer there?
    Keepalive,
    /// The next burst may leave.
    Pacing,
    /// A state that waits for the peer, or for old segments to die, ends.
    Linger,
}

impl Timer {
    const ALL: [Self; 6] = [
        Self::Retransmit,
        Self::Persist,
        Self::DelayedAck,
        Self::Keepalive,
        Self::Pacing,
        Self::Linger,
    ];

    /// Returns the name in explanations of why a driver waits.
    #[must_use]
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Retransmit => "tcp retransmission",
            Self::Persist => "tcp window probe",
            Self::DelayedAck => "tcp delayed ack",
            Self::Keepalive => "tcp keepalive",
            Self::Pacing => "tcp pacing",
            Self::Linger => "tcp time-wait",
        }
    }
}

/// No deadline: half the memory of an option.
const NEVER: Instant = Instant::from_nanos(u64::MAX);

/// The deadlines of the timers that run.
#[derive(Clone, Debug)]
pub(crate) struct Timers([Instant; Timer::ALL.len()]);

impl Default for Timers {
    fn default() -> Self {
        Self([NEVER; Timer::ALL.len()])
    }
}

impl Timers {
    /// Sets `timer` to fire at `at`.
    pub(crate) fn set(&mut self, timer: Timer, at: Instant) {
        self.0[timer as usize] = at.min(Instant::from_nanos(u64::MAX - 1));
    }

    /// Stops the timer `timer`.
    pub(crate) const fn stop(&mut self, timer: Timer) {
        self.0[timer as usize] = NEVER;
    }

    /// Stops every timer.
    pub(crate) fn stop_all(&mut self) {
        *self = Self::default();
    }

    /// Returns whether `timer` runs.
    #[must_use]
    pub(crate) fn runs(&self, timer: Timer) -> bool {
        self.0[timer as usize] != NEVER
    }

    /// Stops and names one timer that is due at `now`.
    pub(crate) fn take_due(&mut self, now: Instant) -> Option<Timer> {
        let is_due = |timer: &Timer| self.runs(*timer) && self.0[*timer as usize] <= now;
        let timer = Timer::ALL.into_iter().find(is_due)?;
        self.stop(timer);
        Some(timer)
    }

    /// Returns the next deadline.
    #[must_use]
    pub(crate) fn next(&self) -> Option<(Instant, Timer)> {
        let running = Timer::ALL.into_iter().filter(|timer| self.runs(*timer));
        running.map(|timer| (self.0[timer as usize], timer)).min_by_key(|(at, _)| *at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_timer_says_what_it_waits_for() {
        let mut names = Timer::ALL.map(Timer::name);
        assert!(names.iter().all(|name| name.starts_with("tcp ")), "{names:?}");
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
    }
}
