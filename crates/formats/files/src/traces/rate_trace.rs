//! Rate traces: how much a line carries at each moment, wrapping at the end.

mod mahimahi;
mod netem;

use core::str::FromStr;
use std::sync::Arc;

use windfall_base::{Duration, Instant, MemoryBudget, OverBudget, Rate};

use crate::traces::LineError;

pub use mahimahi::OPPORTUNITY;

/// A bit, in the parts of work of which a rate in bits per second does as many in each nanosecond.
pub const BIT: u128 = 1_000_000_000;

/// A text that is no rate trace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RateTraceError {
    /// A line is not what the format wants.
    #[error(transparent)]
    Line(#[from] LineError),
    /// The trace as a whole cannot be used.
    #[error("{0}")]
    Whole(String),
    /// The trace is too long to be read.
    #[error(transparent)]
    TooLong(#[from] OverBudget),
}

/// The part of the memory that a text may take which is a line per time: each takes 8 bytes, and
/// twice that while their list grows.
const LINES_PART: usize = 10;
/// The part of the memory that the text of a configuration may take: its values take more than it.
const TREE_PART: usize = 32;

/// The capacity of a line over time; starts over when it ends, unless it is used
/// [once](Self::once).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateTrace {
    kind: Arc<Kind>,
    /// Nothing passes after the end.
    ends: bool,
}

#[derive(Debug, PartialEq, Eq)]
enum Kind {
    /// Moments, in nanoseconds, at each of which 1500 bytes may leave; the last is the period.
    Opportunities(Vec<u64>),
    Steps(Steps),
}

/// A rate that holds for a while, then the next.
#[derive(Debug, PartialEq, Eq)]
struct Steps {
    /// When each step ends, in nanoseconds.
    ends: Vec<u64>,
    /// The rate of each step, in bits per second; perhaps zero.
    rates: Vec<u64>,
    /// The bits that pass up to the end of each step, times 10⁹.
    passed: Vec<u128>,
}

impl RateTrace {
    fn repeating(kind: Kind) -> Self {
        Self { kind: Arc::new(kind), ends: false }
    }

    /// Returns the trace of which nothing passes after its end, in place of starting over.
    #[must_use]
    pub fn once(self) -> Self {
        Self { ends: true, ..self }
    }

    /// Tells whether what would have left at `at` does not, because the trace was over before.
    #[must_use]
    pub fn is_over(&self, at: Instant) -> bool {
        self.ends && at > Instant::START + self.period()
    }

