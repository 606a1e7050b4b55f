//! A path that is interrupted, at random times or by turns.

use core::fmt;
use core::str::FromStr;

use windfall_base::{Duration, Instant, Stream};

use crate::air::ParseModelError;

/// The mean times for which a path carries frames and for which it loses them all.
///
/// Both times are distributed exponentially, as in mahimahi's `mm-onoff`, or always the same, as
/// in its `mm-intermittent`; the path is on at first. The text form is `ON OFF [periodic]`, such
/// as `5s 500ms`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OnOff {
    /// The mean time for which frames pass.
    pub on: Duration,
    /// The mean time for which they are lost.
    pub off: Duration,
    /// Each time is the mean, in place of one that is drawn.
    pub periodic: bool,
}

/// The shortest mean time, so that phases cost bounded work.
const SHORTEST: Duration = Duration::from_millis(1);

impl fmt::Display for OnOff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}{}", self.on, self.off, if self.periodic { " periodic" } else { "" })
    }
}

impl FromStr for OnOff {
    type Err = ParseModelError;

    fn from_str(text: &str) -> Result<Self, ParseModelError> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let time = |word: &str| word.parse().ok().filter(|time: &Duration| *time >= SHORTEST);
        let read = match words[..] {
            [on, off] => time(on).zip(time(off)).map(|times| (times, false)),
            [on, off, "periodic"] => time(on).zip(time(off)).map(|times| (times, true)),
            _ => None,
        };
        let ((on, off), periodic) = read.ok_or_else(|| {
            let fix = "write the mean times on and off, 1ms or more each, such as \"5s 500ms\", \
                       and perhaps periodic behind them";
            ParseModelError::new("interruption", text, fix.to_owned())
        })?;
        Ok(Self { on, off, periodic })
    }
}

/// Interruptions at work.
#[derive(Clone, Debug)]
pub(super) struct Outages {
    means: OnOff,
    stream: Stream,
    /// The number of the phase: those with even numbers are on.
    phase: u64,
    /// When it ends.
    until: Instant,
}

impl Outages {
    /// Interruptions of a path that is on from `now` on.
    pub(super) fn new(means: OnOff, stream: Stream, now: Instant) -> Self {
        let mut outages = Self { means, stream, phase: 0, until: now };
        outages.until = now + outages.length();
        outages
    }

    /// Continues the phases of `before` if their means are unchanged.
    pub(super) fn behind(self, before: Option<&Self>) -> Self {
        before.filter(|before| before.means == self.means).cloned().unwrap_or(self)
    }

    /// Tells whether the path is interrupted at `now`, which never goes back.
    pub(super) fn is_off(&mut self, now: Instant) -> bool {
        while self.until <= now {
            self.phase += 1;
            self.until += self.length();
        }
        self.phase % 2 == 1
    }

    /// Draws the length of the phase, unless all are the same.
    fn length(&self) -> Duration {
        let mean = if self.phase.is_multiple_of(2) { self.means.on } else { self.means.off };
        if self.means.periodic {
            return mean;
        }
        let deviate = -(1.0 - self.stream.unit_at(self.phase)).ln();
        Duration::from_nanos((mean.as_nanos() as f64 * deviate) as u64)
    }
}

#[cfg(test)]
mod tests;
