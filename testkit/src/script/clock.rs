//! The times of a script: seconds from its start, or after the line before.

use windfall_base::{Duration, Instant};

/// The time that the script has reached.
#[derive(Debug, Default)]
pub(super) struct Clock {
    pub(super) now: Instant,
    /// The time of the line before.
    last: Instant,
}

impl Clock {
    /// The time that a line is about.
    pub(super) fn read(&mut self, text: &str) -> Result<Instant, String> {
        let (base, digits) = match text.strip_prefix('+') {
            Some(digits) => (self.last, digits),
            None => (Instant::START, text),
        };
        let nanos = nanos(digits)
            .ok_or_else(|| format!("\"{text}\" is not a time; write seconds such as 0.25 or +1"))?;
        let at = base.saturating_add(Duration::from_nanos(nanos));
        if at < self.last {
            return Err(format!("{at} lies before {} in the line above", self.last));
        }
        self.last = at;
        Ok(at)
    }

    /// Tells whether a wake-up at `next` belongs to a line about `at`; scripts write microseconds.
    pub(super) fn is_due(&self, next: Instant, at: Instant) -> bool {
        next.as_micros() <= at.as_micros()
    }

    /// Tells whether the current time is `at`.
    pub(super) fn is_at(&self, at: Instant) -> bool {
        self.now.as_micros() == at.as_micros()
    }
}

/// Seconds with at most nine decimals, in nanoseconds.
fn nanos(text: &str) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || fraction.len() > 9 || !digits(fraction) {
        return None;
    }
    let fraction: u64 = format!("{fraction:0<9}").parse().ok()?;
    whole.parse::<u64>().ok()?.checked_mul(1_000_000_000)?.checked_add(fraction)
}