    /// Tells whether the line is down at all times: a pause without an end.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        matches!(&*self.kind, Kind::Steps(steps) if steps.passed.last() == Some(&0))
    }

    /// A trace of rates that hold for a while each; `None` stands for a line that is down.
    ///
    /// # Errors
    /// If no step lasts.
    pub fn from_steps(
        steps: impl IntoIterator<Item = (Option<Rate>, Duration)>,
    ) -> Result<Self, RateTraceError> {
        let mut all = Steps { ends: Vec::new(), rates: Vec::new(), passed: Vec::new() };
        let mut end = 0_u64;
        let mut passed = 0_u128;
        for (rate, span) in steps.into_iter().filter(|(_, span)| !span.is_zero()) {
            let rate = rate.map_or(0, Rate::as_bps);
            end = end.saturating_add(span.as_nanos());
            passed += u128::from(rate) * u128::from(span.as_nanos());
            all.ends.push(end);
            all.rates.push(rate);
            all.passed.push(passed);
        }
        if end == 0 {
            let fix = "the trace has no step that lasts: give at least one rate a duration";
            return Err(RateTraceError::Whole(fix.to_owned()));
        }
        Ok(Self::repeating(Kind::Steps(all)))
    }

    /// Reads a trace as [`from_str`](Self::from_str) does, from bytes, and takes from `budget` the
    /// memory that it keeps.
    ///
    /// # Errors
    /// If the bytes are no such trace, or the memory does not suffice.
    pub fn from_bytes_within(
        bytes: &[u8],
        budget: &mut MemoryBudget,
    ) -> Result<Self, RateTraceError> {
        let before = budget.left();
        let bytes = &*crate::traces::gunzip_within(bytes, budget)
            .map_err(|error| RateTraceError::Whole(error.to_string()))?;
        let unzipped = before - budget.left();
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let is_tree = bytes.trim_ascii_start().first().is_some_and(|b| !b.is_ascii_digit());
        let part = if is_tree { TREE_PART } else { LINES_PART };
        budget.check(bytes.len().saturating_mul(part))?;
        let text = core::str::from_utf8(bytes)
            .map_err(|_| RateTraceError::Whole(NO_RATE_TRACE.to_owned()))?;
        let trace: Self = text.parse()?;
        budget.give_back(unzipped);
        budget.take(match &*trace.kind {
            Kind::Opportunities(times) => times.capacity() * size_of::<u64>(),
            Kind::Steps(steps) => steps.ends.capacity() * size_of::<(u64, u64, u128)>(),
        })?;
        Ok(trace)
    }

    /// The time after which the trace starts over.
    #[must_use]
    pub fn period(&self) -> Duration {
        Duration::from_nanos(match &*self.kind {
            Kind::Opportunities(times) => times.last().copied().unwrap_or(0),
            Kind::Steps(steps) => steps.ends.last().copied().unwrap_or(0),
        })
    }

    /// The mean rate over one period, in bits per second.
    #[must_use]
    pub fn mean_bps(&self) -> f64 {
        let bits = match &*self.kind {
            Kind::Opportunities(times) => (times.len() * OPPORTUNITY * 8) as f64,
            Kind::Steps(steps) => steps.passed.last().map_or(0.0, |&passed| passed as f64 / 1e9),
        };
        bits / self.period().as_secs_f64()
    }
}

/// The first line of an error trace.
const ERROR_TRACE: &str = "\"windfall-error-trace\"";

/// Why a file of another kind is refused.
const NO_RATE_TRACE: &str = "this is not a rate trace: give a trace of mahimahi (a time in ms on \
                             each line) or a configuration of netem-trace (JSON or TOML)";

/// Why an error trace is refused.
const IS_ERROR_TRACE: &str = "this is an error trace: give it by --error-trace, or by error-trace \
                              in a scenario";

/// Why a scenario is refused.
const IS_SCENARIO: &str = "this is a scenario, not a rate trace: give it to windfall sim, or by \
                           --scenario to windfall run";

impl FromStr for RateTrace {
    type Err = RateTraceError;

    /// Reads a trace of mahimahi, or a bandwidth configuration of netem-trace in JSON or TOML.
    fn from_str(text: &str) -> Result<Self, RateTraceError> {
        let text = text.trim_start_matches('\u{feff}');
        match text.trim_start().bytes().next() {
            Some(b'{') if text.lines().next().is_some_and(|line| line.contains(ERROR_TRACE)) => {
                Err(RateTraceError::Whole(IS_ERROR_TRACE.to_owned()))
            }
            Some(b'{') => Self::from_netem_json(text),
            _ if text.lines().any(|line| line.trim_start().starts_with("[[station]]")) => {
                Err(RateTraceError::Whole(IS_SCENARIO.to_owned()))
            }
            Some(b'[' | b'#') => Self::from_netem_toml(text),
            Some(b'0'..=b'9' | b'+' | b'-') | None => Self::from_mahimahi(text),
            Some(_) if begins_with_key(text) => Self::from_netem_toml(text),
            Some(_) => Err(RateTraceError::Whole(NO_RATE_TRACE.to_owned())),
        }
    }
}

/// Returns `true` if the first line is `KEY = VALUE`, as a line of TOML may be.
fn begins_with_key(text: &str) -> bool {
    let key = text.trim_start().split_once('=').map_or("", |(key, _)| key.trim_end());
    !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || "_-.\"".contains(c))
}

/// The place of a line in its trace.
#[derive(Clone, Debug)]
pub struct TracePosition {
    trace: RateTrace,
    /// The next opportunity, counted from the start of the run.
    next: u64,
    /// Bytes left of the opportunity before it.
    left: u64,
}

