//! The round-trip time of the link, measured as TCP does it (RFC 6298, section 2).

use windfall_base::Duration;

/// How long to wait before anything has been measured.
const INITIAL: Duration = Duration::from_millis(200);
/// What the estimate may err on a link whose time hardly varies.
const MARGIN: Duration = Duration::from_millis(1);
/// The longest wait between probes, unless one round trip takes longer.
const LONGEST: Duration = Duration::from_secs(1);

/// Smoothed round-trip time and its variation.
#[derive(Debug, Default)]
pub(crate) struct RoundTrip {
    measured: Option<(Duration, Duration)>,
    /// Waits in vain since the last report.
    backoff: u32,
}

impl RoundTrip {
    pub(crate) fn is_measured(&self) -> bool {
        self.measured.is_some()
    }

    pub(crate) fn sample(&mut self, time: Duration) {
        self.backoff = 0;
        self.measured = Some(match self.measured {
            None => (time, time / 2),
            Some((smoothed, variation)) => {
                let error = smoothed.max(time) - smoothed.min(time);
                ((smoothed * 7 + time) / 8, (variation * 3 + error) / 4)
            }
        });
    }

    /// Notes that a report was waited for in vain.
    pub(crate) fn back_off(&mut self) {
        self.backoff = (self.backoff + 1).min(16);
    }

    /// How long to wait for the report of a transmission.
    pub(crate) fn patience(&self) -> Duration {
        let base = match self.measured {
            None => INITIAL,
            Some((smoothed, variation)) => {
                smoothed.saturating_add(variation.saturating_mul(4)).saturating_add(MARGIN)
            }
        };
        base.saturating_mul(1 << self.backoff).min(base.max(LONGEST))
    }
}
