//! Delays that differ from frame to frame.

use core::fmt;
use core::str::FromStr;
use std::sync::Arc;

use windfall_base::{Duration, ParseUnitError, Probability, Stream};
use windfall_phy::noise::normal;

use crate::air::ParseModelError;

/// The shape of a Pareto distribution as netem has it.
const SHAPE: f64 = 3.0;
/// The unit of the entries of a table: 8192 is one standard deviation.
const SCALE: f64 = 8192.0;
/// The standard deviations at which the normal distribution is cut, as in netem's table.
const CUT: f64 = 4.0;
/// The bytes of the longest table that is read.
const LONGEST_TABLE: usize = 1 << 20;

/// The distribution of a delay around its mean.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Distribution {
    /// Evenly spread up to the jitter on either side.
    #[default]
    Uniform,
    /// Normal with the jitter as its standard deviation, cut at four of them.
    Normal,
    /// Pareto of shape 3, shifted to mean 0 and scaled to the jitter as its standard deviation:
    /// most delays are shorter than the mean, and few much longer.
    Pareto,
    /// A quarter of the deviation of [`Normal`](Self::Normal) and three quarters of that of
    /// [`Pareto`](Self::Pareto), of the same quantile, as in netem's table of this name; the
    /// standard deviation is 0.94 of the jitter.
    ParetoNormal,
    /// A table in netem's format, of which one entry is drawn.
    Table(Arc<[i16]>),
}

impl Jitter {
    /// Returns the delay beyond the mean that hardly any frame has more of: all of an even spread,
    /// two deviations of others.
    pub(super) fn allowance(&self) -> Duration {
        match self.distribution {
            Distribution::Uniform => self.spread,
            _ => self.spread.saturating_mul(2),
        }
    }
}

impl Distribution {
    /// Reads a table in netem's format: whole numbers in which 8192 is the jitter; lines that begin
    /// with `#` are ignored.
    ///
    /// # Errors
    /// If it has no entry, or one that is no number from −32768 to 32767.
    pub fn from_table(text: &str) -> Result<Self, ParseModelError> {
        let fail = |word: &str, fix: &str| {
            ParseModelError::new("table of a distribution", word, fix.to_owned())
        };
        if text.len() > LONGEST_TABLE {
            return Err(fail("this file", "a table has 1 MiB at most"));
        }
        let lines = text.lines().filter(|line| !line.trim_start().starts_with('#'));
        let entry = |word: &str| {
            word.parse::<i16>().map_err(|_| fail(word, "write whole numbers, -32768 to 32767"))
        };
        let entries: Arc<[i16]> =
            lines.flat_map(str::split_whitespace).map(entry).collect::<Result<_, _>>()?;
        if entries.is_empty() {
            return Err(fail("an empty file", "write whole numbers, 8192 for one jitter"));
        }
        Ok(Self::Table(entries))
    }

    /// The name in texts; a table has none of its own.
    pub(super) const fn name(&self) -> &'static str {
        match self {
            Self::Uniform | Self::Table(_) => "uniform",
            Self::Normal => "normal",
            Self::Pareto => "pareto",
            Self::ParetoNormal => "paretonormal",
        }
    }

    /// Returns the deviation, in units of the jitter, that belongs to a normal deviate.
    fn deviation(&self, normal: f64) -> f64 {
        match self {
            Self::Uniform => 2.0 * below(normal) - 1.0,
            Self::Normal => normal.clamp(-CUT, CUT),
            Self::Pareto => {
                let mean = SHAPE / (SHAPE - 1.0);
                let deviation = mean / (SHAPE * (SHAPE - 2.0)).sqrt();
                let above = below(-normal).max(f64::MIN_POSITIVE);
                (above.powf(-1.0 / SHAPE) - mean) / deviation
            }
            Self::ParetoNormal => {
                let [normal, pareto] =
                    [Self::Normal, Self::Pareto].map(|part| part.deviation(normal));
                0.25 * normal + 0.75 * pareto
            }
            Self::Table(entries) => {
                let at = (below(normal) * entries.len() as f64) as usize;
                f64::from(entries[at.min(entries.len() - 1)]) / SCALE
            }
        }
    }
}

