//! A path that is interrupted at random times.

use core::fmt;
use core::str::FromStr;

use windfall_base::{Duration, Instant, Stream};

use crate::air::ParseModelError;

/// The mean times for which a path carries frames and for which it loses them all.
///
/// Both times are distributed exponentially, and the path is on at first, as in mahimahi's
/// `mm-onoff`. The text form is `ON OFF`, such as `5s 500ms`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OnOff {
    /// The mean time for which frames pass.
    pub on: Duration,
    /// The mean time for which they are lost.
    pub off: Duration,
}

/// The shortest mean time, so that phases cost bounded work.
const SHORTEST: Duration = Duration::from_millis(1);

impl fmt::Display for OnOff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.on, self.off)
    }
}

impl FromStr for OnOff {
    type Err = ParseModelError;

    fn from_str(text: &str) -> Result<Self, ParseModelError> {
        let mut words = text.split_whitespace().map(|word| word.parse::<Duration>().ok());
        let mut time = || words.next().flatten().filter(|time| *time >= SHORTEST);
        match (time(), time(), words.next()) {
            (Some(on), Some(off), None) => Ok(Self { on, off }),
            _ => {
                let fix = "write the mean times on and off, 1ms or more each, such as \"5s 500ms\"";
                Err(ParseModelError::new("interruption", text, fix.to_owned()))
            }
        }
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

    /// The same phases go on, if these are the same means.
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

    /// Draws the length of the phase.
    fn length(&self) -> Duration {
        let mean = if self.phase.is_multiple_of(2) { self.means.on } else { self.means.off };
        let deviate = -(1.0 - self.stream.unit_at(self.phase)).ln();
        Duration::from_nanos((mean.as_nanos() as f64 * deviate) as u64)
    }
}

#[cfg(test)]
mod tests;
