//! A token bucket: bursts leave faster than the rate.

use core::fmt;
use core::str::FromStr;

use windfall_base::{ByteCount, Duration, Instant, Rate};

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
#[derive(Clone, Copy, Debug)]
pub(super) struct Tokens {
    rate: Rate,
    bucket: Bucket,
    /// When the bucket would be full if nothing more were sent; `None` while nothing was.
    full_at: Option<Instant>,
}

impl Tokens {
    pub(super) fn new(rate: Rate, bucket: Bucket) -> Self {
        Self { rate, bucket, full_at: None }
    }

    /// Takes over, at `now`, the tokens of another bucket, as far as they fit.
    ///
    /// Tokens are bytes: what the other lacks is converted from time at its rate to time at this.
    pub(super) fn behind(self, before: &Self, now: Instant) -> Self {
        let Some(full_at) = before.full_at else { return self };
        let lacks = before.rate.bits_in(full_at.saturating_since(now));
        let [burst, before] = [self, *before].map(|it| it.bucket.burst.0.saturating_mul(8));
        // As many are there as before, or as this holds.
        let lacks = (lacks + burst).saturating_sub(before);
        Self { full_at: Some(now + self.rate.time_of_bits(lacks)), ..self }
    }

    /// Returns when a frame of `length` bytes, which may begin at `began`, has left.
    pub(super) fn finish(&mut self, began: Instant, length: usize) -> Instant {
        let full_at = self.full_at.map_or(began, |full| full.max(began));
        let filled = full_at + self.rate.time_of(length);
        self.full_at = Some(filled);
        let burst = usize::try_from(self.bucket.burst.0).unwrap_or(usize::MAX);
        // It leaves once the bucket, which would be full then, lacks no more than it holds.
        let lacks = filled.saturating_since(began).saturating_sub(self.rate.time_of(burst));
        let takes = self.bucket.peak.map_or(Duration::ZERO, |peak| peak.time_of(length));
        began + lacks.max(takes)
    }
}

#[cfg(test)]
mod tests;
