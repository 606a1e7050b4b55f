//! A token bucket: bursts leave faster than the rate.

use core::fmt;
use core::str::FromStr;

use windfall_base::{ByteCount, Duration, Instant, Rate};

use windfall_files::traces::rate_trace::BIT;

use crate::air::ParseModelError;

/// The tokens that a line saves while it is idle, and the rate at which it spends them.
///
/// The text form is `BYTES [PEAK]`, such as `20kB` or `20kB 100Mbps`, the `burst` and the
/// `peakrate` of tc's tbf. Without a peak, bytes that have tokens take no time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// The bytes that leave at once after a long enough idle time.
    pub burst: ByteCount,
    /// The rate at which they leave; `None`: at once.
    pub peak: Option<Rate>,
}

impl fmt::Display for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.burst.fmt(f)?;
        self.peak.map_or(Ok(()), |peak| write!(f, " {peak}"))
    }
}

impl FromStr for Bucket {
    type Err = ParseModelError;

    fn from_str(text: &str) -> Result<Self, ParseModelError> {
        let mut words = text.split_whitespace();
        let burst = words.next().and_then(|word| word.parse::<ByteCount>().ok());
        let peak = words.next().map(str::parse::<Rate>);
        match (burst.filter(|burst| burst.0 > 0), peak.transpose(), words.next()) {
            (Some(burst), Ok(peak), None) => Ok(Self { burst, peak }),
            _ => {
                let fix = "write the bytes of a burst and perhaps a peak rate, such as 20kB or \
                           \"20kB 100Mbps\"";
                Err(ParseModelError::new("token bucket", text, fix.to_owned()))
            }
        }
    }
}

/// A bucket at work.
///
/// Work is counted as that of the [line](super::line::LineState).
#[derive(Clone, Copy, Debug)]
pub(super) struct Tokens {
    /// The rate at which tokens come; `None`: neither tokens come nor frames leave.
    rate: Option<Rate>,
    bucket: Bucket,
    /// The work for which tokens lack until the bucket is full, with that of frames which wait.
    lacks: u128,
    /// The work of the last frame that the peak has yet to do.
    at_peak: u128,
    /// The time for which both hold.
    since: Instant,
}

impl Tokens {
    pub(super) fn new(rate: Option<Rate>, bucket: Bucket) -> Self {
        Self { rate, bucket, lacks: 0, at_peak: 0, since: Instant::START }
    }

    /// Takes over, at `now`, the tokens of another bucket, as far as they fit, and the frame that
    /// waits for some. Returns when that has left, if it does.
    pub(super) fn continue_from(&mut self, before: &Self, now: Instant) -> Option<Instant> {
        let mut before = *before;
        before.advance(now);
        // As many are there as before, or as this holds.
        self.lacks = (before.lacks + self.holds()).saturating_sub(before.holds());
        (self.at_peak, self.since) = (before.at_peak, now);
        self.ends()
    }

    /// Begins at `now` to send a frame; returns when it has left, if it does.
    pub(super) fn begin(&mut self, now: Instant, work: u128) -> Option<Instant> {
        self.advance(now);
        self.lacks += work;
        self.at_peak = if self.bucket.peak.is_some() { work } else { 0 };
        self.ends()
    }

    /// Returns the work that is left at `now` of the frame that has begun.
    pub(super) fn rest(&self, now: Instant) -> u128 {
        let mut then = *self;
        then.advance(now);
        then.missing().max(then.at_peak)
    }

    /// Returns the bits that the bucket holds, as work.
    fn holds(&self) -> u128 {
        u128::from(self.bucket.burst.0) * 8 * BIT
    }

    /// Returns the work for which the last frame has no tokens yet.
    fn missing(&self) -> u128 {
        self.lacks.saturating_sub(self.holds())
    }

    /// Counts the bytes that arrived and left until `now`.
    fn advance(&mut self, now: Instant) {
        let nanos = now.saturating_since(self.since).as_nanos();
        let done = |rate: Rate| u128::from(rate.as_bps()) * u128::from(nanos);
        if let Some(rate) = self.rate {
            self.lacks = self.lacks.saturating_sub(done(rate));
            let at_peak = self.bucket.peak.map_or(0, done);
            self.at_peak = self.at_peak.saturating_sub(at_peak);
        }
        self.since = self.since.max(now);
    }

    /// Returns when the last frame has its tokens and has left at the peak rate.
    fn ends(&self) -> Option<Instant> {
        let rate = self.rate?;
        let takes =
            self.bucket.peak.map_or(Duration::ZERO, |peak| time_of(self.at_peak, peak.as_bps()));
        Some(self.since.saturating_add(time_of(self.missing(), rate.as_bps()).max(takes)))
    }
}

/// Returns the time that work takes at a rate in bits per second, rounded up.
pub(super) fn time_of(work: u128, rate: u64) -> Duration {
    let nanos = work.div_ceil(u128::from(rate.max(1)));
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests;
