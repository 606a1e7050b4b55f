//! The law of the gaps between events: a mixture of two geometric laws.

use rand_distr::{Distribution, Exp1};
use windfall_base::Stream;

/// The number of right words that lie between two events beyond the guard.
///
/// Two geometric laws, since errors breed errors where the decoder hardly follows; at useful ratios
/// the two are one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GapLaw {
    /// The mean of all, in words.
    pub mean: f32,
    /// The share of gaps of the short kind, 0..1.
    pub share: f32,
    /// The mean of the short kind over that of all, at most 1.
    pub short: f32,
}

impl GapLaw {
    /// The law behind measured gaps: one or two exponentials by expectation and maximisation.
    #[must_use]
    pub fn fit(gaps: &[u64]) -> Self {
        let mean = gaps.iter().sum::<u64>() as f64 / (gaps.len().max(1)) as f64;
        let mut law = Self { mean: mean as f32, share: 0.0, short: 1.0 };
        // Few gaps tell a mean, no more.
        if gaps.len() < 200 || mean < 1.0 {
            return law;
        }
        let mut share = 0.3;
        let mut means = [0.2 * mean, 1.3 * mean];
        for _ in 0..60 {
            let mut count = 0.0;
            let mut sums = [0.0, 0.0];
            for &gap in gaps {
                let x = gap as f64 + 0.5;
                let [a, b] = means.map(|mean| (-x / mean).exp() / mean);
                let short = share * a / (share * a + (1.0 - share) * b).max(f64::MIN_POSITIVE);
                count += short;
                sums = [sums[0] + short * x, sums[1] + (1.0 - short) * x];
            }
            let others = gaps.len() as f64 - count;
            if count < 5.0 || others < 5.0 {
                return law;
            }
            share = count / gaps.len() as f64;
            means = [sums[0] / count, sums[1] / others];
        }
        law.share = share as f32;
        law.short = (means[0] / mean).min(1.0) as f32;
        law
    }

    /// The least mean that [`kind`](Self::kind) gives.
    pub(super) fn shortest(&self) -> f64 {
        let short = if self.share == 0.0 { 1.0 } else { f64::from(self.short) };
        f64::from(self.mean) * short.min(1.0)
    }

    /// The mean of the long kind, in words.
    fn long(&self) -> f64 {
        let share = f64::from(self.share);
        let short = f64::from(self.short);
        f64::from(self.mean) * (1.0 - share * short) / (1.0 - share).max(1e-6)
    }

    /// The mean of a kind that is drawn: of a gap behind an event, or of the rest of one in which a
    /// stretch begins, which is likelier a long one.
    #[inline]
    pub(super) fn kind(&self, within: bool, stream: &mut Stream) -> f64 {
        if self.share == 0.0 {
            return f64::from(self.mean);
        }
        let share = f64::from(if within { self.share * self.short } else { self.share });
        if stream.unit() < share {
            f64::from(self.mean) * f64::from(self.short)
        } else {
            self.long()
        }
    }
}

/// An exponential deviate of mean 1.
#[inline]
pub(super) fn exponential(stream: &mut Stream) -> f64 {
    Exp1.sample(stream)
}

/// The factor from an exponential deviate of mean 1 to a geometric one of a mean, in words.
#[inline]
pub(super) fn scale(mean: f64) -> f64 {
    if mean > 1e3 { mean + 0.5 } else { 1.0 / (1.0 / mean.max(1e-3)).ln_1p() }
}
