//! Estimates beside the bands in which a claim says that they lie.

use core::fmt;

use serde::Serialize;
use windfall_report::{Estimate, number};

/// The values that agree with a claim.
#[derive(Clone, Debug, PartialEq)]
pub struct Band {
    /// The least of them.
    pub low: f64,
    /// The greatest of them.
    pub high: f64,
    /// The source of the two: the paper's number and its tolerance, or a definition.
    pub reason: String,
}

impl Band {
    /// All values from `low` on.
    pub fn from(low: f64, reason: impl Into<String>) -> Self {
        Self::between(low, f64::INFINITY, reason)
    }

    /// All values up to `high`.
    pub fn to(high: f64, reason: impl Into<String>) -> Self {
        Self::between(f64::NEG_INFINITY, high, reason)
    }

    /// All values above `low`, for an ordering.
    pub fn above(low: f64, reason: impl Into<String>) -> Self {
        Self::from(low.next_up(), reason)
    }

    /// All values below `high`, for an ordering.
    pub fn below(high: f64, reason: impl Into<String>) -> Self {
        Self::to(high.next_down(), reason)
    }

    /// All values from `low` to `high`.
    pub fn between(low: f64, high: f64, reason: impl Into<String>) -> Self {
        Self { low, high, reason: reason.into() }
    }

    /// All values that differ from `value` by at most a share `tolerance` of it.
    pub fn near(value: f64, tolerance: f64, reason: impl Into<String>) -> Self {
        let off = (value * tolerance).abs();
        Self::between(value - off, value + off, reason)
    }
}

impl fmt::Display for Band {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // An end that is not contained is the neighbour of a number that can be written shorter.
        let is_open =
            |end: f64, neighbour: f64| neighbour.to_string().len() < end.to_string().len();
        match (self.low, self.high) {
            (low, f64::INFINITY) if is_open(low, low.next_down()) => {
                write!(f, "more than {}", number(low.next_down()))
            }
            (low, f64::INFINITY) => write!(f, "at least {}", number(low)),
            (f64::NEG_INFINITY, high) if is_open(high, high.next_up()) => {
                write!(f, "less than {}", number(high.next_up()))
            }
            (f64::NEG_INFINITY, high) => write!(f, "at most {}", number(high)),
            (low, high) => write!(f, "{} to {}", number(low), number(high)),
        }
    }
}

/// The place of an estimate with respect to a band.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// The whole interval lies in the band.
    Inside,
    /// The whole interval lies beyond the band.
    Outside,
    /// The interval reaches across an end of the band.
    Across,
}

/// One estimate beside its band.
#[derive(Clone, Debug, PartialEq)]
pub struct ClaimComparison {
    /// The quantity, and where it was estimated: `12.2 m`.
    pub of: String,
    /// The estimate with its interval.
    pub estimate: Estimate,
    /// The band in which it should lie.
    pub band: Band,
}

impl ClaimComparison {
    /// The place of the estimate's interval.
    #[must_use]
    pub fn placement(&self) -> Placement {
        let Estimate { low, high, .. } = self.estimate;
        if low >= self.band.low && high <= self.band.high {
            Placement::Inside
        } else if high < self.band.low || low > self.band.high {
            Placement::Outside
        } else {
            Placement::Across
        }
    }

    /// The estimate as a number, or in words where no run gave one.
    pub(crate) fn value_in_words(&self) -> String {
        let value = self.estimate.value;
        if value.is_nan() { "not measured".to_owned() } else { number(value) }
    }
}

/// The most runs of which no interval is shown.
const FEW: usize = 3;

impl fmt::Display for ClaimComparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Estimate { low, high, runs, .. } = self.estimate;
        if !self.of.is_empty() {
            write!(f, "{}: ", self.of)?;
        }
        f.write_str(&self.value_in_words())?;
        match runs {
            0 | 1 => {}
            // Student's interval reaches beyond what is possible, below nothing or above all.
            2 | FEW => write!(f, " ({runs} runs, too few for an interval)")?,
            _ => write!(f, " ({} to {}, {runs} runs)", number(low), number(high))?,
        }
        write!(f, ", due {}", self.band)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comparison(low: f64, value: f64, high: f64, band: Band) -> ClaimComparison {
        ClaimComparison {
            of: "12.2 m".into(),
            estimate: Estimate { value, low, high, runs: 10 },
            band,
        }
    }

    #[test]
    fn the_whole_interval_decides() {
        let band = || Band::near(1.43, 0.1, "table 1");
        for (low, high, expected) in [
            (1.3, 1.5, Placement::Inside),
            (1.2, 1.4, Placement::Across),
            (1.5, 1.6, Placement::Across),
            (0.9, 1.1, Placement::Outside),
            (1.6, 1.7, Placement::Outside),
            (f64::NEG_INFINITY, f64::INFINITY, Placement::Across),
        ] {
            let found = comparison(low, f64::midpoint(low, high), high, band()).placement();
            assert_eq!(found, expected, "{low} to {high}");
        }
    }

    #[test]
    fn a_comparison_reads_as_a_sentence() {
        let found = comparison(0.972, 0.9907, 1.01, Band::from(1.2, "table 1")).to_string();
        assert_eq!(found, "12.2 m: 0.9907 (0.972 to 1.01, 10 runs), due at least 1.2");
        let mut quick = comparison(-3.0, 2.0, 7.0, Band::from(1.0, "table 1"));
        quick.estimate.runs = 2;
        let text = "12.2 m: 2 (2 runs, too few for an interval), due at least 1";
        assert_eq!(quick.to_string(), text);
        let exact = ClaimComparison {
            of: String::new(),
            estimate: Estimate::exact(6.0),
            ..comparison(0.0, 0.0, 0.0, Band::between(6.0, 6.0, "a formula"))
        };
        assert_eq!(exact.to_string(), "6, due 6 to 6");
        let absent = ClaimComparison { estimate: Estimate::mean(&[]), ..exact };
        assert_eq!(absent.to_string(), "not measured, due 6 to 6");
    }

    #[test]
    fn an_ordering_excludes_equality() {
        let estimate = |value| Estimate { value, low: value, high: value, runs: 10 };
        for (band, text) in [
            (Band::above(1.0, "an ordering"), "more than 1"),
            (Band::below(1.0, "an ordering"), "less than 1"),
            (Band::above(0.0, "an ordering"), "more than 0"),
            (Band::below(0.0, "an ordering"), "less than 0"),
        ] {
            assert_eq!(band.to_string(), text);
            let end = if band.low.is_finite() { band.low.next_down() } else { band.high.next_up() };
            let found = ClaimComparison { of: String::new(), estimate: estimate(end), band };
            assert_eq!(found.placement(), Placement::Outside);
        }
    }
}