impl TracePosition {
    /// Creates the place of a line at the start of a run.
    #[must_use]
    pub fn new(trace: RateTrace) -> Self {
        Self { trace, next: 0, left: 0 }
    }

    /// Tells whether the trace was over before `at`, so that nothing leaves then.
    #[must_use]
    pub fn is_over(&self, at: Instant) -> bool {
        self.trace.is_over(at)
    }

    /// Returns the moment at which `bytes` bytes that begin at `began` have left; past the end of a
    /// trace that is used once, the one at which they would if it started over. Of a trace that
    /// [is paused](RateTrace::is_paused) it is the end of time.
    ///
    /// `follows`: the line was busy until then, so what is left of an opportunity may be used.
    pub fn finish(&mut self, began: Instant, follows: bool, bytes: usize) -> Instant {
        match &*self.trace.kind {
            Kind::Opportunities(times) => {
                let place = mahimahi::Place { next: self.next, left: self.left };
                let (ended, place) = mahimahi::finish(times, place, began, follows, bytes);
                (self.next, self.left) = (place.next, place.left);
                ended
            }
            Kind::Steps(steps) => steps.finish(began, bytes as u128 * 8 * BIT),
        }
    }

    /// Returns the moment at which the rest of a frame has left, which is this much work and meets
    /// the trace at `began`.
    pub fn finish_rest(&mut self, began: Instant, work: u128) -> Instant {
        match &*self.trace.kind {
            Kind::Opportunities(_) => {
                let bytes = usize::try_from(work.div_ceil(8 * BIT)).unwrap_or(usize::MAX);
                self.finish(began, false, bytes)
            }
            Kind::Steps(steps) => steps.finish(began, work),
        }
    }

    /// Returns the work that is left at `now` of what leaves at `ends`, which was finished last.
    #[must_use]
    pub fn work_until(&self, now: Instant, ends: Instant) -> u128 {
        match &*self.trace.kind {
            Kind::Opportunities(times) => {
                let count = self.next.saturating_sub(mahimahi::after(times, now));
                let bytes = (count * OPPORTUNITY as u64).saturating_sub(self.left);
                u128::from(bytes) * 8 * BIT
            }
            Kind::Steps(steps) => steps.passed_until(ends).saturating_sub(steps.passed_until(now)),
        }
    }
}

impl Steps {
    /// Returns the work that passes up to `at` from the start of the run.
    fn passed_until(&self, at: Instant) -> u128 {
        let (Some(&period), Some(&total)) = (self.ends.last(), self.passed.last()) else {
            return 0;
        };
        let cycle = at.as_nanos() / period;
        let offset = at.as_nanos() % period;
        let step = self.ends.partition_point(|&end| end <= offset);
        let ahead = u128::from(self.rates[step]) * u128::from(self.ends[step] - offset);
        u128::from(cycle) * total + self.passed[step] - ahead
    }

    /// Returns when as much work as this is done that begins at `began`.
    fn finish(&self, began: Instant, work: u128) -> Instant {
        let (Some(&period), Some(&total)) = (self.ends.last(), self.passed.last()) else {
            return began;
        };
        if total == 0 {
            return if work == 0 { began } else { Instant::from_nanos(u64::MAX) };
        }
        let cycle = began.as_nanos() / period;
        let offset = began.as_nanos() % period;
        let step = self.ends.partition_point(|&end| end <= offset);
        // What passed until the end of this step, less what is still to pass in it.
        let ahead = u128::from(self.rates[step]) * u128::from(self.ends[step] - offset);
        let wanted = self.passed[step] - ahead + work;
        // The last bit leaves in the cycle in which the sum reaches `wanted`, not after it.
        let cycles = wanted.saturating_sub(1) / total;
        let wanted = wanted - cycles * total;
        let step = self.passed.partition_point(|&passed| passed < wanted);
        let surplus = (self.passed[step] - wanted) / u128::from(self.rates[step].max(1));
        let nanos = u128::from(cycle) * u128::from(period)
            + cycles * u128::from(period)
            + u128::from(self.ends[step])
            - surplus;
        Instant::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX)).max(began)
    }
}

#[cfg(test)]
mod tests;
