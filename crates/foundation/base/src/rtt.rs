//! The smoothed round-trip time and its variation (RFC 6298, section 2).

use crate::time::Duration;

/// A round-trip time, smoothed over its measurements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SmoothedRtt {
    mean: Option<Duration>,
    variation: Duration,
}

impl SmoothedRtt {
    /// Takes a measurement.
    pub fn sample(&mut self, measured: Duration) {
        self.sample_of(measured, 1);
    }

    /// Takes one of `expected` measurements per round trip, of which each weighs less (RFC 7323,
    /// appendix G).
    pub fn sample_of(&mut self, measured: Duration, expected: u64) {
        let Some(mean) = self.mean else {
            self.mean = Some(measured);
            self.variation = measured / 2;
            return;
        };
        let alpha = 8 * expected.max(1);
        let beta = 4 * expected.max(1);
        let error = mean.max(measured) - mean.min(measured);
        self.variation = self.variation - self.variation / beta + error / beta;
        self.mean = Some(mean - mean / alpha + measured / alpha);
    }

    /// Returns the smoothed round-trip time (SRTT), once measured.
    #[must_use]
    pub const fn mean(&self) -> Option<Duration> {
        self.mean
    }

    /// Returns the variation of the round-trip time (RTTVAR).
    #[must_use]
    pub const fn variation(&self) -> Duration {
        self.variation
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(milliseconds: &[u64], expected: u64) -> SmoothedRtt {
        let mut rtt = SmoothedRtt::default();
        for measured in milliseconds {
            rtt.sample_of(Duration::from_millis(*measured), expected);
        }
        rtt
    }

    #[test]
    fn the_formulas_of_the_standard_hold() {
        // RFC 6298, sections 2.2 and 2.3.
        assert_eq!(after(&[], 1), SmoothedRtt::default());
        let first = after(&[100], 1);
        assert_eq!(first.mean(), Some(Duration::from_millis(100)));
        assert_eq!(first.variation(), Duration::from_millis(50));
        for (second, mean) in [(180, 110), (20, 90)] {
            let rtt = after(&[100, second], 1);
            assert_eq!(rtt.mean(), Some(Duration::from_millis(mean)));
            assert_eq!(rtt.variation(), Duration::from_micros(57_500));
        }
    }

    #[test]
    fn one_of_several_measurements_per_round_trip_weighs_less() {
        // Weights of 1/16 and 1/8 for two of them.
        let rtt = after(&[160, 320], 2);
        assert_eq!(rtt.mean(), Some(Duration::from_millis(170)));
        assert_eq!(rtt.variation(), Duration::from_millis(90));
    }
}
