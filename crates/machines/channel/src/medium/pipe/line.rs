//! The line of a path: when the bits of a frame have left, also if the rate changes under them.

use windfall_base::{Instant, LineRate, Rate};
use windfall_files::traces::rate_trace::{BIT, RateTrace, TracePosition};

use super::bucket::{Bucket, Tokens, time_of};

/// The rate at which bits leave a sender.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Line {
    /// All at once.
    #[default]
    Instant,
    /// At a constant rate.
    Rate(Rate),
    /// Not at all, until the line changes.
    Paused,
    /// At the rate of a trace.
    Trace(RateTrace),
}

impl From<LineRate> for Line {
    fn from(rate: LineRate) -> Self {
        match rate {
            LineRate::Unlimited => Self::Instant,
            LineRate::Paused => Self::Paused,
            LineRate::At(rate) => Self::Rate(rate),
        }
    }
}

/// A line at work, with the frame that leaves on it.
///
/// Work is counted in [`BIT`]s of a billion parts, so that a rate in bits per second does as many
/// parts of work in each nanosecond.
#[derive(Debug)]
pub(super) struct LineState {
    line: Line,
    bucket: Option<Bucket>,
    pace: Pace,
    /// The frame that has begun to leave last.
    frame: Work,
}

/// The work that is left for a frame from a time on.
#[derive(Clone, Copy, Debug)]
struct Work {
    left: u128,
    since: Instant,
    /// When it is done; `None`: not before the line changes.
    ends: Option<Instant>,
}

#[derive(Debug)]
enum Pace {
    Instant,
    Rate(Rate),
    Paused,
    Bucket(Tokens),
    Trace(TracePosition),
}

impl Pace {
    fn new(line: &Line, bucket: Option<Bucket>) -> Self {
        match (line, bucket) {
            (Line::Instant, _) => Self::Instant,
            (Line::Rate(rate), Some(bucket)) => Self::Bucket(Tokens::new(Some(*rate), bucket)),
            (Line::Paused, Some(bucket)) => Self::Bucket(Tokens::new(None, bucket)),
            (Line::Rate(rate), None) => Self::Rate(*rate),
            (Line::Paused, None) => Self::Paused,
            (Line::Trace(trace), _) if trace.is_paused() => Self::Paused,
            (Line::Trace(trace), _) => Self::Trace(TracePosition::new(trace.clone())),
        }
    }
}

impl LineState {
    pub(super) fn new(line: Line, bucket: Option<Bucket>) -> Self {
        let pace = Pace::new(&line, bucket);
        let frame = Work { left: 0, since: Instant::START, ends: Some(Instant::START) };
        Self { line, bucket, pace, frame }
    }

    /// Tells whether nothing leaves any more at this time.
    pub(super) fn is_over(&self, at: Instant) -> bool {
        matches!(&self.pace, Pace::Trace(progress) if progress.is_over(at))
    }

    /// Returns the rate at which bits leave, unless they leave at once or the rate varies.
    pub(super) const fn constant_rate(&self) -> Option<Rate> {
        match &self.pace {
            Pace::Rate(rate) => Some(*rate),
            Pace::Instant | Pace::Paused | Pace::Bucket(_) | Pace::Trace(_) => None,
        }
    }

    /// Returns when the frame that has begun to leave has left; `None`: not before the line
    /// changes.
    pub(super) const fn ends(&self) -> Option<Instant> {
        self.frame.ends
    }

    /// Begins to send a frame of `bytes` bytes at `now`.
    ///
    /// `follows`: the line was busy until then.
    pub(super) fn begin(&mut self, now: Instant, follows: bool, bytes: usize) {
        let left = bytes as u128 * 8 * BIT;
        let ends = match &mut self.pace {
            Pace::Instant => Some(now),
            Pace::Rate(rate) => Some(now.saturating_add(rate.time_of(bytes))),
            Pace::Paused => (bytes == 0).then_some(now),
            Pace::Bucket(tokens) => tokens.begin(now, left),
            Pace::Trace(progress) => Some(progress.finish(now, follows, bytes)),
        };
        self.frame = Work { left, since: now, ends };
    }

    /// Becomes another line at `now`, on which the rest of the frame leaves.
    pub(super) fn change(&mut self, now: Instant, line: &Line, bucket: Option<Bucket>) {
        if (&self.line, self.bucket) == (line, bucket) {
            return;
        }
        let left = self.rest(now);
        let is_leaving = self.frame.ends.is_none_or(|ends| ends > now);
        (self.line, self.bucket) = (line.clone(), bucket);
        let pace = Pace::new(line, bucket);
        let before = core::mem::replace(&mut self.pace, pace);
        let ends = match (&mut self.pace, &before) {
            (Pace::Bucket(tokens), Pace::Bucket(before)) => tokens.continue_from(before, now),
            _ if !is_leaving => return,
            (Pace::Instant, _) => Some(now),
            (Pace::Rate(rate), _) => Some(now.saturating_add(time_of(left, rate.as_bps()))),
            (Pace::Paused, _) => None,
            (Pace::Bucket(tokens), _) => tokens.begin(now, left),
            (Pace::Trace(progress), _) => Some(progress.finish_rest(now, left)),
        };
        if is_leaving {
            self.frame = Work { left, since: now, ends };
        }
    }

    /// Returns the work that is left of the frame at `now`.
    fn rest(&self, now: Instant) -> u128 {
        let Work { left, since, .. } = self.frame;
        match &self.pace {
            Pace::Instant => 0,
            Pace::Rate(rate) => {
                let nanos = now.saturating_since(since).as_nanos();
                left.saturating_sub(u128::from(rate.as_bps()) * u128::from(nanos))
            }
            Pace::Paused => left,
            Pace::Bucket(tokens) => tokens.rest(now),
            Pace::Trace(progress) => {
                self.frame.ends.map_or(left, |ends| progress.work_until(now, ends).min(left))
            }
        }
    }
}

#[cfg(test)]
mod tests;
