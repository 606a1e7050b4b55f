//! Encoders that need more bits than they may.

use core::fmt;

/// The share by which a rate may be exceeded without a word: encoders keep to theirs on average,
/// and the first picture is the longest.
const MARGIN: f64 = 1.1;

/// The rate of an encoder that exceeds the one asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Overrun {
    asked_bps: f64,
    measured_bps: f64,
}

impl Overrun {
    /// Returns the overrun of `bytes` that play for `seconds`, if they are more than a tenth above
    /// `asked_bps`.
    #[must_use]
    pub fn of(asked_bps: f64, bytes: usize, seconds: f64) -> Option<Self> {
        let measured_bps = 8.0 * bytes as f64 / seconds;
        (measured_bps > MARGIN * asked_bps).then_some(Self { asked_bps, measured_bps })
    }
}

impl fmt::Display for Overrun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the encoder made {:.0} b/s where {:.0} were asked for: it cannot code these pictures \
             in fewer; lower --rate or --size, or raise --bit-rate",
            self.measured_bps, self.asked_bps
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenth_more_than_asked_is_an_overrun_and_named_with_its_rate() {
        assert_eq!(Overrun::of(4_000.0, 550, 1.0), None);
        let overrun = Overrun::of(1_000.0, 15_450, 60.0).expect("twice as much");
        let text = overrun.to_string();
        assert!(text.contains("2060 b/s where 1000 were asked for"), "{text}");
        assert!(text.contains("lower --rate or --size"), "{text}");
    }
}
