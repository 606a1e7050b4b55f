//! mahimahi's traces: a line per delivery opportunity, its time in milliseconds.

use std::fmt::Write as _;

use windfall_base::{Duration, Instant};

use super::{Kind, RateTrace, RateTraceError, TracePosition};
use crate::traces::LineError;

/// Bytes that one opportunity carries.
pub const OPPORTUNITY: usize = 1500;
/// The most lines that are written.
const MAX_LINES: u32 = 100_000_000;

impl RateTrace {
    /// Reads a mahimahi trace: one whole number per line, milliseconds since the start, never
    /// falling; the last must be above 0.
    ///
    /// # Errors
    /// If a line is empty or no number, the times fall, or none lies above 0.
    pub fn from_mahimahi(text: &str) -> Result<Self, RateTraceError> {
        let mut times: Vec<u64> = Vec::new();
        for (i, line) in text.lines().enumerate() {
            let fail = |fix| LineError::new(i, line, fix);
            let number = line.strip_suffix('\r').unwrap_or(line);
            if number.is_empty() {
                return Err(fail("is empty: write one time in milliseconds on each line").into());
            }
            let is_digits = number.bytes().all(|byte| byte.is_ascii_digit());
            let millis = number.parse::<u64>().ok().filter(|_| is_digits);
            let millis = millis.ok_or_else(|| fail("is not a whole number of milliseconds"))?;
            let nanos = millis
                .checked_mul(1_000_000)
                .filter(|&nanos| nanos < u64::MAX / 2)
                .ok_or_else(|| fail("lies too far in the future"))?;
            if times.last().is_some_and(|&last| last > nanos) {
                return Err(fail("is before the line above it: sort the times").into());
            }
            times.push(nanos);
        }
        match times.last() {
            None => Err(RateTraceError::Whole("the trace has no lines".to_owned())),
            Some(0) => {
                let fix = "the last time must be above 0 ms, since the trace repeats after it";
                Err(RateTraceError::Whole(fix.to_owned()))
            }
            Some(_) => Ok(Self::repeating(Kind::Opportunities(times))),
        }
    }
}

impl RateTrace {
    /// Writes the first `length` of the trace as mahimahi does: a line for each 1500 bytes that
    /// pass, with the millisecond at whose beginning, or during which, the last of them leave.
    ///
    /// mahimahi starts over after the last line, so that a trace whose last bytes leave before the
    /// end of `length` starts over earlier there.
    ///
    /// # Errors
    /// If no 1500 bytes pass in that time, or more than a hundred million times as many.
    pub fn to_mahimahi(&self, length: Duration) -> Result<String, RateTraceError> {
        if self.is_paused() {
            let fix = "the trace is a pause without an end, and one of mahimahi has none";
            return Err(RateTraceError::Whole(fix.to_owned()));
        }
        let mut place = TracePosition::new(self.clone());
        let end = Instant::START + length;
        let mut text = String::new();
        let mut at = Instant::START;
        let mut lines = 0_u32;
        loop {
            at = place.finish(at, lines > 0, OPPORTUNITY);
            if at > end {
                break;
            }
            lines += 1;
            if lines > MAX_LINES {
                let fix = "the trace has more than 100000000 opportunities: write a shorter part";
                return Err(RateTraceError::Whole(fix.to_owned()));
            }
            // The first line must not be all there is of the period.
            let _ = writeln!(text, "{}", at.as_nanos().div_ceil(1_000_000).max(1));
        }
        if text.is_empty() {
            let fix = "less than 1500 bytes pass in this time: write a longer part";
            return Err(RateTraceError::Whole(fix.to_owned()));
        }
        Ok(text)
    }
}

/// A place among the opportunities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// The next opportunity, counted from the start of the run.
    pub(super) next: u64,
    /// Bytes left of the one before it.
    pub(super) left: u64,
}

/// Returns the number of the first opportunity after `at`, counted from the start of the run.
pub(super) fn after(times: &[u64], at: Instant) -> u64 {
    let Some(&period) = times.last() else { return 0 };
    let cycle = at.as_nanos() / period;
    let offset = at.as_nanos() % period;
    cycle * times.len() as u64 + times.partition_point(|&time| time <= offset) as u64
}

/// When `bytes` bytes have left, and the place after that.
///
/// As in mahimahi, a frame may span opportunities and share one with the frame that follows it, and
/// an opportunity that finds nothing waiting is lost, also the rest of one.
pub(super) fn finish(
    times: &[u64],
    mut place: Place,
    began: Instant,
    follows: bool,
    bytes: usize,
) -> (Instant, Place) {
    let count = times.len() as u64;
    let period = times[times.len() - 1];
    let at = |index: u64| {
        (index / count).saturating_mul(period).saturating_add(times[(index % count) as usize])
    };
    let is_open = follows && place.next > 0 && at(place.next - 1) == began.as_nanos();
    if !is_open {
        // What came at this very moment was spent before the frame was there.
        place = Place { next: place.next.max(after(times, began)), left: 0 };
    }
    let bytes = bytes as u64;
    if bytes <= place.left {
        return (began, Place { left: place.left - bytes, ..place });
    }
    let missing = bytes - place.left;
    let used = missing.div_ceil(OPPORTUNITY as u64);
    let last = place.next + used - 1;
    let left = used * OPPORTUNITY as u64 - missing;
    (Instant::from_nanos(at(last)).max(began), Place { next: last + 1, left })
}
