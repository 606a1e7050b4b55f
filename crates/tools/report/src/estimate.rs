//! Estimates from independent runs, each with its confidence interval.

use serde::Serialize;
use statrs::distribution::{Binomial, ContinuousCDF, DiscreteCDF, Normal, StudentsT};
use windfall_base::{Seed, Stream};

use crate::statistics;

/// The share of intervals that contain the true value.
const CONFIDENCE: f64 = 0.95;
/// The number of samples that are drawn again from a sample for an interval by the bootstrap.
const RESAMPLES: usize = 2_000;

/// An estimate and the interval in which the true value lies with a confidence of 95 %.
///
/// Where the runs are too few to tell, the interval is unbounded.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The estimated value.
    pub value: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
    /// The number of independent runs.
    pub runs: usize,
}

impl Estimate {
    /// A value that no seed changes: a formula, a count, a golden timeline.
    #[must_use]
    pub const fn exact(value: f64) -> Self {
        Self { value, low: value, high: value, runs: 1 }
    }

    /// The mean of a value of each run, by Student's distribution.
    #[must_use]
    pub fn mean(values: &[f64]) -> Self {
        // Their sum would round, and the mean of equal values differ from each of them.
        if let [first, _, ..] = values
            && first.is_finite()
            && values.iter().all(|value| value == first)
        {
            return Self::around(*first, 0.0, values.len());
        }
        let value = statistics::mean(values).unwrap_or(f64::NAN);
        let half = statistics::standard_error(values).map_or(f64::INFINITY, |error| {
            let freedom = (values.len() - 1) as f64;
            let student = StudentsT::new(0.0, 1.0, freedom).expect("two values or more");
            student.inverse_cdf(f64::midpoint(1.0, CONFIDENCE)) * error
        });
        Self::around(value, half, values.len())
    }

    /// The geometric mean of a ratio of each run, by Student's distribution of the logarithms.
    ///
    /// For ratios of two ways that had the same seed: what the seed does to both cancels out.
    #[must_use]
    pub fn geometric_mean(ratios: &[f64]) -> Self {
        let logarithms: Vec<f64> = ratios.iter().map(|ratio| ratio.ln()).collect();
        let mean = Self::mean(&logarithms);
        let [value, low, high] = [mean.value, mean.low, mean.high].map(f64::exp);
        Self { value, low, high, runs: mean.runs }
    }

    /// The median of a value of each run, by order statistics.
    ///
    /// A run that did not come to its end counts as infinity and not as absent.
    #[must_use]
    pub fn median(values: &[f64]) -> Self {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let value = statistics::median(values).unwrap_or(f64::NAN);
        let runs = sorted.len();
        let Some(rank) = rank_of_interval(runs) else {
            return Self::around(value, f64::INFINITY, runs);
        };
        Self { value, low: sorted[rank], high: sorted[runs - 1 - rank], runs }
    }

    /// The share of independent trials that succeeded, by Wilson's interval.
    #[must_use]
    pub fn share(successes: u64, trials: u64) -> Self {
        let runs = usize::try_from(trials).unwrap_or(usize::MAX);
        if trials == 0 {
            return Self { value: f64::NAN, low: 0.0, high: 1.0, runs };
        }
        let normal = Normal::standard().inverse_cdf(f64::midpoint(1.0, CONFIDENCE));
        let n = trials as f64;
        let value = successes as f64 / n;
        let square = normal * normal / n;
        let centre = (value + square / 2.0) / (1.0 + square);
        let variance = value * (1.0 - value) / n + square / (4.0 * n);
        let half = normal * variance.sqrt() / (1.0 + square);
        Self { value, low: (centre - half).max(0.0), high: (centre + half).min(1.0), runs }
    }

    /// The ratio of two medians of independent runs, by the bootstrap's percentiles.
    ///
    /// Runs that did not come to their end count as infinity.
    #[must_use]
    pub fn ratio_of_medians(numerators: &[f64], denominators: &[f64]) -> Self {
        let runs = numerators.len().min(denominators.len());
        let ratio = |a: &[f64], b: &[f64]| Some(statistics::median(a)? / statistics::median(b)?);
        let value = ratio(numerators, denominators).unwrap_or(f64::NAN);
        if rank_of_interval(runs).is_none() {
            return Self::around(value, f64::INFINITY, runs);
        }
        // Resampling is part of the formula: the same values give the same interval.
        let mut stream = Stream::new(Seed(0), "bootstrap");
        let mut resample = |values: &[f64]| -> Vec<f64> {
            let len = values.len() as u64;
            (0..len).map(|_| values[stream.below(len) as usize]).collect()
        };
        let mut ratios: Vec<f64> = (0..RESAMPLES)
            .filter_map(|_| ratio(&resample(numerators), &resample(denominators)))
            .collect();
        ratios.sort_by(f64::total_cmp);
        let tail = (RESAMPLES as f64 * (1.0 - CONFIDENCE) / 2.0) as usize;
        let low = ratios[tail];
        let high = ratios[RESAMPLES - 1 - tail];
        // Infinity by infinity has no value.
        let low = if low.is_nan() { 0.0 } else { low };
        let high = if high.is_nan() { f64::INFINITY } else { high };
        Self { value, low, high, runs }
    }

    /// A value of several runs together, such as a rank correlation of their sums, by the
    /// bootstrap's percentiles: `of` takes the numbers of the runs to sum, some of them repeated.
    ///
    /// Samples without a value are left out of the interval.
    #[must_use]
    pub fn bootstrap(runs: usize, of: impl Fn(&[usize]) -> f64) -> Self {
        let all: Vec<usize> = (0..runs).collect();
        let value = of(&all);
        if rank_of_interval(runs).is_none() {
            return Self::around(value, f64::INFINITY, runs);
        }
        let mut stream = Stream::new(Seed(0), "bootstrap");
        let mut resample = || all.iter().map(|_| stream.below(runs as u64) as usize).collect();
        let samples = (0..RESAMPLES).map(|_| -> Vec<usize> { resample() });
        let mut values: Vec<f64> =
            samples.map(|chosen| of(&chosen)).filter(|it| !it.is_nan()).collect();
        values.sort_by(f64::total_cmp);
        let tail = (values.len() as f64 * (1.0 - CONFIDENCE) / 2.0) as usize;
        match values.len().checked_sub(tail + 1) {
            Some(high) => Self { value, low: values[tail], high: values[high], runs },
            None => Self::around(value, f64::INFINITY, runs),
        }
    }

    fn around(value: f64, half: f64, runs: usize) -> Self {
        let half = if value.is_nan() { f64::INFINITY } else { half };
        let (low, high) = if half.is_infinite() {
            (f64::NEG_INFINITY, f64::INFINITY)
        } else {
            (value - half, value + half)
        };
        Self { value, low, high, runs }
    }
}

/// Returns how many values to leave out at each end of a sorted sample so that the others contain
/// the median of the population with the confidence, or `None` where even all of them do not.
fn rank_of_interval(runs: usize) -> Option<usize> {
    let coin = Binomial::new(0.5, runs as u64).ok()?;
    let outside = |rank: usize| 2.0 * coin.cdf(rank as u64);
    (0..runs.div_ceil(2)).take_while(|rank| outside(*rank) <= 1.0 - CONFIDENCE).last()
}

#[cfg(test)]
mod tests;