/// Returns the probability that a normal deviate is less than `x`.
fn below(x: f64) -> f64 {
    0.5 * libm::erfc(-x / core::f64::consts::SQRT_2)
}

/// The deviation of the delay of a path from frame to frame.
///
/// The text form is that of netem: `TIME [CORRELATION] [DISTRIBUTION]`, such as `10ms 25% normal`.
/// The delay is never negative: what would be less counts as none. The correlation is that of the
/// normal deviates of successive frames, from which delays of any distribution are made.
#[derive(Clone, Debug, PartialEq)]
pub struct Jitter {
    /// The greatest deviation of a uniform distribution, the standard deviation of others.
    pub spread: Duration,
    /// The correlation of successive frames.
    pub correlation: Probability,
    /// The distribution of the deviations.
    pub distribution: Distribution,
}

impl Jitter {
    /// Takes the distribution of the deviations from a [table](Distribution::from_table).
    ///
    /// # Errors
    /// If it is none.
    pub fn with_table(self, text: &str) -> Result<Self, ParseModelError> {
        Ok(Self { distribution: Distribution::from_table(text)?, ..self })
    }
}

impl fmt::Display for Jitter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.spread)?;
        if self.correlation != Probability::ZERO {
            write!(f, " {}", self.correlation)?;
        }
        match self.distribution {
            Distribution::Uniform | Distribution::Table(_) => Ok(()),
            Distribution::Normal | Distribution::Pareto | Distribution::ParetoNormal => {
                write!(f, " {}", self.distribution.name())
            }
        }
    }
}

impl FromStr for Jitter {
    type Err = ParseModelError;

    fn from_str(text: &str) -> Result<Self, ParseModelError> {
        let fail = |why: &str| {
            let fix = "write a time, perhaps a correlation and uniform, normal, pareto or \
                       paretonormal, such as 10ms or 10ms 25% normal";
            let fix = if why.is_empty() { fix.to_owned() } else { format!("{why}; {fix}") };
            ParseModelError::new("jitter", text, fix)
        };
        let unit = |error: ParseUnitError| fail(&error.to_string());
        let mut words = text.split_whitespace().peekable();
        let spread = words.next().ok_or_else(|| fail(""))?.parse::<Duration>().map_err(unit)?;
        if spread > Duration::from_secs(3_600) {
            return Err(fail("the longest is 3600s"));
        }
        let correlation = match words.peek() {
            Some(word) if !word.starts_with(char::is_alphabetic) => {
                let correlation = word.parse().map_err(unit)?;
                words.next();
                correlation
            }
            _ => Probability::ZERO,
        };
        let distribution = match words.next() {
            None | Some("uniform") => Distribution::Uniform,
            Some("normal") => Distribution::Normal,
            Some("pareto") => Distribution::Pareto,
            Some("paretonormal") => Distribution::ParetoNormal,
            Some(_) => return Err(fail("")),
        };
        if words.next().is_some() {
            return Err(fail(""));
        }
        Ok(Self { spread, correlation, distribution })
    }
}

/// The state of the jitter: the normal deviate of the frame before.
#[derive(Clone, Debug)]
pub(super) struct Jitters {
    jitter: Jitter,
    stream: Stream,
    last: Option<f64>,
}

impl Jitters {
    pub(super) fn new(jitter: Jitter, stream: Stream) -> Self {
        Self { jitter, stream, last: None }
    }

    /// Returns the delay of the frame of this number on a path of the mean delay `mean`.
    pub(super) fn delay(&mut self, mean: Duration, number: u64) -> Duration {
        let fresh = normal(&mut self.stream.at(number));
        let rho = self.jitter.correlation.get();
        let deviate = self.last.map_or(fresh, |last| rho * last + (1.0 - rho * rho).sqrt() * fresh);
        self.last = Some(deviate);
        let deviation = self.jitter.distribution.deviation(deviate);
        let nanos = mean.as_nanos() as f64 + deviation * self.jitter.spread.as_nanos() as f64;
        Duration::from_nanos(nanos.max(0.0).round() as u64)
    }
}

#[cfg(test)]
mod tests;
