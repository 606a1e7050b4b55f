//! Events of frames whose occurrences are correlated.

use core::fmt;
use core::str::FromStr;

use windfall_base::{ParseUnitError, Probability, Stream};

use super::error::ParseModelError;

/// The probability of an event of a frame, and the correlation of successive events.
///
/// The text form is that of netem: `P [CORRELATION]`, such as `1% 25%`. With the correlation as
/// probability an event is as that of the frame before, and otherwise drawn anew, so that the
/// share of events is the probability whatever the correlation, and the correlation coefficient of
/// successive events is the correlation. (netem mixes random numbers instead, which changes the
/// share.)
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Chance {
    /// The share of frames that it happens to.
    pub probability: Probability,
    /// The correlation coefficient of successive frames.
    pub correlation: Probability,
}

impl From<Probability> for Chance {
    fn from(probability: Probability) -> Self {
        Self { probability, correlation: Probability::ZERO }
    }
}

impl fmt::Display for Chance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.probability)?;
        if self.correlation == Probability::ZERO {
            return Ok(());
        }
        write!(f, " {}", self.correlation)
    }
}

impl FromStr for Chance {
    type Err = ParseModelError;

    fn from_str(text: &str) -> Result<Self, ParseModelError> {
        let fix = "write a probability and perhaps a correlation, such as 1% or 1% 25%";
        match probabilities(text, "chance", fix)?[..] {
            [probability] => Ok(probability.into()),
            [probability, correlation] => Ok(Self { probability, correlation }),
            _ => Err(ParseModelError::new("chance", text, fix.to_owned())),
        }
    }
}

/// Reads the probabilities that a text consists of.
pub(super) fn probabilities(
    text: &str,
    kind: &'static str,
    fix: &str,
) -> Result<Vec<Probability>, ParseModelError> {
    text.split_whitespace()
        .map(str::parse::<Probability>)
        .collect::<Result<_, ParseUnitError>>()
        .map_err(|error| ParseModelError::new(kind, text, format!("{error}; {fix}")))
}

/// The state of correlated events: the event of the frame before.
#[derive(Clone, Debug)]
pub(crate) struct Chances {
    chance: Chance,
    last: Option<bool>,
}

impl Chances {
    pub(crate) fn new(chance: Chance) -> Self {
        Self { chance, last: None }
    }

    /// Continues after the last event by another chance.
    pub(crate) fn continue_from(&mut self, before: &Self) {
        self.last = before.last;
    }

    /// Draws the event of the frame of this number.
    pub(crate) fn next(&mut self, base: &Stream, number: u64) -> bool {
        let Chance { probability, correlation } = self.chance;
        if correlation == Probability::ZERO {
            return base.unit_at(number) < probability.get();
        }
        let mut stream = base.at(number);
        let drawn = stream.chance(probability);
        let happens = self.last.filter(|_| stream.chance(correlation)).unwrap_or(drawn);
        self.last = Some(happens);
        happens
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use windfall_base::Seed;

    /// The events of many frames.
    fn events(text: &str, count: u64) -> Vec<f64> {
        let mut chances = Chances::new(text.parse().expect("a chance"));
        let stream = Stream::new(Seed(7), "chance");
        (0..count).map(|number| f64::from(u8::from(chances.next(&stream, number)))).collect()
    }

    #[test]
    fn share_and_correlation_are_those_asked_for() {
        for (text, p, rho) in [("30%", 0.3, 0.0), ("10% 50%", 0.1, 0.5), ("50% 90%", 0.5, 0.9)] {
            let count = 400_000;
            let events = events(text, count);
            let mean = events.iter().sum::<f64>() / count as f64;
            let product: f64 = events.windows(2).map(|it| it[0] * it[1]).sum();
            let found = (product / count as f64 - mean * mean) / (mean - mean * mean);
            // The deviation of a mean of events that are correlated in this way, four times.
            let deviation = (p * (1.0 - p) / count as f64 * (1.0 + rho) / (1.0 - rho)).sqrt();
            assert!((mean - p).abs() < 4.0 * deviation, "{text}: {mean}");
            assert!((found - rho).abs() < 0.02, "{text}: {found}");
        }
    }

    #[test]
    fn its_text_reads_back_and_others_are_refused() {
        for text in ["0.01", "0.01 0.25", "1 1"] {
            assert_eq!(text.parse::<Chance>().expect("a chance").to_string(), text);
        }
        for text in ["", "2", "1% 2", "1% 2% 3%", "a", "-1%", "0,05"] {
            let error = text.parse::<Chance>().expect_err(text).to_string();
            assert!(error.contains("such as 1% or 1% 25%"), "{error}");
        }
    }
}
