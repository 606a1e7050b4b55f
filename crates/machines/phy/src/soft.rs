//! How sure a receiver is of each byte of a frame whose errors are drawn and not demodulated.
//!
//! A demodulator knows by how much noise would have to change for it to decide otherwise. Of two
//! antipodal signals in white noise of variance σ² on the axis the logarithm of the odds that the
//! decision is right is Λ = 2 |y| / σ². With its sign, positive where it is right, it is normal
//! with the mean μ = 2 / σ² and the variance 2 μ, and negative with the probability
//!
//! > p = Q(√(μ/2)).
//!
//! This law has the property that makes it usable for any receiver of which p is known: of the
//! decisions with |Λ| = λ the share 1 / (1 + exp λ) is wrong. So here Λ of a *byte* has this law, p
//! being the share of bytes that are wrong in frames whose check fails; given that the byte is
//! wrong, or right, |Λ| is drawn from the part of the law below, or above, zero. Nothing else of
//! the truth is in it: a receiver that erases the bytes with the least |Λ| often erases right ones.

use windfall_base::Stream;

use crate::formula::q;
use crate::noise::normal;

/// Steps of a reliability for each unit of the logarithm of odds.
pub const STEPS: f64 = 8.0;

/// The law of the logarithm of the odds, for one share of wrong bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Odds {
    /// √(μ/2): the distance of the mean from zero in standard deviations.
    distance: f64,
}

impl Odds {
    /// The law for a share `wrong` of wrong bytes; of half and more a receiver knows nothing.
    #[must_use]
    pub fn of(wrong: f64) -> Self {
        let wrong = if wrong.is_nan() { 0.5 } else { wrong.clamp(1e-12, 0.5) };
        let mut low = 0.0;
        let mut high = 8.0;
        for _ in 0..50 {
            let middle = f64::midpoint(low, high);
            if q(middle) > wrong { low = middle } else { high = middle }
        }
        Self { distance: low }
    }

    /// Draws the logarithm of the odds of a byte that is wrong, or right.
    pub fn draw(self, is_wrong: bool, stream: &mut Stream) -> f64 {
        let a = self.distance;
        // In standard deviations, of which one is √(2 μ) = 2 a.
        let beyond = if is_wrong {
            tail(a, stream) - a
        } else {
            loop {
                let x = a + normal(stream);
                if x > 0.0 {
                    break x;
                }
            }
        };
        2.0 * a * beyond
    }

    /// Draws the reliability of a byte: the logarithm of its odds in eighths.
    pub fn reliability(self, is_wrong: bool, stream: &mut Stream) -> u8 {
        (STEPS * self.draw(is_wrong, stream)).round().min(255.0) as u8
    }
}

/// A normal deviate that is greater than `a` ≥ 0 (C. P. Robert, "Simulation of truncated normal
/// variables", 1995).
fn tail(a: f64, stream: &mut Stream) -> f64 {
    let rate = f64::midpoint(a, (a * a + 4.0).sqrt());
    loop {
        let x = a - (1.0 - stream.unit()).ln() / rate;
        if stream.unit() <= (-(x - rate) * (x - rate) / 2.0).exp() {
            return x;
        }
    }
}

#[cfg(test)]
mod tests;
